// Package attempt runs one attempt of a cluster's task. It asks the master for what it needs, runs the same
// code as a job on one machine, and says how it ended. The worker calls it in its own process for built-in
// jobs. A shipped program calls it in a process of its own.
//
// A map leaves its output as a file in the scratch directory, from which the worker serves it. A reduce fetches
// from all workers that have output for it. A driver plans a stage, waits until its tasks are done, and gives
// the output its name.
package attempt
