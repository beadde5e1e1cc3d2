// Package scheduler holds the words that scheduling policies are written in:
// jobs, tasks, nodes, groups (user, queue, pool), events, reasons, and the seams
// Policy and Admission. It is pure: no clock, no goroutine, no randomness, no
// input or output. The simulator and the master run the same policy code over
// the same State.
//
// # For the author of a policy
//
// A policy implements two methods. Observe tells it what happened; Assign asks
// for at most one task for one node. Three calls on the View do most of the
// work:
//
//	v.Runnable(scheduler.Map)                  jobs that could run a map now, oldest first
//	v.Fits(n, job, scheduler.Map)              is there room for it on this node?
//	v.PickMap(job, n, scheduler.Remote)        its pending map nearest to the node
//
// Everything a View returns is read-only and indexed: none of these calls scans
// tasks. A policy that needs its own order of jobs keeps an Order and updates it
// in Observe, so that a decision costs a walk from the front. Side tables are
// slices indexed by Job.Slot and Group.Slot, and emptied for a job when its end
// is observed. Per-heartbeat state is kept by node and reset when the Heartbeat
// event of the node is observed. Give every decision a Reason: it is what a student reads.
//
// Optional abilities are further small interfaces: Ticker, Planner, Killer,
// ShuffleGate, Explainer.
//
// # For the driver
//
// The owner of the cluster (simulator, master, test) keeps one State in one
// Engine and must, in this order: Feed every event as it becomes known, times
// not decreasing; call Admit after events that may let a job start; call Offer
// when a node reports or gets room, and carry out each launch handed to it;
// feed JobReady for a job with a driver when its tasks are known, JobFinished
// when Job.Complete, and call NodeLost for a dead node. Tick does the periodic
// work of the policies and says when it wants to be called again. Kill ends what a
// policy wants ended. Where nodes have shared containers, ask Deadlock when offers
// launch nothing, and End its victim. Package drive does all of that in one round. An error that wraps ErrStale is information about a late or lost
// message, one that wraps ErrPolicy is a bug of the policy.
//
// An attempt is known by its task and node: the driver keeps apart reports of an
// earlier attempt of the same task on the same node, by epoch or number, before
// it feeds them.
package scheduler
