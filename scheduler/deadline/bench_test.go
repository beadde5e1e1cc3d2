package deadline

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	for _, i := range []*scheduler.Info{&MinInfo, &MaxInfo} {
		b.Run(i.Name, func(b *testing.B) {
			schedulertest.BenchDecisions(b, schedulertest.Factory(b, i, nil), schedulertest.Big)
		})
	}
}
