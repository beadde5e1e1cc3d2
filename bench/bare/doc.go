// Package bare holds the yardsticks of millrace bench: word count, sort and grep
// written straight down in Go, for one machine, one job and data that fits into
// memory, with nothing between the loop and the file.
//
// They are not an engine. They show how fast this machine does the work without having to split, retry, spill or extend
// it; the extra cost of millrace is the cost of its generality. They are kept honest in both directions: no shortcut
// that reads less than the input or leaves out a byte of the result, and no slowness that a day of tuning would remove.
//
// Each function reads the file in, writes the file out, replacing it, and uses
// procs goroutines, which it waits for.
package bare
