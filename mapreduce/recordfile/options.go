package recordfile

import (
	"fmt"
	"io"
	"math"
)

// maxBlock is the most a block may hold, so that all lengths fit 31 bits.
const maxBlock = math.MaxInt32

// recordOverhead is the maximum size of the two lengths of a record.
const recordOverhead = 10

// Options describes a file to be written.
type Options struct {
	// Codec compresses the blocks. A block that would hardly shrink is stored uncompressed. The zero value is None.
	Codec Codec
	// BlockBytes is how many bytes of records make a block; a larger record has a
	// block of its own. 0 means 256 KiB (ours: past it s2 and zstd gain little).
	// Larger: better compression, more memory on both sides, coarser splits.
	BlockBytes int
	// MaxRecordBytes bounds one record, key and value together. 0 means 256 MiB less the lengths, which a reader
	// with DefaultLimits accepts. Larger: files that others may refuse.
	MaxRecordBytes int
	// Marker provides the 16 bytes that mark the start of each block. Nil derives them from the first block, so that
	// equal records make equal files.
	Marker io.Reader
	// Types, if given, are written into the file, at most 4 KiB. Key has no newline.
	Types Types
}

// DefaultOptions returns s2 blocks of 256 KiB.
func DefaultOptions() Options {
	return Options{Codec: S2, BlockBytes: 256 << 10, MaxRecordBytes: DefaultLimits().MaxBlockBytes - recordOverhead}
}

func (o *Options) setDefaults() {
	def := DefaultOptions()
	if o.BlockBytes == 0 {
		o.BlockBytes = def.BlockBytes
	}
	if o.MaxRecordBytes == 0 {
		o.MaxRecordBytes = def.MaxRecordBytes
	}
}

func (o *Options) validate() error {
	switch {
	case int(o.Codec) >= len(codecNames):
		return fmt.Errorf("record file: unknown %v", o.Codec)
	case o.BlockBytes < 1 || o.BlockBytes > maxBlock/2:
		return fmt.Errorf("record file: blocks of %d bytes, want 1 to %d", o.BlockBytes, maxBlock/2)
	case o.MaxRecordBytes < 1 || o.MaxRecordBytes > maxBlock-recordOverhead:
		return fmt.Errorf("record file: records of up to %d bytes, want 1 to %d", o.MaxRecordBytes, maxBlock-recordOverhead)
	}
	return o.Types.validate()
}

// Limits bounds what a file can make its reader allocate.
type Limits struct {
	// MaxBlockBytes is the most memory the records of one block may take, in
	// bytes; a reader also holds the block as stored. 0 means 256 MiB (ours: room
	// for a record of 100 MB). Larger: a hostile file can take more.
	MaxBlockBytes int
	// Room, if set, is called before a block that takes 1 MiB or more is read, and waits until there is that much
	// memory. done is called when the reader has moved on from the block, or is closed.
	Room func(bytes int64) (done func(), err error)
}

// DefaultLimits returns blocks of at most 256 MiB.
func DefaultLimits() Limits { return Limits{MaxBlockBytes: 256 << 20} }

func (l *Limits) setDefaults() {
	if l.MaxBlockBytes == 0 {
		l.MaxBlockBytes = DefaultLimits().MaxBlockBytes
	}
}

func (l *Limits) validate() error {
	if l.MaxBlockBytes < 1 || l.MaxBlockBytes > maxBlock {
		return fmt.Errorf("record file: block limit of %d bytes, want 1 to %d", l.MaxBlockBytes, maxBlock)
	}
	return nil
}
