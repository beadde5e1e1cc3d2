package journal

import "fmt"

// Config bounds a journal.
type Config struct {
	// SegmentBytes is the size from which a new file is begun. Larger: fewer files, old records dropped later. 0
	// means 64 MiB (ours).
	SegmentBytes int64
	// MaxRecord is the size limit of a payload in bytes. 0 means 8 MiB (ours).
	MaxRecord int
	// MaxBatch is how many bytes may wait for the disk before Append itself writes.
	// 0 means 4 MiB (ours).
	MaxBatch int
	// ReserveBytes is kept on the disk so that accepted records can be written even if the disk is full. The reserve
	// is at least MaxBatch plus MaxRecord. 0 means 16 MiB (ours); HDFS keeps 100 MB.
	ReserveBytes int64
	// Fence, if set, is called before a batch is written and again before it is acknowledged. An error, passed on
	// with its kind, stops the journal: the directory belongs to another process. With a Fence, opening begins a new
	// file, so that what an older process may still write is behind the end of its own.
	Fence func() error
}

// DefaultConfig returns what zero values mean.
func DefaultConfig() Config {
	return Config{SegmentBytes: 64 << 20, MaxRecord: 8 << 20, MaxBatch: 4 << 20, ReserveBytes: 16 << 20}
}

// withDefaults fills in zero values and refuses impossible ones.
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
