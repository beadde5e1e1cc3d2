package fifo

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	schedulertest.BenchDecisions(b, func() scheduler.Policy { return New(scheduler.DefaultReduceRule()) }, schedulertest.Big)
}

func BenchmarkDecisions20Nodes1Job1MTasks(b *testing.B) {
	schedulertest.BenchDecisions(b, func() scheduler.Policy { return New(scheduler.DefaultReduceRule()) }, schedulertest.Size{Nodes: 20, Jobs: 1, Tasks: 1_000_000})
}
