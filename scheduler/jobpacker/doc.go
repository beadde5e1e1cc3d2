// Package jobpacker schedules for a cluster whose racks are joined by a slow
// electrical network and a fast optical switch that links each rack to one other
// at a time (spec/jobpacker). Only large transfers between few racks can use the
// optical switch, so a job's maps and reduces are packed into as few racks as
// keep it fully parallel, and its shuffle is held until it is worth a circuit.
//
// Policy has four parts, in four groups of files:
//
//	latency.go feasible.go          how long a job takes on x map racks and y reduce racks
//	tetris.go order.go plan*.go     the offline plan: which racks, in which order (Planner)
//	policy.go online.go adhoc.go    the online part: follow the plan, fit ad-hoc jobs in (Policy)
//	gate.go                         hold shuffles until they are elephants (ShuffleGate)
//
// Corral, the baseline that puts maps and reduces of a job on the same racks, is
// the same policy with another planner and no gate.
//
// The driver's duties beyond those of package scheduler: call Plan when the
// nodes are up and recurring jobs are expected, and place their input in the
// racks it returns; ask Release before it moves shuffle data. A recurring job
// that nobody announced is planned when it arrives.
package jobpacker
