// Package fifo serves jobs in order of priority and submission: Hadoop's
// default scheduler and the baseline of most comparisons (spec/capacity 3.1,
// spec/slowdown 3.1, spec/deadline 3.9).
//
// It is not strictly serial: what the first job cannot use goes to the next, so
// a small late job may finish before a big early one.
package fifo
