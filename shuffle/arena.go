package shuffle

import (
	"math/bits"

	"github.com/millrace/millrace/internal/prefetch"
)

var _ keyed = (*arena)(nil)

// arena holds records in pool blocks. A record never crosses blocks; one that is larger than a block gets a block of
// its own. A location is a block number and an offset in 32 bits, so an arena ends at 4 GiB.
type arena struct {
	pool   *Pool
	shift  uint     // log2 of the block size
	blocks [][]byte // pool blocks and oversized ones
	free   []byte   // rest of the last block
	bytes  int64    // reserved for the blocks
}

func newArena(p *Pool) arena {
	return arena{pool: p, shift: uint(bits.TrailingZeros(uint(p.blockSize)))}
}

// full reports whether locations have run out.
func (a *arena) full() bool { return len(a.blocks) >= 1<<(32-a.shift)-1 }

// grow adds a block for which the caller holds a reservation. Blocks above
// the pool's size come from the heap.
func (a *arena) grow(size int) {
	if size <= a.pool.blockSize {
		b := a.pool.block()
		a.blocks = append(a.blocks, b)
		a.free = b
		a.bytes += int64(a.pool.blockSize)
		return
	}
	b := make([]byte, size)
	a.blocks = append(a.blocks, b)
	a.free = b
	a.bytes += int64(size)
}

// put stores a record in the rest of the last block, where the caller has made sure of room, and returns its
// location.
func (a *arena) put(key, value []byte) uint32 {
	loc := a.next()
	a.free = a.free[putRecord(a.free, key, value):]
	return loc
}

// next returns the location that the next record will have.
func (a *arena) next() uint32 {
	last := len(a.blocks) - 1
	return uint32(last)<<a.shift + uint32(len(a.blocks[last])-len(a.free))
}

// at returns the memory from a location to the end of its block.
func (a *arena) at(loc uint32) []byte {
	return a.blocks[loc>>a.shift][loc&(1<<a.shift-1):]
}

// key returns the key of the record at a location.
func (a *arena) key(loc uint32) []byte {
	b := a.at(loc)
	k, _, h, _ := parseHeader(b)
	return b[h : h+k : h+k]
}

// prefetch starts loading the record at a location into the cache.
func (a *arena) prefetch(loc uint32) { prefetch.At(&a.at(loc)[0]) }

// lookahead is how many records are prefetched before the first of them is read.
const lookahead = 16

// lookup finds the records of entries [i,i+len(recs)): each result begins with the record.
func (a *arena) lookup(x *index, i int, recs [][]byte) {
	for j := range recs {
		b := a.at(x.at(i + j).loc)
		recs[j] = b
		prefetch.At(&b[0])
	}
}

// recordAt returns the stored record at the start of b.
func recordAt(b []byte) []byte {
	k, v, h, _ := parseHeader(b)
	return b[:h+k+v]
}

// recycle returns the blocks to the pool, and how many bytes were reserved for them.
func (a *arena) recycle() int64 {
	n := a.bytes
	a.pool.recycle(a.blocks...)
	a.blocks, a.free, a.bytes = nil, nil, 0
	return n
}

// copyOf stores bytes that are not a record, in room that the caller has made sure of.
func (a *arena) copyOf(b []byte) []byte {
	n := copy(a.free, b)
	c := a.free[:n:n]
	a.free = a.free[n:]
	return c
}
