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
			schedulertest.BenchDecisions(b, schedulertest.Factory(b, &Info, tc.params), size)
		})
	}
	b.Run("delay", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &DelayInfo, nil), schedulertest.Big)
	})
	b.Run("delay-job", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &DelayInfo, map[string]string{"key": "job"}), schedulertest.Big)
	})
}
