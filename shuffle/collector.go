package shuffle

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// floorBlocks is what a collector needs to make progress whatever others do: a block each of records, index and sort
// scratch (with a fold: of table and keys, and two of index), and the buffers of a segment writer.
const floorBlocks = 5

// errNoRoom says that memory has run out and something must be spilled.
var errNoRoom = errors.New("no room in memory")

// Collector takes the records of one map attempt. Only one goroutine may use it.
type Collector struct {
	cfg    Config
	ctx    context.Context
	acct   *account
	bufs   *frameBuffers
	data   arena
	idx    index
	sizes  []int64 // bytes of records in data, by partition
	table  *foldTable
	judged bool      // whether hopeless has decided
	lot    *lot      // spill under way, or nil
	runs   []*Output // spills, in order
	nfiles int       // names used so far
	stats  Stats
	intBuf [8]byte
	err    error // what ended the collector
	closed bool
}

// NewCollector returns an empty collector. It waits until the pool has room
// for its floor of five blocks (1/13 of a small budget, 5 MiB of a large one).
func NewCollector(ctx context.Context, cfg Config) (*Collector, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	p := cfg.Pool
	acct, err := p.join(ctx, floorBlocks*int64(p.blockSize), true)
	if err != nil {
		return nil, fmt.Errorf("shuffle %q: %w", cfg.Name, err)
	}
	c := &Collector{cfg: cfg, ctx: ctx, acct: acct, data: newArena(p), idx: newIndex(p), sizes: make([]int64, cfg.Partitions)}
	acct.reserve(ctx, frameBufferBytes(p, cfg.Compression)) // within the floor
	if cfg.Fold != nil {
		c.table = newFoldTable(p, cfg.Fold)
	}
	return c, nil
}

// Stats returns the counts so far.
func (c *Collector) Stats() Stats {
	s := c.stats
	if c.table != nil { // not counted yet
		s.Records += c.table.folded
		s.Bytes += c.table.bytes
	}
	return s
}

// Add copies a record into the collector, or folds it. An error is final.
func (c *Collector) Add(key, value []byte) error {
	if c.table != nil {
		return c.foldBytes(key, value)
	}
	size := recordSize(len(key), len(value))
	if size > len(c.data.free) || c.idx.full() || c.err != nil {
		if own, err := c.makeRoom(key, value, size); own || err != nil {
			return err
		}
	}
	part := 0
	if c.cfg.Partition != nil {
		if part = c.cfg.Partition(key, value); uint(part) >= uint(c.cfg.Partitions) {
			return c.fail(c.badPartition(part, key))
		}
	}
	e := entry{loc: c.data.put(key, value), tag: makeTag(part, len(key))}
	if c.cfg.Compare == nil {
		e.prefix = prefixOf(key)
	}
	c.idx.add(e)
	c.sizes[part] += int64(size)
	c.stats.Records++
	c.stats.Bytes += int64(len(key) + len(value))
	return nil
}

// AddInt adds a record whose value is the eight-byte form of an integer: big-endian
// with the sign flipped, so that it orders as the integers do.
func (c *Collector) AddInt(key []byte, v int64) error {
	if c.table != nil && c.table.fold.Op != OpBytes {
		return c.foldInt(key, v)
	}
	return c.Add(key, encodeInt(c.intBuf[:0], v))
}

// fail records the first error, which ends the collector.
func (c *Collector) fail(err error) error {
	if c.err == nil {
		c.err = err
	}
	if c.table != nil {
		c.table.dir = nil // lookups find nothing now, so all folds go through ready
	}
	return c.err
}

func (c *Collector) badPartition(p int, key []byte) error {
	return fmt.Errorf("%s: partition %d of key %.64q is not in 0..%d", c.cfg.Name, p, key, c.cfg.Partitions-1)
}

// makeRoom gets memory for a record of size bytes, by spilling if needed. A record too large for memory is written
// as a run of its own, and own is true.
func (c *Collector) makeRoom(key, value []byte, size int) (own bool, err error) {
	if err := c.ready(len(key) + len(value)); err != nil {
		return false, err
	}
	c.spillAhead()
	for c.large(size) || !c.tryRoom(size) {
		if c.lot == nil && c.idx.n == 0 {
			return true, c.spillOne(key, value)
		}
		if c.lot == nil { // earlier records must be in an earlier run
			c.startSpill()
		}
		if err := c.waitSpill(); err != nil {
			return false, c.fail(err)
		}
	}
	return false, nil
}

// large reports whether a record of size bytes is too large to be kept in memory with others.
func (c *Collector) large(size int) bool {
	return size > c.cfg.Pool.blockSize && int64(size) > c.cfg.Pool.limit/8
}

// ready checks that the collector may take a record of n bytes.
func (c *Collector) ready(n int) error {
	if c.err != nil {
		return c.err
	}
	if n > c.cfg.MaxRecord {
		return c.fail(tooLarge(c.cfg.Name, n, c.cfg.MaxRecord))
	}
	if err := canceled(c.ctx); err != nil {
		return c.fail(err)
	}
	return nil
}

// tryRoom makes room for a record of size bytes and its entry, unless memory has run out.
func (c *Collector) tryRoom(size int) bool {
	block := int64(c.cfg.Pool.blockSize)
	if c.idx.full() {
		if !c.acct.reserve(c.ctx, 2*block) { // the other one for sorting
			return false
		}
		c.idx.grow()
	}
	if size > len(c.data.free) {
		if c.data.full() || !c.reserveFor(size) {
			return false
		}
		c.data.grow(size)
	}
	return true
}

// reserveFor reserves memory for a block of an arena that holds size bytes.
func (c *Collector) reserveFor(size int) bool {
	if block := c.cfg.Pool.blockSize; size <= block {
		return c.acct.reserve(c.ctx, int64(block))
	}
	return c.acct.reserveHeap(c.ctx, int64(size))
}

// path returns the name of a file of this collector.
func (c *Collector) path(suffix string) string {
	return filepath.Join(c.cfg.Dir, c.cfg.Name+suffix)
}

// buffers returns the buffers of the segment writer.
func (c *Collector) buffers() *frameBuffers {
	if c.bufs == nil {
		c.bufs = newFrameBuffers(c.cfg.Pool, c.cfg.Compression)
	}
	return c.bufs
}

// Discard gives up and removes all files and memory. It does nothing after Finish has succeeded, and may be called
// twice.
func (c *Collector) Discard() {
	if c.closed {
		return
	}
	_ = c.waitSpill()       // its file is removed with the others
	_ = c.fail(errFinished) // kept in c.err
	for _, r := range c.runs {
		_ = r.Release() // nothing can be done about a file that cannot be removed
	}
	c.runs = nil
	c.close()
}

// close releases the memory.
func (c *Collector) close() {
	c.closed = true
	if c.bufs != nil {
		c.cfg.Pool.spare.Put(c.bufs)
		c.bufs = nil
	}
	c.clear()
	c.acct.close()
}

// clear empties the memory.
func (c *Collector) clear() {
	if c.table != nil {
		c.idx.recycle() // reserved with the table
		c.acct.release(c.table.recycle())
		return
	}
	c.acct.release(c.data.recycle() + 2*c.idx.recycle())
	clear(c.sizes)
}
