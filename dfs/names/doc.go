// Package names is the name service of the block store: which files there are, which
// blocks they are made of, which nodes hold replicas, and what must be copied or deleted
// so that none is lost.
//
// A [Service] is opened on a journal and a checkpoint and then called from many
// goroutines. The calls of clients are Create, AddBlock, Bump, Complete, Abandon,
// RenewLease, Stat, List, Locate, Mkdir, Rename, Delete, SetReplication, SetQuota and
// Usage; those of block services are Register, Report and Beat, whose answer carries
// commands; those of users are SafeMode, Drain, Nodes, Fsck and Balance.
//
//	s, err := names.Open(cfg)   loads the checkpoint, replays the journal, starts in safe mode
//	s.Tick()                    the owner calls it a few times a second: time passes only here
//	s.Close()
//
// # Durability
//
// A change is checked, appended to the journal and made in memory under one lock. The
// caller waits for the disk outside the lock, together with all others, and gets its answer
// after that. A reader may see a change that is not durable yet, but gets its answer only
// when it is: every file and directory has the journal record of its last change, and the
// reader waits for the records of what it saw. So no answer, not even a refusal, depends on
// anything that a power cut can undo.
//
// Records are lists of physical changes (see docs/formats/namespace.md). The checkpoint
// is a bbolt file that a goroutine of the service brings up to date; the journal's old
// files are dropped after that.
//
// # Replicas
//
// Where replicas are is not stored: nodes report it. A replica counts when its node is
// live and its generation and length are those of the block. Every change of a block's
// replicas ends in settle, which decides what the block needs: copies (queued by
// priority for Tick), or deletion of surplus, stale or corrupt replicas. In safe mode
// nothing is copied, deleted or recovered.
//
// # Names
//
// Paths are absolute, at most 4,096 bytes, of components of at most 255 bytes. Invalid
// UTF-8, control characters (newline and NUL among them), empty components, "." and
// ".." are refused; everything else is kept as it is, byte for byte.
package names
