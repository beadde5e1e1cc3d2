// Package tracker is the master's mind: which jobs there are, how far each task has come, what
// runs where, and what every worker should be doing. It is a state machine: messages and the
// time go in, answers and records to keep come out. It opens no socket and no file, reads no
// clock and starts no goroutine; master is the loop around it.
//
// Duties of the caller: call the methods one at a time with times that do not decrease; after
// each, [Tracker.Take] what must be journalled. On start, feed what the journal holds to
// [Tracker.Replay], in order, then call [Tracker.Resume].
//
// Answers to clients and drivers must wait until the records of the call are on disk. Answers to
// workers ([Tracker.Report], [Tracker.AnswerTo]) may go out at once: the caller says how many
// records are durable, and the answer then acknowledges only ends, and starts only drivers, that
// follow from those. Maps and reduces may start before the records they follow from are durable;
// after a crash the next master adopts or stops them.
//
// A worker reports all that it runs and holds again and again and is answered with what it should
// do; nothing depends on a message arriving once. Reports of a worker's earlier sessions change
// nothing. In its present session the first good result of a task counts, whether or not this
// master started the attempt. Two things fence a stale attempt: the answer to its worker's report
// says that it should stop, and only the driver, told the winners by the master, gives files
// their names.
package tracker
