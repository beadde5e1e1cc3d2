// Package journal is an append-only log that survives power cuts: what [Journal.Wait] has reported durable is there
// at the next [Open], in order, byte for byte.
//
// The calls that matter:
//
//	j, err := journal.Open(fsys, "journal", cfg, from, func(seq uint64, payload []byte) error { ... })
//	seq, err := j.Append(payload)   ordered, not yet durable; cheap, may be called under a lock
//	err = j.Wait(seq)               durable; many callers share one sync of the disk
//	err = j.DropBefore(seq)         after a checkpoint that holds everything below seq
//
// Sequence numbers start at 1 and have no gaps. Between Append and Wait a record may be lost, but only together with
// all that follow.
//
// Open cuts an unfinished tail of the last file, which a power cut leaves behind, and refuses every other damage
// with an error of kind Corrupt that names file and offset. [Inspect] says what a repair would lose, and [Repair]
// repairs. After a failed sync the journal refuses everything until it is opened again: only the disk knows what it
// then holds. If the disk is full, Append fails with kind NoSpace before anything is changed. Records that were
// accepted before are written into a reserve kept for them.
package journal
