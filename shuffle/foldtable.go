package shuffle

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// slot is one key of a fold table. A key of up to inlineMax bytes is in the slot itself: lo has its first eight
// bytes, hi the others and, in the top byte, the length plus one. For a longer key lo is the hash, and hi its
// location below the top byte longSlot. A slot with hi 0 is empty.
type slot struct {
	lo, hi uint64
	acc    int64 // the folded integer, or the number of the accumulator
}

const (
	slotBytes = int(unsafe.Sizeof(slot{}))
	inlineMax = 15
	longSlot  = 0xff
	maxDepth  = 20 // of the directory, in bits
	maxTables = 1 << 16
)

// subTable is one pool block of slots, with linear probing.
type subTable struct {
	slots []slot
	block []byte
	n     int
	max   int  // entries before it is split
	depth uint // bits of the hash that all its keys share
}

// foldTable is an extendible hash table: a directory, indexed by the top bits of the hash, of tables of one block
// each. It grows by splitting one block in two, so it never needs memory for a second copy of itself.
type foldTable struct {
	pool   *Pool
	fold   *Fold
	dir    []*subTable
	shift  uint // 64 - log2(len(dir)); the directory has two places at least
	tables []*subTable
	keys   arena    // long keys, and the first form of accumulators
	accs   [][]byte // of OpBytes
	heap   int64    // bytes of accumulators on the heap
	heapOK int64    // bytes reserved for them
	n      int
	folded int64 // records taken since the last recycle
	bytes  int64 // of their keys and values

	waiting [foldAhead]waitingFold // a ring; those with hi 0 are empty
	turn    uint
}

// foldAhead is how many short keys wait while their slots are prefetched; four to 32 work equally well.
const foldAhead = 8

// waitingFold is a packed key and the integer to be folded into its slot.
type waitingFold struct {
	lo, hi, hash uint64
	v            int64
}

func newFoldTable(p *Pool, f *Fold) *foldTable {
	return &foldTable{pool: p, fold: f, keys: newArena(p)}
}

// slotsOf returns a pool block as slots, see entriesOf.
func slotsOf(block []byte) []slot {
	return unsafe.Slice((*slot)(unsafe.Pointer(unsafe.SliceData(block))), len(block)/slotBytes)
}

func newSubTable(block []byte, depth uint) *subTable {
	clear(block)
	slots := slotsOf(block)
	return &subTable{slots: slots, block: block, max: len(slots) * 11 / 16, depth: depth}
}

// shortKey packs a key of up to inlineMax bytes.
func shortKey(key []byte) (lo, hi uint64) {
	n := len(key)
	le := binary.LittleEndian
	switch {
	case n >= 8:
		return le.Uint64(key), le.Uint64(key[n-8:])>>(8*(16-n)) | uint64(n+1)<<56
	case n >= 4:
		lo = uint64(le.Uint32(key)) | uint64(le.Uint32(key[n-4:]))<<(8*(n-4))
	case n > 0:
		lo = uint64(key[0]) | uint64(key[n/2])<<(8*(n/2)) | uint64(key[n-1])<<(8*(n-1))
	}
	return lo, uint64(n+1) << 56
}

// shortHash hashes a packed key: it combines the two halves of one 128-bit product.
func shortHash(lo, hi uint64) uint64 {
	h, l := bits.Mul64(lo^0x9e3779b97f4a7c15, hi^0xd1b54a32d192ed03)
	return (h ^ l) * 0x9fb21c651e98df25
}

// place returns where in n slots probing for a hash begins.
func place(hash uint64, n int) int { return int(uint64(uint32(hash)) * uint64(n) >> 32) }

// count counts a folded record of n bytes.
func (t *foldTable) count(n int) {
	t.folded++
	t.bytes += int64(n)
}

// find returns the slot of a packed key, or the empty one where it belongs.
func (st *subTable) find(lo, hi, hash uint64) *slot {
	i := place(hash, len(st.slots))
	for {
		s := &st.slots[i]
		if s.lo == lo && s.hi == hi || s.hi == 0 {
			return s
		}
		if i++; i == len(st.slots) {
			i = 0
		}
	}
}

// findLong is find for a key that is not packed.
func (t *foldTable) findLong(st *subTable, key []byte, hash uint64) *slot {
	i := place(hash, len(st.slots))
	for {
		s := &st.slots[i]
		if s.hi == 0 || s.lo == hash && s.hi>>56 == longSlot && bytes.Equal(t.keys.key(uint32(s.hi)), key) {
			return s
		}
		if i++; i == len(st.slots) {
			i = 0
		}
	}
}

// lookup finds the slot of a key, or the empty one where it belongs, and its
// table. There is at least one table.
func (t *foldTable) lookup(key []byte) (*slot, *subTable) {
	if len(key) <= inlineMax {
		lo, hi := shortKey(key)
		h := shortHash(lo, hi)
		st := t.dir[h>>(t.shift&63)]
		return st.find(lo, hi, h), st
	}
	h := xxh3.Hash(key)
	st := t.dir[h>>(t.shift&63)]
	return t.findLong(st, key, h), st
}

// claim puts a key in its empty slot. A long key has room in the arena.
func (t *foldTable) claim(s *slot, st *subTable, key []byte) {
	if len(key) <= inlineMax {
		s.lo, s.hi = shortKey(key)
	} else {
		s.lo, s.hi = xxh3.Hash(key), longSlot<<56|uint64(t.keys.put(key, nil))
	}
	st.n++
	t.n++
}

// hash returns the hash of the key in a slot.
func (s *slot) hash() uint64 {
	if s.hi>>56 == longSlot {
		return s.lo
	}
	return shortHash(s.lo, s.hi)
}

// first makes the first table.
func (t *foldTable) first() {
	st := newSubTable(t.pool.block(), 0)
	t.tables = append(t.tables, st)
	t.dir = []*subTable{st, st}
	t.shift = 63
}

// splittable reports whether a table may be split. It may not if its keys share so many bits of hash that splitting
// would not end, or if slot locations have no more numbers for tables.
func (t *foldTable) splittable(st *subTable) bool {
	return st.depth < maxDepth && len(t.tables) < maxTables
}

// split divides the keys of a table between it and a new one by one more bit
// of their hashes.
func (t *foldTable) split(st *subTable) {
	if 64-t.shift == st.depth {
		t.double()
	}
	old := *st
	*st = *newSubTable(t.pool.block(), old.depth+1)
	other := newSubTable(t.pool.block(), old.depth+1)
	t.tables = append(t.tables, other)
	bit := uint64(1) << (63 - old.depth)
	for i := range old.slots {
		s := &old.slots[i]
		if s.hi == 0 {
			continue
		}
		h, to := s.hash(), st
		if h&bit != 0 {
			to = other
		}
		*to.vacant(h) = *s
		to.n++
	}
	t.pool.recycle(old.block)
	t.redirect(st, other)
}

// vacant returns the empty slot where a hash belongs.
func (st *subTable) vacant(hash uint64) *slot {
	i := place(hash, len(st.slots))
	for st.slots[i].hi != 0 {
		if i++; i == len(st.slots) {
			i = 0
		}
	}
	return &st.slots[i]
}

// double gives the directory one more bit.
func (t *foldTable) double() {
	dir := make([]*subTable, 2*len(t.dir))
	for i, st := range t.dir {
		dir[2*i], dir[2*i+1] = st, st
	}
	t.dir = dir
	t.shift--
}

// redirect points the upper half of st's places in the directory to other.
func (t *foldTable) redirect(st, other *subTable) {
	lo, n := 0, 0
	for i, x := range t.dir {
		if x == st {
			if n == 0 {
				lo = i
			}
			n++
		}
	}
	for i := lo + n/2; i < lo+n; i++ {
		t.dir[i] = other
	}
}
