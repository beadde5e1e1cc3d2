package mapreduce

import (
	"errors"
	"math"
	"testing"
	"time"
)

// TestSchedulingRanges: each field may be at its ends and not beyond; the error names the field.
func TestSchedulingRanges(t *testing.T) {
	for _, x := range []struct {
		field     string
		set       func(s *Scheduling, v float64)
		good, bad []float64
	}{
		{"Weight", func(s *Scheduling, v float64) { s.Weight = v }, []float64{0, 1e6}, []float64{-1e-9, 1e6 + 1, math.NaN()}},
		{"Slowstart", func(s *Scheduling, v float64) { s.Slowstart = v }, []float64{-1, 0, 1}, []float64{1.01, math.NaN()}},
		{"ReduceCost", func(s *Scheduling, v float64) { s.ReduceCost = v }, []float64{0, 1e6}, []float64{-1e-9, 1e6 + 1, math.NaN()}},
		{"Expect.InputBytes", func(s *Scheduling, v float64) { s.Expect.InputBytes = int64(v) }, []float64{0, 1 << 56}, []float64{-1, 1 << 57}},
		{"Expect.ShuffleBytes", func(s *Scheduling, v float64) { s.Expect.ShuffleBytes = int64(v) }, []float64{0, 1 << 56}, []float64{-1, 1 << 57}},
		{"Expect.MapTime", func(s *Scheduling, v float64) { s.Expect.MapTime = time.Duration(v) }, []float64{0, 1}, []float64{-1}},
		{"Expect.ReduceTime", func(s *Scheduling, v float64) { s.Expect.ReduceTime = time.Duration(v) }, []float64{0, 1}, []float64{-1}},
		{"MapDemand", func(s *Scheduling, v float64) { s.MapDemand.VCores = int(v) }, []float64{0, 1 << 20}, []float64{-1, 1<<20 + 1}},
		{"ReduceDemand", func(s *Scheduling, v float64) { s.ReduceDemand.MemoryBytes = int64(v) }, []float64{0, 1 << 60}, []float64{-1, 1 << 61}},
		{"DriverDemand", func(s *Scheduling, v float64) { s.DriverDemand.MemoryBytes = int64(v) }, []float64{0, 1 << 60}, []float64{-1, 1 << 61}},
	} {
		check := func(v float64) error {
			var s Scheduling
			x.set(&s, v)
			return s.validate()
		}
		for _, v := range x.good {
			if err := check(v); err != nil {
				t.Errorf("%s %g: %v", x.field, v, err)
			}
		}
		for _, v := range x.bad {
			if f, ok := errors.AsType[*FieldError](check(v)); !ok || f.Field != "Scheduling."+x.field {
				t.Errorf("%s %g: %v", x.field, v, check(v))
			}
		}
	}
}
