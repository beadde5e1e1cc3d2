// Package keyed makes a policy of one function: of the jobs with a task that may start on a node, it serves the one
// with the smallest key, the oldest of equals. Which kind of task comes first, which map of the job is nearest, and how
// its reduces follow its maps is as under fifo and fair.
//
//	var shortest = keyed.Info("shortest", "fewest maps left first", func(_ time.Duration, j *scheduler.Job, _ topology.NodeID, _ *scheduler.View) int64 {
//		return int64(j.Pending(scheduler.Map))
//	})
//
// Every candidate is asked at every decision, so that a key may depend on anything; a policy for ten thousand jobs keeps an
// order of its own, as fifo does.
package keyed
