package journal

import "fmt"

// Config bounds a journal.
type Config struct {
	// SegmentBytes is when a new file is begun. Larger: fewer files, later dropping
	// of old records. 0 means 64 MiB (ours).
	SegmentBytes int64
	// MaxRecord is the largest payload in bytes; larger ones are refused. 0 means
	// 8 MiB (ours).
	MaxRecord int
	// MaxBatch is how many bytes may wait for the disk before Append itself writes.
	// 0 means 4 MiB (ours).
	MaxBatch int
	// ReserveBytes is kept on the disk so that accepted records can be written when
	// the disk is full. At least MaxBatch and MaxRecord together are kept. 0 means
	// 16 MiB (ours); HDFS keeps 100 MB.
	ReserveBytes int64
	// Fence, if set, is asked before a batch is written and again before it is
	// acknowledged. An error, which is passed on with its kind, stops the journal: the
	// directory belongs to another process by now. With a Fence, opening begins a new
	// file, so that what an older process may still write lies behind the end of its own.
	Fence func() error
}

// DefaultConfig is what zero values mean.
func DefaultConfig() Config {
	return Config{SegmentBytes: 64 << 20, MaxRecord: 8 << 20, MaxBatch: 4 << 20, ReserveBytes: 16 << 20}
}

// withDefaults fills in what is zero and refuses what cannot be.
func (c Config) withDefaults() (Config, error) {
	d := DefaultConfig()
	if c.SegmentBytes == 0 {
		c.SegmentBytes = d.SegmentBytes
	}
	if c.MaxRecord == 0 {
		c.MaxRecord = d.MaxRecord
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = d.MaxBatch
	}
	if c.ReserveBytes == 0 {
		c.ReserveBytes = d.ReserveBytes
	}
	if c.SegmentBytes < headerLen || c.MaxRecord < 1 || c.MaxRecord > maxLength || c.MaxBatch < 1 || c.ReserveBytes < 0 {
		return c, fmt.Errorf("journal config: a size is out of range: segments of %d bytes, records of %d, batches of %d, reserve %d",
			c.SegmentBytes, c.MaxRecord, c.MaxBatch, c.ReserveBytes)
	}
	c.ReserveBytes = max(c.ReserveBytes, int64(c.MaxBatch)+int64(c.MaxRecord)+4096)
	return c, nil
}
