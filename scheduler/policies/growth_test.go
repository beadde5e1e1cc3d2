package policies

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

// How the cost of a decision grows: with pending tasks, 100 jobs on 1,000 nodes, and
// with active jobs, 100,000 tasks on 1,000 nodes.
func BenchmarkGrowth(b *testing.B) {
	for _, name := range Names(scheduler.Assignment) {
		make := func() scheduler.Policy {
			p, err := Policy(name, nil)
			if err != nil {
				b.Fatal(err)
			}
			return p
		}
		for _, tasks := range []int{20_000, 200_000, 2_000_000} {
			b.Run(fmt.Sprintf("%s/tasks=%d", name, tasks), func(b *testing.B) {
				schedulertest.BenchDecisions(b, make, schedulertest.Size{Nodes: 1000, Jobs: 100, Tasks: tasks})
			})
		}
		for _, jobs := range []int{10, 100, 1_000} {
			b.Run(fmt.Sprintf("%s/jobs=%d", name, jobs), func(b *testing.B) {
				schedulertest.BenchDecisions(b, make, schedulertest.Size{Nodes: 1000, Jobs: jobs, Tasks: 100_000})
			})
		}
	}
}
