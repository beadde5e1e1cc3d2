// Package fair shares the cluster evenly: between jobs, users, pools or queues,
// by weight, with minimum shares; by tasks, by memory, or by dominant resource
// (DRF). On the same order stands delay scheduling, in which a job passes up a
// node without its data for a while.
//
// Sources: nas.md 3.10 and 3.11, capacity.md 3.2 and 3.8, deadline.md 3.8,
// slowdown.md 3.7 (least recently served among equals), marp.md 7.32 (least
// memory first).
//
// Other families build on Shares, the order itself: they observe events through
// it and walk its lines, most deserving first.
package fair
