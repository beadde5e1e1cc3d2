// Package core is the master's mind: which jobs there are, how far each task has come, what
// runs where, and what every worker should be doing. It is a state machine: messages and the
// time go in, answers and records to keep come out. It opens no socket and no file, reads no
// clock and starts no goroutine; master is the loop around it.
//
// Duties of the caller: call the methods one at a time with times that do not decrease; after
// each, [Core.Take] what must be journalled, and let no answer out before that is on disk. On
// start, feed what the journal holds to [Core.Replay], in order, then call [Core.Resume].
//
// A worker reports its whole truth again and again and is answered with what it should do;
// nothing depends on a message arriving once. A result counts if it is the first of its task,
// whoever brings it: what fences a stale worker is that the answer to its report says so, and
// that only the driver, told the winners by the master, gives files their names.
package core
