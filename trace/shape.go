package trace

import (
	"errors"
	"fmt"
	"math"
)

// The ways in which a Shape makes reduces.
const (
	Fine = "fine" // a reduce for each ReduceBytes, a fifth of the containers at most
	SWIM = "swim" // as the public replay generator SWIM does
)

// A Shape says how the bytes of a traced job become tasks: traces have sizes and no tasks (spec/nas 4.1).
type Shape struct {
	// Kind is Fine or SWIM.
	Kind string
	// Scale multiplies all sizes, before the minimum sizes apply.
	Scale float64
	// BlockBytes is what a map reads; ReduceBytes the shuffle and output for which a job has a reduce.
	BlockBytes, ReduceBytes int64
	// Containers of the whole cluster: with Fine a job has at most a fifth as many reduces.
	Containers int
	// Machines of the cluster: with SWIM a job that would have more reduces than machines has a fifth as many as
	// machines.
	Machines int
	// With SWIM a job reads, shuffles and writes at least this much.
	MinInput, MinShuffle, MinOutput int64
}

// FineShape returns the filler that was used before SWIM's rule was read: a reduce for each GiB.
func FineShape(containers int) Shape {
	return Shape{Kind: Fine, Scale: 1, BlockBytes: 128 << 20, ReduceBytes: 1 << 30, Containers: containers}
}

// SWIMShape returns the values of SWIM's replay generator for so many machines.
func SWIMShape(machines int) Shape {
	return Shape{
		Kind: SWIM, Scale: 1, BlockBytes: 128 << 20, ReduceBytes: 64 << 20, Machines: machines,
		MinInput: 64 << 20, MinShuffle: 1 << 10, MinOutput: 1 << 10,
	}
}

// Sized returns the job with its sizes on the cluster.
func (s Shape) Sized(j Job) Job {
	scaled := func(n, least int64) int64 { return max(int64(float64(n)*s.Scale), least) }
	if s.Kind != SWIM {
		j.InputBytes, j.ShuffleBytes, j.OutputBytes = scaled(j.InputBytes, 0), scaled(j.ShuffleBytes, 0), scaled(j.OutputBytes, 0)
		return j
	}
	j.InputBytes, j.ShuffleBytes, j.OutputBytes = scaled(j.InputBytes, s.MinInput), scaled(j.ShuffleBytes, s.MinShuffle), scaled(j.OutputBytes, s.MinOutput)
	return j
}

// Tasks returns how many maps and reduces a job has whose sizes Sized returned.
func (s Shape) Tasks(j Job) (maps, reduces int64) {
	maps = max(1, (j.InputBytes+s.BlockBytes-1)/s.BlockBytes)
	if s.Kind != SWIM && j.ShuffleBytes == 0 {
		return maps, 0
	}
	n := max(1, math.Floor(float64(j.ShuffleBytes+j.OutputBytes)/float64(s.ReduceBytes)+0.5))
	switch {
	case s.Kind != SWIM:
		n = min(n, max(1, float64(s.Containers)/5))
	case n > float64(s.Machines):
		n = float64(max(1, s.Machines/5))
	}
	return maps, int64(n)
}

// Validate returns what is wrong with a shape.
func (s Shape) Validate() error {
	switch {
	case s.Kind != Fine && s.Kind != SWIM:
		return fmt.Errorf("workload %q: it must be %s or %s", s.Kind, SWIM, Fine)
	case !(s.Scale > 0 && s.Scale <= 1e6):
		return fmt.Errorf("scale %g must be above 0, and at most a million", s.Scale)
	case s.BlockBytes < 1<<20 || s.ReduceBytes < 1:
		return errors.New("block must be at least 1 MiB, reduce-bytes positive")
	case s.Kind == SWIM && s.Machines < 1:
		return fmt.Errorf("machines %d must be positive", s.Machines)
	case s.Kind == Fine && s.Containers < 1:
		return fmt.Errorf("containers %d must be positive", s.Containers)
	case s.MinInput < 0 || s.MinShuffle < 0 || s.MinOutput < 0:
		return errors.New("min-input, min-shuffle and min-output must not be negative")
	}
	return nil
}
