package jobs

import (
	"encoding/binary"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/mapreduce"
)

var pi = Builtin{
	Name:    "pi",
	Summary: "estimate pi by throwing points of a Halton sequence at a square",
	Example: "pi --maps 8 --samples 1000000",
	NoInput: true, Result: true, reduces: "it has one reduce",
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		maps := flags.Int64("maps", 8, "number of map tasks")
		samples := flags.Int64("samples", 1_000_000, "points of each map task")
		return func(base mapreduce.Job) ([]mapreduce.Job, error) {
			if err := checkRange("maps", *maps, 1, 1_000_000); err != nil {
				return nil, err
			}
			if err := checkRange("samples", *samples, 1, 1<<40); err != nil {
				return nil, err
			}
			base.Input = []string{mapreduce.CountInput(*maps)}
			base.SplitBytes, base.Reducers = 8, 1
			base.Map = piMap(uint64(*samples))
			base.Fold = mapreduce.Sum
			base.Reduce = mapreduce.Reduce{
				Key: mapreduce.String, Value: mapreduce.Float64,
				New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return &piReducer{}, nil },
			}
			return []mapreduce.Job{base}, nil
		}
	},
}

func piMap(samples uint64) mapreduce.Map {
	return mapreduce.Map{
		Format: mapreduce.FixedSize(8), Key: mapreduce.String, Value: mapreduce.Int64,
		New: func(t *mapreduce.Task) (mapreduce.Mapper, error) {
			return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
				first := binary.BigEndian.Uint64(r.Value) * samples
				inside, err := throw(t, first, samples)
				out.EmitInt([]byte("inside"), inside)
				out.EmitInt([]byte("thrown"), int64(samples))
				return err
			}), nil
		},
	}
}

// throw counts the points first+1 .. first+n of the sequence that are in the circle.
func throw(t *mapreduce.Task, first, n uint64) (inside int64, err error) {
	for i := range n {
		if i%(1<<16) == 0 && t.Context().Err() != nil {
			return 0, t.Context().Err()
		}
		x, y := halton(first+i+1, 2)-0.5, halton(first+i+1, 3)-0.5
		if x*x+y*y <= 0.25 {
			inside++
		}
	}
	return inside, nil
}

// halton returns the i-th number of the van der Corput sequence in a base.
func halton(i, base uint64) (x float64) {
	for f := 1 / float64(base); i > 0; i, f = i/base, f/float64(base) {
		x += f * float64(i%base)
	}
	return x
}

// piReducer receives two groups: "inside" and "thrown".
type piReducer struct{ counts [2]int64 }

func (p *piReducer) Reduce(key []byte, values mapreduce.Values, _ mapreduce.Emitter) error {
	for values.Next() {
		n, err := mapreduce.Int64.Decode(values.Value())
		if err != nil {
			return err
		}
		switch string(key) {
		case "inside":
			p.counts[0] += n
		case "thrown":
			p.counts[1] += n
		default:
			return fmt.Errorf("unknown key %q", key)
		}
	}
	return nil
}

func (p *piReducer) Finish(out mapreduce.Emitter) error {
	if p.counts[1] > 0 {
		estimate := 4 * float64(p.counts[0]) / float64(p.counts[1])
		out.Emit([]byte("pi"), mapreduce.Float64.Append(nil, estimate))
	}
	return nil
}
