package shuffle

import (
	"math/bits"
	"unsafe"
)

// entry stands for one record while it is sorted.
type entry struct {
	prefix uint64 // of the key, see prefixOf; 0 with a Compare function
	loc    uint32 // where the record is
	tag    uint32 // partition<<8 | min(len(key), longKey)
}

const (
	entryBytes = int(unsafe.Sizeof(entry{}))
	longKey    = 255 // key length in a tag that means: see the record
)

func makeTag(partition, keyLen int) uint32 {
	return uint32(partition)<<8 | uint32(min(keyLen, longKey))
}

// index is a list of entries in pool blocks.
type index struct {
	pool   *Pool
	shift  uint // log2 of the entries in a block
	blocks [][]byte
	chunks [][]entry // the same memory
	n      int
}

func newIndex(p *Pool) index {
	return index{pool: p, shift: uint(bits.TrailingZeros(uint(p.blockSize / entryBytes)))}
}

// entriesOf returns a pool block as entries. Blocks are at least 4 KiB, for which the allocator aligns them more
// strictly than an entry needs, and hold no pointers.
func entriesOf(block []byte) []entry {
	return unsafe.Slice((*entry)(unsafe.Pointer(unsafe.SliceData(block))), len(block)/entryBytes)
}

// grow adds a block for which the caller holds a reservation.
func (x *index) grow() {
	b := x.pool.block()
	x.blocks = append(x.blocks, b)
	x.chunks = append(x.chunks, entriesOf(b))
}

// full reports whether the next add needs a grow.
func (x *index) full() bool { return x.n == len(x.chunks)<<x.shift }

// add appends an entry, for which there is room.
func (x *index) add(e entry) {
	x.chunks[x.n>>x.shift][x.n&(1<<x.shift-1)] = e
	x.n++
}

// at returns entry i.
func (x *index) at(i int) *entry {
	return &x.chunks[i>>x.shift][i&(1<<x.shift-1)]
}

// sameChunk reports whether [lo,hi) lies in one chunk.
func (x *index) sameChunk(lo, hi int) bool { return lo>>x.shift == (hi-1)>>x.shift }

// slice returns [lo,hi), which must lie in one chunk.
func (x *index) slice(lo, hi int) []entry {
	base := lo &^ (1<<x.shift - 1)
	return x.chunks[lo>>x.shift][lo-base : hi-base]
}

// recycle returns the blocks to the pool, and how many bytes were reserved for them.
func (x *index) recycle() int64 {
	n := int64(len(x.blocks)) * int64(x.pool.blockSize)
	x.pool.recycle(x.blocks...)
	x.blocks, x.chunks, x.n = nil, nil, 0
	return n
}
