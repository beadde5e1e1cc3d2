// Package hybrid schedules for a cluster of two machine classes: a few powerful
// scale-up machines, on which small jobs run faster, and many cheap scale-out
// machines for everything else (spec/hybrid). Each job is classified once, joins
// the queue of one class, and runs there as a whole; inside a queue a base policy
// (fair or delay) decides. When scale-out machines run dry they steal whole,
// unstarted small jobs, those nearest the boundary first.
//
// Files: label.go has the rule that says which jobs are small, speed.go how fast
// each runs where, classifier.go and train.go the trained form of the rule (a
// support vector machine, package svm), policy.go and steal.go the queues.
//
// The driver's duties beyond those of package scheduler: give the scale-up nodes
// their class in the topology, in racks of their own, and place blocks with the
// policy two-plus-one of dfs/placement, so that either class finds local data.
package hybrid
