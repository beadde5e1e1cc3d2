// Package bench measures millrace against what else does the same work on this
// machine: GNU sort, mawk, grep, and the bare Go loops of bench/bare.
//
// A [Case] is one row of the speed table: our command, its rivals, and the ratio
// that must and should be reached. [Run] makes the data, runs all commands of a
// case one after the other in rounds, so that a noisy neighbour hits all alike,
// takes the best round of each, and compares. Commands are real processes: wall
// time, CPU time and peak memory are what the operating system counted.
package bench
