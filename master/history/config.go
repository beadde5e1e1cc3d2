package history

import (
	"errors"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/millrace/millrace/internal/wire"
)

// Config is what a store needs to know. DefaultConfig fills in all but Dir, Durable and Scan.
type Config struct {
	Dir string
	// FS is the disk; tests replace it.
	FS vfs.FS
	// MaxAge is how long an ended job is remembered; 0 means for ever. Default 30 days.
	MaxAge time.Duration
	// MaxJobs is how many jobs are remembered; 0 means any number. Default 100,000.
	MaxJobs int
	// MaxBytes is how much disk space the history may take, roughly; 0 means any. Default 2 GiB.
	MaxBytes int64
	// UserBytes returns how many bytes a user's ended jobs may take; 0, or a nil UserBytes, means any. Another
	// goroutine calls it.
	UserBytes func(user string) int64
	// Queue is how many entries may wait to be written. Of those beyond, the store reads what is in the journal from
	// there later, and loses the others. Larger: more memory, about 300 bytes each. Default 65,536.
	Queue int
	// Durable returns the last durable record of the journal. Scan calls fn with the entries of each record (none, one
	// or more) and returns the first record that was there.
	Durable func() uint64
	Scan    func(from, to uint64, fn func(seq uint64, entries []Entry) error) (first uint64, err error)
	// Wall returns the time of day.
	Wall func() time.Time
	Log  *slog.Logger
}

// DefaultConfig returns the values above.
func DefaultConfig() Config {
	return Config{
		MaxAge: 30 * 24 * time.Hour, MaxJobs: 100_000, MaxBytes: 2 << 30, Queue: 1 << 16, Wall: time.Now, FS: vfs.Default,
		Log: slog.New(slog.DiscardHandler),
	}
}

func (c *Config) validate() error {
	if c.FS == nil || c.Durable == nil || c.Scan == nil || c.Wall == nil || c.Log == nil {
		return errors.New("history: no disk, journal, clock or log")
	}
	if c.Queue < 1 || c.MaxAge < 0 || c.MaxJobs < 0 || c.MaxBytes < 0 {
		return errors.New("history: a limit is negative, or there is no queue")
	}
	return nil
}

// An Entry is an event on its way into the history.
type Entry struct {
	Job wire.JobID
	// Seq is the entry's record in the journal, or, if Count is not 0, the record it came after. Then Epoch and Count
	// distinguish it from others.
	Seq   uint64
	Epoch uint32
	Count uint32
	wire.PastEvent
	// Spec is what was submitted. Wall is when a job was submitted or ended, in milliseconds since 1970. Tries is how
	// many attempts an ended job has had.
	Spec  *wire.JobSpec
	Wall  int64
	Tries int
}

// inJournal reports whether the entry can be read again from the journal.
func (e *Entry) inJournal() bool { return e.Count == 0 }
