package capacity

import (
	"testing"

	"github.com/millrace/millrace/scheduler/schedulertest"
)

const eight = "a=20,b=20,c=10,d=10,e=10,f=10,g=10,h=10"

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	for _, tc := range []struct {
		name   string
		params map[string]string
	}{
		{"one-queue", nil},
		{"eight-queues", map[string]string{"queues": eight, "user-limit": "*=25", "user-limit-factor": "*=2", "priority": "*=1"}},
		{"capped", map[string]string{"queues": eight, "user-limit": "*=10", "max-capacity": eight}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			schedulertest.BenchDecisions(b, schedulertest.Factory(b, &Info, tc.params), schedulertest.Big)
		})
	}
}
