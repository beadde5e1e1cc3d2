// Package bare holds the yardsticks of millrace bench: word count, sort and grep
// written straight down in Go, for one machine, one job and data that fits into
// memory, with nothing between the loop and the file.
//
// They are not an engine. They say how fast this machine does the work when nobody
// has to be able to split, retry, spill or extend it; what millrace takes beyond
// that is what its generality costs. They are kept honest in both directions:
// no shortcut that reads less than the input or leaves out a byte of the result,
// and no slowness that a day of tuning would remove.
//
// Each function reads the file in, writes the file out, replacing it, and uses
// procs goroutines, which it waits for.
package bare
