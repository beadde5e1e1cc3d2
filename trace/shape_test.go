package trace

import "testing"

// The rule of SWIM's generator as spec/nas 4.1 words it, computed by hand: input at least 64 MB, shuffle and output at least 1 KB,
// a reduce for each 64 MB, and with more reduces than machines a fifth as many as machines.
func TestSWIMShape(t *testing.T) {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	for _, c := range []struct {
		name          string
		job, sized    Job
		scale         float64
		maps, reduces int64
	}{
		{"nothing at all", Job{}, Job{InputBytes: 64 * mib, ShuffleBytes: kib, OutputBytes: kib}, 1, 1, 1},
		{"map only in the trace", Job{InputBytes: gib, OutputBytes: 64 * mib}, Job{InputBytes: gib, ShuffleBytes: kib, OutputBytes: 64 * mib}, 1, 8, 1},
		{"half a reduce more", Job{InputBytes: gib, ShuffleBytes: 128 * mib, OutputBytes: 32 * mib}, Job{InputBytes: gib, ShuffleBytes: 128 * mib, OutputBytes: 32 * mib}, 1, 8, 3},
		{"as many as machines", Job{InputBytes: gib + 1, ShuffleBytes: 2 * gib, OutputBytes: gib / 2}, Job{InputBytes: gib + 1, ShuffleBytes: 2 * gib, OutputBytes: gib / 2}, 1, 9, 40},
		{"more than machines", Job{InputBytes: gib, ShuffleBytes: 2 * gib, OutputBytes: gib/2 + 32*mib}, Job{InputBytes: gib, ShuffleBytes: 2 * gib, OutputBytes: gib/2 + 32*mib}, 1, 8, 8},
		{"a terabyte", Job{ShuffleBytes: 1024 * gib}, Job{InputBytes: 64 * mib, ShuffleBytes: 1024 * gib, OutputBytes: kib}, 1, 1, 8},
		{"scaled before the least sizes count", Job{InputBytes: 600 * mib, ShuffleBytes: 1500 * mib, OutputBytes: 7500}, Job{InputBytes: 64 * mib, ShuffleBytes: 100 * mib, OutputBytes: kib}, 1.0 / 15, 1, 2},
	} {
		s := SWIMShape(40)
		s.Scale = c.scale
		got := s.Sized(c.job)
		maps, reduces := s.Tasks(got)
		if got != c.sized || maps != c.maps || reduces != c.reduces {
			t.Errorf("%s: %+v with %d maps and %d reduces, want %+v with %d and %d", c.name, got, maps, reduces, c.sized, c.maps, c.reduces)
		}
	}
}

// With 600 machines the rule of machines is another: 601 reduces become 120.
func TestSWIMShapeOfManyMachines(t *testing.T) {
	for gb, want := range map[int64]int64{37: 592, 38: 120} {
		if _, got := SWIMShape(600).Tasks(Job{ShuffleBytes: gb << 30}); got != want {
			t.Errorf("%d GiB: %d reduces, want %d", gb, got, want)
		}
	}
}

func TestShapeRefuses(t *testing.T) {
	for _, change := range []func(*Shape){
		func(s *Shape) { s.Kind = "coarse" }, func(s *Shape) { s.Scale = 0 }, func(s *Shape) { s.BlockBytes = 0 },
		func(s *Shape) { s.ReduceBytes = 0 }, func(s *Shape) { s.Machines = 0 }, func(s *Shape) { s.MinInput = -1 },
		func(s *Shape) { *s = FineShape(0) },
	} {
		s := SWIMShape(40)
		change(&s)
		if s.Validate() == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
	for _, s := range []Shape{SWIMShape(40), FineShape(640)} {
		if err := s.Validate(); err != nil {
			t.Error(err)
		}
	}
}
