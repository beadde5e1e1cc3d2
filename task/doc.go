// Package task is one attempt of a map or reduce task: it reads a split, runs the
// user's code, feeds the shuffle, and writes output that becomes visible by commit.
// The same code runs in the one-process engine and in the workers of a cluster.
//
// The calls that matter, in their order:
//
//   - [MakePlan] divides a job's input into splits and samples partition bounds.
//   - [PrepareOutput] claims the output directory under a hidden name.
//   - [RunMap] and [RunReduce] run one attempt. A failed attempt leaves nothing
//     behind and may be run again under the next attempt number.
//   - [JobOutput.Commit] makes the whole output visible at once, or
//     [JobOutput.Abort] removes what was written.
//
// A panic in user code becomes an [*AttemptError] that names the file, the offset
// and the stack; the process lives on.
package task
