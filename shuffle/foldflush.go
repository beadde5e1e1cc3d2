package shuffle

import (
	"encoding/binary"

	"github.com/millrace/millrace/internal/prefetch"
)

var _ keyed = (*foldTable)(nil)

// indexBlocks returns how many blocks of index and sort scratch n tables need. Each is at most 11/16 full of slots
// half as large again as an entry, so two entries for each slot fill less than a block.
func indexBlocks(n int) int64 { return int64(n) + 1 }

// list adds an entry for each key to x, whose memory was reserved with the tables.
func (t *foldTable) list(x *index, partition func(key, value []byte) (int, error), plain bool) error {
	var buf slotBuf
	for ti, st := range t.tables {
		for si := range st.slots {
			if st.slots[si].hi == 0 {
				continue
			}
			loc := uint32(ti)<<16 | uint32(si)
			key, value := t.pair(loc, &buf)
			p, err := partition(key, value)
			if err != nil {
				return err
			}
			e := entry{loc: loc, tag: makeTag(p, len(key))}
			if plain {
				e.prefix = prefixOf(key)
			}
			if x.full() {
				x.grow()
			}
			x.add(e)
		}
	}
	return nil
}

// slotBuf has room for a short key and an integer.
type slotBuf struct{ key, value [16]byte }

// pair returns the key and value of a slot: in place, or in a buffer that the next call overwrites.
func (t *foldTable) pair(loc uint32, buf *slotBuf) (key, value []byte) {
	s := &t.tables[loc>>16].slots[loc&0xffff]
	key = t.slotKey(s, buf.key[:0])
	if t.fold.Op == OpBytes {
		return key, t.accs[s.acc]
	}
	return key, encodeInt(buf.value[:0], s.acc)
}

// slotKey returns the key of a slot: in place, or appended to b.
func (t *foldTable) slotKey(s *slot, b []byte) []byte {
	if s.hi>>56 == longSlot {
		return t.keys.key(uint32(s.hi))
	}
	return unpackShort(s.lo, s.hi, b)
}

// unpackShort appends a packed key to b.
func unpackShort(lo, hi uint64, b []byte) []byte {
	n := len(b) + int(hi>>56) - 1
	b = binary.LittleEndian.AppendUint64(b, lo)
	b = binary.LittleEndian.AppendUint64(b, hi)
	return b[:n]
}

// prefetch starts loading a slot into the cache.
func (t *foldTable) prefetch(loc uint32) {
	prefetch.At(&t.tables[loc>>16].block[int(loc&0xffff)*slotBytes])
}

// key returns the key of a slot.
func (t *foldTable) key(loc uint32) []byte {
	return t.slotKey(&t.tables[loc>>16].slots[loc&0xffff], nil)
}

// recycle empties the table and returns how many bytes were reserved for it.
func (t *foldTable) recycle() int64 {
	n := t.keys.recycle() + t.heapOK
	if tables := len(t.tables); tables > 0 {
		n += (int64(tables) + indexBlocks(tables)) * int64(t.pool.blockSize)
	}
	for _, st := range t.tables {
		t.pool.recycle(st.block)
	}
	t.tables, t.dir = nil, nil
	t.accs, t.heap, t.heapOK = nil, 0, 0
	t.n, t.folded, t.bytes = 0, 0, 0
	return n
}
