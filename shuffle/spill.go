package shuffle

import (
	"bytes"
	"fmt"
)

// sortMemory sorts what is in memory into a batch and releases its scratch.
func (c *Collector) sortMemory() (*batch, error) {
	if c.table != nil {
		return c.sortTable()
	}
	return c.sortRecords(&c.data, &c.idx)
}

// sortRecords sorts records in an arena.
func (c *Collector) sortRecords(data *arena, idx *index) (*batch, error) {
	starts, err := c.sortEntries(idx, data, c.cfg.Compare)
	if err != nil {
		return nil, err
	}
	return &batch{idx: idx, starts: starts, arena: data}, nil
}

// sortEntries sorts an index whose scratch is already reserved.
func (c *Collector) sortEntries(x *index, keys keyed, compare func(a, b []byte) int) ([]int, error) {
	scratch := newIndex(c.cfg.Pool)
	for range x.blocks {
		scratch.grow()
	}
	starts, err := sortIndex(c.ctx, x, &scratch, c.cfg.Partitions, keys, compare)
	scratch.recycle()
	if err == nil && c.cfg.Together != nil {
		err = c.checkTogether(&apart{keys: keys, idx: x, compare: compare, starts: starts})
	}
	return starts, err
}

// sortTable lists the slots of the fold table and sorts them. Keys that the caller's order considers equal are
// ordered by their bytes, so that the result does not depend on the hash.
func (c *Collector) sortTable() (*batch, error) {
	t := c.table
	if err := t.list(&c.idx, c.partitionOf, c.cfg.Compare == nil); err != nil {
		return nil, err
	}
	compare := c.cfg.Compare
	if compare != nil {
		compare = func(a, b []byte) int {
			if d := c.cfg.Compare(a, b); d != 0 {
				return d
			}
			return bytes.Compare(a, b)
		}
	}
	starts, err := c.sortEntries(&c.idx, t, compare)
	if err != nil {
		return nil, err
	}
	c.stats.CombineIn += t.folded
	c.stats.CombineOut += int64(t.n)
	c.stats.Records += t.folded
	c.stats.Bytes += t.bytes
	t.folded, t.bytes = 0, 0
	return &batch{idx: &c.idx, starts: starts, table: t}, nil
}

// partitionOf returns the partition of a record, checked.
func (c *Collector) partitionOf(key, value []byte) (int, error) {
	if c.cfg.Partition == nil {
		return 0, nil
	}
	p := c.cfg.Partition(key, value)
	if uint(p) >= uint(c.cfg.Partitions) {
		return 0, c.badPartition(p, key)
	}
	return p, nil
}

// combining returns the combiner of this collector, which counts in stats, or nil.
func (c *Collector) combining(stats *Stats) *combining {
	if c.cfg.Combine == nil {
		return nil
	}
	return &combining{
		name: c.cfg.Name, combine: c.cfg.Combine, compare: c.cfg.Compare,
		partition: c.cfg.Partition, stats: stats,
	}
}

// check checks the context.
func (c *Collector) check() error { return canceled(c.ctx) }

// spillTable sorts the fold table and writes it as a run.
func (c *Collector) spillTable() error {
	b, err := c.sortMemory()
	if err != nil {
		return err
	}
	return c.spillSorted(b)
}

// spillSorted writes a sorted batch as a run and empties the memory.
func (c *Collector) spillSorted(b *batch) error {
	err := c.writeSpill(func(w *segmentWriter) error { return b.writeTo(w, c.combining(&c.stats), c.check) })
	if err != nil {
		return err
	}
	c.stats.Spills++
	c.clear()
	return nil
}

// spillOne writes a record that does not fit in memory as a run of its own.
func (c *Collector) spillOne(key, value []byte) error {
	p, err := c.partitionOf(key, value)
	if err != nil {
		return c.fail(err)
	}
	err = c.writeSpill(func(w *segmentWriter) error {
		w.begin(p)
		return w.add(key, value)
	})
	if err != nil {
		return c.fail(err)
	}
	c.stats.Spills++
	c.stats.Records++
	c.stats.Bytes += int64(len(key) + len(value))
	return nil
}

// writeSpill adds a run that write writes.
func (c *Collector) writeSpill(write func(w *segmentWriter) error) error {
	run, err := c.writeFile(c.nextFile(), write)
	if err != nil {
		return err
	}
	c.stats.spilled(run)
	c.runs = append(c.runs, run)
	return nil
}

func (c *Collector) nextFile() string {
	c.nfiles++
	return c.path(fmt.Sprintf(".spill-%04d", c.nfiles))
}

// writeFile writes a segment file. After an error nothing is left of it.
func (c *Collector) writeFile(path string, write func(w *segmentWriter) error) (*Output, error) {
	return c.writeFileWith(c.buffers(), path, write)
}

func (c *Collector) writeFileWith(bufs *frameBuffers, path string, write func(w *segmentWriter) error) (*Output, error) {
	w, err := newSegmentWriter(c.ctx, c.cfg.FS, path, c.cfg.Name, c.cfg.Compression, c.cfg.Partitions, bufs)
	if err != nil {
		return nil, err
	}
	defer w.abandon()
	if err := write(w); err != nil {
		return nil, err
	}
	return w.output()
}
