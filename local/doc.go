// Package local runs whole jobs inside one process: the same plan, the same task
// attempts and the same shuffle as a cluster, with a pool of goroutines in place of
// workers and file reads in place of fetches.
//
// Make a [Runner] with [New] and call [Runner.Run] once with a job or a chain of jobs. Meanwhile any goroutine may
// call [Runner.Progress]. Cancelling the context ends the run and removes everything it wrote. A run that fails
// leaves no output and no temporary file.
package local
