package sizebased

import (
	"testing"

	"github.com/millrace/millrace/scheduler/schedulertest"
)

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	for _, i := range infos {
		b.Run(i.Name, func(b *testing.B) {
			schedulertest.BenchDecisions(b, schedulertest.Factory(b, i, nil), schedulertest.Big)
		})
	}
	b.Run("fbq-k4", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &FBQInfo, map[string]string{"k": "4"}), schedulertest.Big)
	})
}
