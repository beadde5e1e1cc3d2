// Package deadline gives jobs what they need to meet their completion-time
// goals, as spec/deadline describes. From the tasks of a job that have finished it
// estimates what is left, turns that into the number of slots the job needs from
// now on, and serves the job that misses most.
//
//	deadline-min   leaves slots free that nobody needs (elastic clusters)
//	deadline-max   hands them out too (static clusters)
//
// A job's goal is JobSpec.Deadline, an instant; the cost of its reduces relative
// to its maps JobSpec.ReduceCostRatio. Time enters only as the argument now, so
// simulator and master share every line.
//
// estimate.go has the formulas, one function each, with their equation numbers.
// The policy keeps what they need up to date event by event: clock.go the start
// times of running tasks, entry.go and lines.go the jobs to choose from. Estimate, Forecast
// and Surplus tell what the policy believes, for traces and figures.
package deadline
