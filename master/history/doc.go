// Package history keeps what happened to every job, in a pebble store beside the master's journal. It is written in the
// background: nothing waits for it, and if its disk fails, the master goes on.
//
//	s, err := history.Open(cfg)        // begins to catch up with the journal by itself
//	s.Add(entries)                     // never blocks; what does not fit is read from the journal later
//	s.Jobs(query), s.Summary(id)       // reads, from any goroutine
//	s.Keep()                           // records of the journal up to which nothing is needed any more
//
// Entries that are in the journal carry their record's number; adding an entry twice changes nothing. Such entries must
// be durable in the journal when they are added. The other entries (where an attempt was launched, which attempts
// failed) are kept as far as possible: a crash of the master can lose the last ones.
//
// docs/formats/jobs.md describes keys and values.
package history
