package fair

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	for _, tc := range []struct {
		name   string
		params map[string]string
		c      scheduler.Capacity
	}{
		{"job", nil, scheduler.Capacity{}},
		{"user", map[string]string{"key": "user", "ties": "served"}, scheduler.Capacity{}},
		{"pool", map[string]string{"key": "pool", "min-maps": "a=100"}, scheduler.Capacity{}},
		{"drf", map[string]string{"measure": "dominant"}, scheduler.Capacity{VCores: 8, MemoryMB: 16 << 10}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			size := schedulertest.Big
			size.Capacity = tc.c
			schedulertest.BenchDecisions(b, factory(b, &Info, tc.params), size)
		})
	}
	b.Run("delay", func(b *testing.B) { schedulertest.BenchDecisions(b, factory(b, &DelayInfo, nil), schedulertest.Big) })
	b.Run("delay-job", func(b *testing.B) {
		schedulertest.BenchDecisions(b, factory(b, &DelayInfo, map[string]string{"key": "job"}), schedulertest.Big)
	})
}

func factory(tb testing.TB, info *scheduler.Info, params map[string]string) func() scheduler.Policy {
	return func() scheduler.Policy {
		p, err := info.Make(params)
		if err != nil {
			tb.Fatal(err)
		}
		return p.(scheduler.Policy)
	}
}
