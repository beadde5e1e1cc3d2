package shuffle

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
)

// Compression says how segment frames are stored.
type Compression uint8

// The codecs. Frames that do not shrink are stored as they are, whatever the codec.
const (
	None Compression = iota // no compression
	S2                      // fast, lz4-class
	Zstd                    // smaller and slower; for slow networks
)

var compressionNames = [...]string{None: "none", S2: "s2", Zstd: "zstd"}

func (c Compression) String() string {
	if int(c) < len(compressionNames) {
		return compressionNames[c]
	}
	return fmt.Sprintf("compression %d", uint8(c))
}

// ParseCompression reads a codec's name; "lz4" means S2, which is of its class.
func ParseCompression(name string) (Compression, error) {
	if name == "lz4" {
		return S2, nil
	}
	for c, n := range compressionNames {
		if n == name {
			return Compression(c), nil
		}
	}
	return None, fmt.Errorf("unknown compression %q (known: none, s2, lz4, zstd)", name)
}

const (
	defaultMergeFactor = 128
	defaultMaxRecord   = 128 << 20
	maxRecordLimit     = 1 << 30
	maxPartitions      = 1 << 24
)

// Config describes one collector.
type Config struct {
	// Dir is the scratch directory. It must exist and belong to the attempt; files are
	// created in it and nowhere else. It must outlive the Output.
	Dir string

	// Name is the beginning of file names and appears in error messages, for example "map-00012-0". It is one path
	// element, and unique within Dir. The frames of the output carry its checksum, so that no output is mistaken for
	// another.
	Name string

	// Pool provides the memory.
	Pool *Pool

	// Partitions is the number of reduce shares, at least 1.
	Partitions int

	// Partition returns the share of a record, in 0..Partitions-1; anything else fails the Add. With a Fold it is
	// called once for each distinct key, with the folded value. Nil sends everything to 0.
	Partition func(key, value []byte) int

	// Together, if set, reports keys that are one to whoever reads the partitions, and so must be in one of them. It must
	// agree with Compare: keys between two that are one are the same one. What is sorted in memory is looked through for
	// keys of other bytes that Partition has put apart, all of a few thousand records or a part of more; they fail the
	// collector.
	Together func(a, b []byte) bool

	// Compare orders keys. Nil means bytes.Compare and is much faster than a function that does the same. Another
	// goroutine may call it while the caller continues.
	Compare func(a, b []byte) int

	// Combine, if set, is applied to each sorted run before it is written. Another goroutine may call it, but only
	// while Add or Finish waits for it.
	Combine Combiner

	// Fold, if set, aggregates records in a hash table before any sort. It excludes Combine.
	Fold *Fold

	// Compression of spills and output. Zero means none, which is best while
	// the files stay in the page cache; S2 saves two thirds of the bytes of text at
	// 3 ns a byte.
	Compression Compression

	// KeepInMemory lets Finish keep the output in the pool's memory while there is room, instead of writing a file.
	KeepInMemory bool

	// MergeFactor is how many runs are merged, and files open, at a time. Larger: fewer passes, smaller buffers.
	// Zero means 128 (ours; Hadoop's io.sort.factor is 10 and is usually raised to 64 or 100).
	MergeFactor int

	// MaxRecord is the largest record, key and value together, in bytes. Records
	// above an eighth of the budget go straight to disk and need their size in memory
	// when they are read. Zero means 128 MiB; the limit is 1 GiB.
	MaxRecord int

	// FS is the file system. Nil means the operating system's.
	FS FS
}

// DefaultConfig returns a Config with every default filled in.
func DefaultConfig() Config {
	return Config{Partitions: 1, MergeFactor: defaultMergeFactor, MaxRecord: defaultMaxRecord, FS: osFS{}}
}

func (c *Config) validate() error {
	if c.Partitions < 1 || c.Partitions > maxPartitions {
		return fmt.Errorf("shuffle %q: %d partitions, want 1..%d", c.Name, c.Partitions, maxPartitions)
	}
	if c.Fold != nil && c.Combine != nil {
		return fmt.Errorf("shuffle %q: both Fold and Combine are set", c.Name)
	}
	m := c.merge()
	if err := m.validate(); err != nil {
		return err
	}
	c.MergeFactor, c.MaxRecord, c.FS = m.MergeFactor, m.MaxRecord, m.FS
	return nil
}

// merge is the part of the configuration that a merge needs.
func (c *Config) merge() MergeConfig {
	return MergeConfig{
		Dir: c.Dir, Name: c.Name, Pool: c.Pool, Compare: c.Compare, Combine: c.Combine, Fold: c.Fold,
		Compression: c.Compression, MergeFactor: c.MergeFactor, MaxRecord: c.MaxRecord, FS: c.FS,
	}
}

// MergeConfig describes a merge. The fields mean what they mean in Config.
type MergeConfig struct {
	Dir         string
	Name        string
	Pool        *Pool
	Compare     func(a, b []byte) int
	Combine     Combiner // applied between passes, not to the final stream
	Fold        *Fold    // applied between passes and to the final stream
	Compression Compression
	MergeFactor int
	MaxRecord   int
	FS          FS
}

func (c *MergeConfig) validate() error {
	if c.Name == "" || c.Name != filepath.Base(c.Name) || !filepath.IsLocal(c.Name) || strings.ContainsRune(c.Name, 0) {
		return fmt.Errorf("shuffle: name %q is not one path element", c.Name)
	}
	if c.Pool == nil {
		return fmt.Errorf("shuffle %q: no Pool", c.Name)
	}
	if int(c.Compression) >= len(compressionNames) {
		return fmt.Errorf("shuffle %q: unknown %v", c.Name, c.Compression)
	}
	if c.Fold != nil {
		if err := c.Fold.validate(); err != nil {
			return fmt.Errorf("shuffle %q: %w", c.Name, err)
		}
	}
	return c.fillLimits()
}

func (c *MergeConfig) fillLimits() error {
	if c.MergeFactor == 0 {
		c.MergeFactor = defaultMergeFactor
	}
	if c.MergeFactor < 2 {
		return fmt.Errorf("shuffle %q: merge factor %d, want at least 2", c.Name, c.MergeFactor)
	}
	if c.MaxRecord == 0 {
		c.MaxRecord = defaultMaxRecord
	}
	if c.MaxRecord < 1 || c.MaxRecord > maxRecordLimit {
		return fmt.Errorf("shuffle %q: record limit of %d bytes, want 1..%d", c.Name, c.MaxRecord, maxRecordLimit)
	}
	if c.FS == nil {
		c.FS = osFS{}
	}
	return nil
}

// canceled returns the cause of a context that has ended, or nil.
func canceled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}
