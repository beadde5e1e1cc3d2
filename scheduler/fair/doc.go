// Package fair shares the cluster evenly: between jobs, users, pools or queues,
// by weight, with minimum shares; by tasks, by memory, or by dominant resource
// (DRF). On the same order stands delay scheduling, in which a job passes up a
// node without its data for a while.
//
// Sources: spec/nas 3.10 and 3.11, spec/capacity 3.2 and 3.8, spec/deadline 3.8,
// spec/slowdown 3.7 (least recently served among equals), spec/marp 7.32 (least
// memory first).
//
// Other families build on Shares, the order itself: they observe events through
// it and walk its lines, most deserving first.
package fair
