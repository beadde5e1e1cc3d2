// Package jobs holds the jobs that are built into the millrace binary: the classics
// (wordcount, grep, sort, TeraGen/TeraSort/TeraValidate, join, distinct, topk,
// inverted-index, pi), streaming over any command, and the jobs of scheduling labs
// (sleep, synthetic).
//
// [Parse] turns a name and command-line words into the job or chain of jobs to run. It is a pure function of its
// arguments, so that a client and the workers of a cluster get the same job from the same words. [All] lists all
// jobs.
package jobs
