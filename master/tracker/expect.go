package tracker

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/scheduler"
)

// expect fills in how many tasks a job will have, as far as its input and the cluster tell. Its driver, which looks at
// the files, has the last word.
func (c *Tracker) expect(s *wire.JobSpec) {
	if s.Expect.Reduces == 0 && !s.Shape.MapOnly {
		s.Expect.Reduces = int32(min(s.Shape.Reducers, c.cfg.MaxTasks))
	}
	if s.Expect.Input <= 0 {
		return
	}
	places := 0
	for _, n := range c.nodes {
		if n.up {
			places += n.capacity.Places()
		}
	}
	split, reduces := mapreduce.Shape(s.Shape).Layout(s.Expect.Input, places)
	if s.Expect.Maps == 0 {
		s.Expect.Maps = int32(min((s.Expect.Input-1)/split+1, int64(c.cfg.MaxTasks)))
	}
	if s.Expect.Reduces == 0 {
		s.Expect.Reduces = int32(reduces)
	}
}

// absurdBytes and absurdMillis are more than any job has.
const (
	absurdBytes  = 1 << 56
	absurdMillis = 1 << 40
)

// checkHints refuses values that no job can have.
func (c *Tracker) checkHints(s *wire.JobSpec) error {
	e := &s.Expect
	switch {
	case e.Maps < 0 || int(e.Maps) > c.cfg.MaxTasks || e.Reduces < 0 || int(e.Reduces) > c.cfg.MaxTasks:
		return wire.Errorf(wire.Invalid, "%d maps and %d reduces are expected: must be 0 to %d", e.Maps, e.Reduces, c.cfg.MaxTasks)
	case min(e.Input, e.Shuffle, e.Output) < 0 || max(e.Input, e.Shuffle, e.Output) > absurdBytes:
		return wire.Errorf(wire.Invalid, "%d bytes of input, %d of shuffle and %d of output are expected: must be 0 to 2^56", e.Input, e.Shuffle, e.Output)
	case min(e.MapMillis, e.ReduceMillis) < 0 || max(e.MapMillis, e.ReduceMillis) > absurdMillis:
		return wire.Errorf(wire.Invalid, "maps of %d ms and reduces of %d ms are expected: must be 0 to 2^40 ms", e.MapMillis, e.ReduceMillis)
	case e.InMillis < 0 || e.InMillis > keepExpected.Milliseconds():
		return wire.Errorf(wire.Invalid, "it is expected in %d ms: must be 0 to %d, a day (announce it later)", e.InMillis, keepExpected.Milliseconds())
	case s.Shape.SplitBytes < 0 || s.Shape.Reducers < 0:
		return wire.Errorf(wire.Invalid, "splits of %d bytes and %d reduces: must not be negative", s.Shape.SplitBytes, s.Shape.Reducers)
	case !(s.Weight >= 0 && s.Weight <= 1e6) || !(s.ReduceCost >= 0 && s.ReduceCost <= 1e6):
		return wire.Errorf(wire.Invalid, "weight %g and reduce cost %g: must be 0 to 1000000", s.Weight, s.ReduceCost)
	case s.Deadline < 0 || s.Deadline > absurdMillis:
		return wire.Errorf(wire.Invalid, "a deadline of %d ms: must be 0 to 2^40", s.Deadline)
	}
	for _, r := range []wire.Demand{{VCores: s.VCores, MemoryMB: s.MemoryMB}, s.Reduce, s.Driver} {
		if r.VCores < 0 || r.MemoryMB < 0 {
			return wire.Errorf(wire.Invalid, "%d vcores and %d MB: must not be negative", r.VCores, r.MemoryMB)
		}
	}
	return nil
}

// hint adds what is expected of a stage. For the later stages of a chain only the times are known.
func hint(spec *scheduler.JobSpec, st *stage) {
	e := &st.job.spec.Expect
	spec.MapTime, spec.ReduceTime = time.Duration(e.MapMillis)*time.Millisecond, time.Duration(e.ReduceMillis)*time.Millisecond
	if st.n > 0 {
		return
	}
	spec.Maps, spec.Reduces = e.Maps, e.Reduces
	spec.Input, spec.Shuffle, spec.Output = sizeOf(e.Input), sizeOf(e.Shuffle), sizeOf(e.Output)
}

func sizeOf(bytes int64) scheduler.Size { return scheduler.Size{Bytes: bytes, Known: bytes > 0} }

// demand returns the room that an attempt asks for. What r does not say is taken from usual.
func demand(r, usual wire.Demand) scheduler.Demand {
	d := scheduler.Demand{VCores: r.VCores, MemoryMB: r.MemoryMB}
	if d.VCores == 0 {
		d.VCores = usual.VCores
	}
	if d.MemoryMB == 0 {
		d.MemoryMB = usual.MemoryMB
	}
	return d
}
