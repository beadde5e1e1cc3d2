package shuffle

// A fold table is a waste if keys hardly ever repeat: each record costs a walk through memory, and sorting the slots
// another. So once the table has some keys, a collector checks how often they repeated. If it is hopeless, the
// collector continues without a table. Keys that repeat after all are folded when runs are merged, as they are
// between maps.

// leastJudged is how many keys a table has before it is judged.
const leastJudged = 4096

// hopeless reports, once for each collector, whether the table shows that folding in memory is useless.
func (c *Collector) hopeless() bool {
	t := c.table
	if c.judged || t.n < leastJudged || c.cfg.Compare != nil {
		return false
	}
	c.judged = true
	room := float64(c.cfg.Pool.limit) / float64(t.bytes/t.folded+slotCost)
	return fewAgain(float64(t.n), float64(t.folded)-float64(t.n), room)
}

// slotCost is roughly the memory of a key beside its bytes: a slot in a table that is not full, and two entries.
const slotCost = 64

// fewAgain judges n keys of which again came a second time. Of m equally likely keys, n*n/2m would have, so m is
// n*n/2again. If that is four times as many as there is room for, a full table folds less than an eighth of its
// records. Keys that are not equally likely repeat more often.
func fewAgain(n, again, room float64) bool { return 2*again*4*room <= n*n }

// unfold moves the keys from the table to where unfolded records are, if there is memory for both, and ends the
// table.
func (c *Collector) unfold() (bool, error) {
	t := c.table
	data, entries, ok := t.unfolded()
	if !ok || !c.acct.reserve(c.ctx, data+2*entries) {
		return false, nil
	}
	c.table = nil
	before := c.stats
	if err := c.takeSlots(t); err != nil {
		return true, err
	}
	c.stats.CombineIn += t.folded
	c.stats.CombineOut += int64(t.n)
	c.stats.Records, c.stats.Bytes = before.Records+t.folded, before.Bytes+t.bytes
	waiting := t.waiting
	c.acct.release(t.recycle())
	for i := range waiting {
		if w := &waiting[(t.turn+uint(i))%foldAhead]; w.hi != 0 {
			var buf slotBuf
			if err := c.AddInt(unpackShort(w.lo, w.hi, buf.key[:0]), w.v); err != nil {
				return true, err
			}
		}
	}
	return true, nil
}

// takeSlots adds the keys and values in the slots, in reserved memory.
func (c *Collector) takeSlots(t *foldTable) (err error) {
	t.each(func(key, value []byte) {
		size := recordSize(len(key), len(value))
		if size > len(c.data.free) {
			c.data.grow(size)
		}
		if c.idx.full() {
			c.idx.grow()
		}
		if err == nil {
			err = c.Add(key, value)
		}
	})
	return err
}

// unfolded returns the memory that takeSlots needs, for records and for entries, or false if a record is larger than
// a block.
func (t *foldTable) unfolded() (data, entries int64, ok bool) {
	block := t.pool.blockSize
	free, ok := 0, true
	t.each(func(key, value []byte) {
		size := recordSize(len(key), len(value))
		if size > free {
			data += int64(block)
			free = block
		}
		free -= size
		ok = ok && free >= 0
	})
	perBlock := block / entryBytes
	return data, int64((t.n+perBlock-1)/perBlock) * int64(block), ok
}

// each calls fn for every slot in use.
func (t *foldTable) each(fn func(key, value []byte)) {
	var buf slotBuf
	for ti, st := range t.tables {
		for si := range st.slots {
			if st.slots[si].hi != 0 {
				fn(t.pair(uint32(ti)<<16|uint32(si), &buf))
			}
		}
	}
}
