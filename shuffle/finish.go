package shuffle

import "errors"

// Finish sorts and writes what is left and returns the output, which becomes visible only now. After an error,
// Discard removes what is left.
func (c *Collector) Finish() (*Output, error) {
	if c.err != nil {
		return nil, c.err
	}
	out, err := c.finish()
	if err != nil {
		return nil, c.fail(err)
	}
	for p := range out.Partitions() {
		info := out.Info(p) // the pool may be moving it to disk
		c.stats.OutRecords += info.Records
		c.stats.OutBytes += info.RawBytes
	}
	c.err = errFinished
	c.runs = nil
	c.close()
	return out, nil
}

func (c *Collector) finish() (*Output, error) {
	if err := c.foldWaiting(); err != nil {
		return nil, err
	}
	if err := c.waitSpill(); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if len(c.runs) > 0 && c.empty() {
		return c.finishRuns(nil)
	}
	b, err := c.sortMemory()
	if err != nil {
		return nil, err
	}
	if len(c.runs) > 0 {
		return c.finishRuns(b)
	}
	if c.cfg.KeepInMemory {
		out, err := c.keep(b)
		if !errors.Is(err, errNoRoom) {
			return out, err
		}
	}
	return c.writeOutput(func(w *segmentWriter) error {
		return b.writeTo(w, c.combining(&c.stats), c.check)
	})
}

// empty reports whether nothing is in memory.
func (c *Collector) empty() bool {
	if c.table != nil {
		return c.table.n == 0
	}
	return c.idx.n == 0
}

// writeOutput writes the output file under a hidden name and then renames it.
func (c *Collector) writeOutput(write func(w *segmentWriter) error) (*Output, error) {
	tmp := c.path(".seg.tmp")
	out, err := c.writeFile(tmp, write)
	if err != nil {
		return nil, err
	}
	return out, c.rename(out)
}

// rename gives an output its final name.
func (c *Collector) rename(out *Output) error {
	path := c.path(OutputSuffix)
	if err := c.cfg.FS.Rename(out.path, path); err != nil {
		_ = c.cfg.FS.Remove(out.path) // report the rename's error
		return scratchErr("rename", out.path, err)
	}
	out.path = path
	return nil
}

// keep turns the batch into an output in memory. A large plain batch stays as it is, with its index. A small,
// combined or folded one is copied, without index, to as little memory as it needs.
func (c *Collector) keep(b *batch) (*Output, error) {
	out := &Output{
		fs: c.cfg.FS, path: c.path(OutputSuffix), name: c.cfg.Name, codec: c.cfg.Compression,
		tag: nameTag(c.cfg.Name), infos: make([]PartitionInfo, c.cfg.Partitions),
	}
	if b.table != nil || c.cfg.Combine != nil || c.data.bytes <= 2*int64(c.cfg.Pool.blockSize) {
		return out, c.keepPacked(out, b)
	}
	for p := range out.infos {
		n := int64(b.starts[p+1] - b.starts[p])
		out.infos[p] = PartitionInfo{Records: n, RawBytes: c.sizes[p], StoredBytes: c.sizes[p]}
	}
	scratch := int64(len(c.idx.blocks)) * int64(c.cfg.Pool.blockSize)
	c.acct.release(scratch)
	data, idx := c.data, c.idx
	kept := &batch{idx: &idx, starts: b.starts, arena: &data}
	c.data, c.idx = newArena(c.cfg.Pool), newIndex(c.cfg.Pool)
	out.keep(&memory{pool: c.cfg.Pool, acct: c.acct.transfer(data.bytes + scratch), batch: kept})
	return out, nil
}

// keepPacked copies the batch to fresh memory, or fails with errNoRoom.
func (c *Collector) keepPacked(out *Output, b *batch) error {
	k := &packed{arena: newArena(c.cfg.Pool), parts: make([]packedPart, c.cfg.Partitions)}
	k.take = c.reserveFor
	before := c.stats
	if err := b.writeTo(k, c.combining(&c.stats), c.check); err != nil {
		c.acct.release(k.arena.recycle())
		c.stats.CombineIn, c.stats.CombineOut = before.CombineIn, before.CombineOut
		return err
	}
	k.endRange()
	c.acct.release(k.shrink())
	for p := range out.infos {
		out.infos[p] = k.parts[p].info
	}
	k.take = nil
	out.keep(&memory{pool: c.cfg.Pool, acct: c.acct.transfer(k.arena.bytes), packed: k})
	return nil
}
