// Package capacity is Hadoop's Capacity Scheduler as spec/capacity describes it:
// queues with guaranteed and maximum shares of the cluster, limits per user,
// job priorities, high-memory jobs that reserve nodes, and a wait for locality.
// Two policies share one description of the queues:
//
//	capacity        which task runs next (an assignment policy)
//	capacity-init   which jobs may start at all: the initialisation limits and
//	                their poller (an admission policy)
//
// Queues may be nested: "dev.web" is a child of "dev", and its capacity a
// percentage of dev's. Jobs run in leaves.
//
// limits.go has the arithmetic of spec/capacity 3.3 and 3.5, one function each; pick.go and
// obtain.go the heartbeat decision; reserve.go high-memory jobs; books.go what
// queues and users hold; init.go and poller.go who may start. The driver must call Tick of
// capacity-init, which polls, and Admit afterwards.
package capacity
