package shuffle

import (
	"errors"

	"github.com/millrace/millrace/internal/prefetch"
)

// foldInt folds an integer into the table. A short key waits in a ring while its slot is prefetched. In a table
// larger than the processor's cache, most of the time was otherwise spent waiting for one slot after another.
func (c *Collector) foldInt(key []byte, v int64) error {
	t := c.table
	if len(key) > inlineMax || len(t.dir) == 0 {
		return c.foldIntSlowly(key, v)
	}
	lo, hi := shortKey(key)
	h := shortHash(lo, hi)
	slots := t.dir[h>>(t.shift&63)].slots
	prefetch.Of(&slots[place(h, len(slots))])
	w := &t.waiting[t.turn%foldAhead]
	t.turn++
	due := *w
	*w = waitingFold{lo, hi, h, v}
	if due.hi == 0 {
		return nil
	}
	return c.foldShort(&due)
}

// foldShort folds an integer of a short key.
func (c *Collector) foldShort(w *waitingFold) error {
	t := c.table
	if len(t.dir) > 0 {
		slots := t.dir[w.hash>>(t.shift&63)].slots
		for i := place(w.hash, len(slots)); i < len(slots); i++ {
			s := &slots[i]
			if s.lo == w.lo && s.hi == w.hi {
				s.acc = t.fold.Op.apply(s.acc, w.v)
				t.folded++
				t.bytes += int64(w.hi>>56) + 7 // the top byte is the length plus one
				return nil
			}
			if s.hi == 0 {
				break
			}
		}
	}
	var buf slotBuf
	return c.foldIntSlowly(unpackShort(w.lo, w.hi, buf.key[:0]), w.v)
}

// foldWaiting folds the keys that still wait.
func (c *Collector) foldWaiting() error {
	if c.table == nil {
		return nil
	}
	c.judged = true // too late to do without the table
	for i := range c.table.waiting {
		due := c.table.waiting[i]
		c.table.waiting[i] = waitingFold{}
		if due.hi == 0 {
			continue
		}
		if err := c.foldShort(&due); err != nil {
			return err
		}
	}
	return nil
}

// foldIntSlowly folds an integer of a long or new key.
func (c *Collector) foldIntSlowly(key []byte, v int64) error {
	t := c.table
	if len(t.dir) > 0 && c.err == nil {
		if s, _ := t.lookup(key); s.hi != 0 {
			s.acc = t.fold.Op.apply(s.acc, v)
			t.count(len(key) + 8)
			return nil
		}
	}
	if c.large(recordSize(len(key), 8)) {
		return c.foldOwn(key, encodeInt(c.intBuf[:0], v))
	}
	if c.hopeless() {
		if ended, err := c.unfold(); err != nil {
			return c.fail(err)
		} else if ended {
			return c.AddInt(key, v)
		}
	}
	s, err := c.newSlot(key, 8)
	if errors.Is(err, errNoRoom) {
		return c.foldOwn(key, encodeInt(c.intBuf[:0], v))
	} else if err != nil {
		return c.fail(err)
	}
	s.acc = v
	t.count(len(key) + 8)
	return nil
}

// foldBytes folds a value into the table.
func (c *Collector) foldBytes(key, value []byte) error {
	t := c.table
	if t.fold.Op != OpBytes {
		v, ok := decodeInt(value)
		if !ok {
			return c.fail(notAnInt(key, value))
		}
		return c.foldInt(key, v)
	}
	if len(t.dir) > 0 && c.err == nil {
		if s, _ := t.lookup(key); s.hi != 0 {
			return c.growAcc(int(s.acc), key, value)
		}
	}
	if c.large(recordSize(len(key), len(value))) {
		return c.foldOwn(key, value)
	}
	if c.hopeless() {
		if ended, err := c.unfold(); err != nil {
			return c.fail(err)
		} else if ended {
			return c.Add(key, value)
		}
	}
	s, err := c.newSlot(key, len(value))
	if errors.Is(err, errNoRoom) {
		return c.foldOwn(key, value)
	} else if err != nil {
		return c.fail(err)
	}
	s.acc = int64(len(t.accs))
	t.accs = append(t.accs, t.keys.copyOf(value))
	t.heap += accBytes
	t.count(len(key) + len(value))
	return nil
}

// foldOwn writes a record that is too large for the table as a run of its own; merges fold it.
func (c *Collector) foldOwn(key, value []byte) error {
	if err := c.ready(len(key) + len(value)); err != nil {
		return err
	}
	return c.spillOne(key, value)
}

// accBytes is the overhead of an accumulator.
const accBytes = 64

// growAcc folds a value into an accumulator and reserves memory for its growth.
func (c *Collector) growAcc(i int, key, value []byte) error {
	t := c.table
	before := cap(t.accs[i])
	acc := t.fold.Bytes(t.accs[i], value)
	t.accs[i] = acc
	t.count(len(key) + len(value))
	if len(key)+len(acc) > c.cfg.MaxRecord {
		return c.fail(tooLarge(c.cfg.Name, len(key)+len(acc), c.cfg.MaxRecord))
	}
	if cap(acc) != before {
		t.heap += int64(cap(acc))
		return c.payHeap()
	}
	return nil
}

// payHeap reserves memory for accumulators on the heap. If there is none, it spills the table.
func (c *Collector) payHeap() error {
	t := c.table
	for t.heap > t.heapOK {
		n := max(int64(t.pool.blockSize), t.heap-t.heapOK)
		if !c.acct.reserveHeap(c.ctx, n) {
			if err := c.spillTable(); err != nil {
				return c.fail(err)
			}
			return nil
		}
		t.heapOK += n
	}
	return nil
}

// newSlot makes a slot for a key that the table does not have, and room for n bytes of accumulator, by splitting a
// table or spilling everything. It fails with errNoRoom if even an empty table has no room for them.
func (c *Collector) newSlot(key []byte, n int) (*slot, error) {
	if err := c.ready(len(key) + n); err != nil {
		return nil, err
	}
	t := c.table
	for {
		if !c.tableRoom(key, n) {
			if t.n == 0 {
				return nil, errNoRoom
			}
			if err := c.spillTable(); err != nil {
				return nil, err
			}
			continue
		}
		s, st := t.lookup(key)
		if st.n < st.max {
			t.claim(s, st, key)
			return s, nil
		}
		if !t.splittable(st) || !c.acct.reserve(c.ctx, 2*int64(t.pool.blockSize)) {
			if err := c.spillTable(); err != nil {
				return nil, err
			}
			continue
		}
		t.split(st)
	}
}

// tableRoom makes sure of a first table, and of room in the arena and for accumulators.
func (c *Collector) tableRoom(key []byte, n int) bool {
	t, block := c.table, int64(c.cfg.Pool.blockSize)
	if len(t.tables) == 0 {
		if !c.acct.reserve(c.ctx, (1+indexBlocks(1))*block) {
			return false
		}
		t.first()
	}
	size := 0
	if len(key) > inlineMax {
		size = recordSize(len(key), 0)
	}
	if t.fold.Op == OpBytes {
		size += n
		if need := t.heap + accBytes - t.heapOK; need > 0 {
			if !c.acct.reserveHeap(c.ctx, block) {
				return false
			}
			t.heapOK += block
		}
	}
	if size > len(t.keys.free) {
		if t.keys.full() || !c.reserveFor(size) {
			return false
		}
		t.keys.grow(size)
	}
	return true
}
