package shuffle

import "context"

// roomy is the least number of blocks that a segment must fill to be read into blocks. A smaller one would leave
// much of its last block empty.
const roomy = 8

// room is the memory of a segment. A large uncompressed one uses blocks of the pool, which need no clearing and no
// new pages. Others use the heap.
type room struct {
	acct     *account
	bytes    int64 // reserved in the account
	used     int64 // in blocks, and by frames larger than a block
	inBlocks bool
	blocks   [][]byte
}

// newRoom reserves memory for a segment, or false if there is none.
func newRoom(ctx context.Context, acct *account, i *PartitionInfo) (*room, bool) {
	size := int64(acct.pool.blockSize)
	if !i.plain() || i.StoredBytes < roomy*size {
		return &room{acct: acct, bytes: i.RawBytes}, acct.reserveHeap(ctx, i.RawBytes)
	}
	r := &room{acct: acct, bytes: (i.StoredBytes + size - 1) / size * size, inBlocks: true}
	return r, acct.reserve(ctx, r.bytes)
}

// next returns memory for a frame that does not fit in the current block.
func (r *room) next(size int) []byte {
	if !r.inBlocks {
		return make([]byte, size)
	}
	if block := r.acct.pool.blockSize; size > block {
		r.use(size)
		return make([]byte, size)
	}
	b := r.acct.pool.block()
	r.blocks = append(r.blocks, b)
	r.use(len(b))
	return b
}

// use counts memory. The unused ends of blocks were not reserved, so use charges them.
func (r *room) use(n int) {
	r.used += int64(n)
	if more := r.used - r.bytes; more > 0 {
		r.acct.force(more)
		r.bytes += more
	}
}

// free releases the memory. No record of the segment may be used afterwards.
func (r *room) free() {
	r.acct.pool.recycle(r.blocks...)
	r.acct.release(r.bytes)
	r.blocks, r.bytes = nil, 0
}
