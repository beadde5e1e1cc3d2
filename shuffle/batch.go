package shuffle

// batch is a sorted set of records in memory.
type batch struct {
	idx    *index
	starts []int // partition p is [starts[p], starts[p+1]) of idx
	arena  *arena
	table  *foldTable // instead of arena: entries are slots of a fold table
}

// stream opens one partition of a batch in an arena.
func (b *batch) stream(p int) *stream {
	return &stream{idx: b.idx, arena: b.arena, i: b.starts[p], hi: b.starts[p+1], ahead: new([lookahead][]byte)}
}

// writeTo sends the batch to a sink, combined if c is not nil.
func (b *batch) writeTo(out sink, c *combining, check func() error) error {
	for p := range len(b.starts) - 1 {
		lo, hi := b.starts[p], b.starts[p+1]
		if lo == hi {
			continue
		}
		if err := check(); err != nil {
			return err
		}
		out.begin(p)
		if err := b.writePartition(out, c, p, lo, hi); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) writePartition(out sink, c *combining, p, lo, hi int) error {
	switch {
	case b.table != nil:
		return b.writeFolded(out, lo, hi)
	case c != nil:
		s := b.stream(p)
		s.plain = c.compare == nil
		return c.writeTo(s, out, p)
	}
	if w, ok := out.(*segmentWriter); ok {
		return b.copyRecords(w, lo, hi)
	}
	for s := b.stream(p); s.Next(); {
		if err := out.add(s.Key(), s.Value()); err != nil {
			return err
		}
	}
	return nil
}

// copyRecords writes stored records unchanged, a few at a time so that the reads of their scattered places overlap.
func (b *batch) copyRecords(w *segmentWriter, lo, hi int) error {
	var recs [lookahead][]byte
	for lo < hi {
		n := min(hi-lo, lookahead)
		b.arena.lookup(b.idx, lo, recs[:n])
		for _, r := range recs[:n] {
			if err := w.append(recordAt(r)); err != nil {
				return err
			}
		}
		lo += n
	}
	return nil
}

// writeFolded writes slots of the fold table and prefetches later ones.
func (b *batch) writeFolded(out sink, lo, hi int) error {
	var buf slotBuf
	for i := lo; i < hi; i++ {
		if (i-lo)%lookahead == 0 {
			for j := i; j < min(i+lookahead, hi); j++ {
				b.table.prefetch(b.idx.at(j).loc)
			}
		}
		key, value := b.table.pair(b.idx.at(i).loc, &buf)
		if err := out.add(key, value); err != nil {
			return err
		}
	}
	return nil
}

// packed is a sink in memory: records in order, partition by partition, without an index.
type packed struct {
	arena arena
	take  func(size int) bool // reserves memory for a block that holds size bytes
	parts []packedPart
	cur   *packedPart
	from  []byte // rest of the block, from where the current range begins
}

// packedPart is one partition of a packed sink.
type packedPart struct {
	ranges [][]byte // stored records
	info   PartitionInfo
}

var _ sink = (*packed)(nil)

func (k *packed) begin(p int) {
	k.endRange()
	k.cur = &k.parts[p]
}

// add fails with errNoRoom when memory runs out.
func (k *packed) add(key, value []byte) error {
	size := recordSize(len(key), len(value))
	if size > len(k.arena.free) {
		k.endRange()
		if !k.take(size) {
			return errNoRoom
		}
		k.arena.grow(size)
		k.from = k.arena.free
	}
	k.arena.put(key, value)
	k.cur.info.Records++
	k.cur.info.RawBytes += int64(size)
	k.cur.info.StoredBytes += int64(size)
	return nil
}

// endRange closes the range of the current partition in the current block.
func (k *packed) endRange() {
	if n := len(k.from) - len(k.arena.free); n > 0 {
		k.cur.ranges = append(k.cur.ranges, k.from[:n:n])
	}
	k.from = k.arena.free
}

// shrink moves the records to memory of their own size if they fill less than half
// of one block, and returns the bytes saved.
func (k *packed) shrink() int64 {
	a := &k.arena
	used := a.pool.blockSize - len(a.free)
	if len(a.blocks) != 1 || len(a.blocks[0]) != a.pool.blockSize || used > a.pool.blockSize/2 {
		return 0
	}
	small := make([]byte, used)
	copy(small, a.blocks[0])
	rest := small
	for p := range k.parts {
		for i, r := range k.parts[p].ranges {
			k.parts[p].ranges[i], rest = rest[:len(r):len(r)], rest[len(r):]
		}
	}
	saved := a.bytes - int64(used)
	a.pool.recycle(a.blocks[0])
	a.blocks[0], a.free, a.bytes = small, nil, int64(used)
	return saved
}

// rangeFeeder feeds ranges of memory to a stream.
type rangeFeeder struct{ ranges [][]byte }

var _ feeder = (*rangeFeeder)(nil)

func (f *rangeFeeder) more() ([]byte, error) {
	if len(f.ranges) == 0 {
		return nil, nil
	}
	b := f.ranges[0]
	f.ranges = f.ranges[1:]
	return b, nil
}

func (f *rangeFeeder) close() error { return nil }
