package scheduler_test

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// smallest gives each free place to the job with the fewest pending tasks.
type smallest struct{}

func (smallest) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

func (smallest) Assign(_ time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	for _, k := range v.KindOrder(n, 0.5) { // maps or reduces first?
		var best *scheduler.Job
		for j := range v.Runnable(k).All() {
			if v.Fits(n, j, k) && (best == nil || j.Pending(k) < best.Pending(k)) {
				best = j
			}
		}
		if best == nil {
			continue
		}
		if task, near, ok := v.PickTask(best, n, k); ok {
			return scheduler.Run(task, near, scheduler.Reason{Say: "{job} has only {a} to go", Job: best.ID(), A: int64(best.Pending(k))})
		}
	}
	return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork, Say: "nothing fits {node}", Node: n})
}

// A whole policy and the loop that drives it.
func Example() {
	topo, _ := topology.Uniform(1, 1, 0, 0)
	state, _ := scheduler.NewState(topo, scheduler.DefaultConfig())
	engine := scheduler.NewEngine(state, smallest{}, nil)
	now := time.Duration(0)
	for _, e := range []scheduler.Event{
		scheduler.NodeUp(0, scheduler.Capacity{MapSlots: 3, ReduceSlots: 1}),
		scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Name: "big", Maps: 100}),
		scheduler.JobSubmitted(&scheduler.JobSpec{ID: 2, Name: "small", Maps: 2}),
	} {
		if err := engine.Feed(now, e); err != nil {
			fmt.Println(err)
		}
	}
	_, _ = engine.Admit(now, nil)
	why, _ := engine.Offer(now, 0, func(d scheduler.Decision) {
		fmt.Println(d.Task, "-", d.Reason.Text(engine.View()))
	})
	fmt.Println("stopped:", why.Text(engine.View()))
	// Output:
	// j2/map/0 - small has only 2 to go
	// j2/map/1 - small has only 1 to go
	// j1/map/0 - big has only 100 to go
	// stopped: nothing fits n0
}
