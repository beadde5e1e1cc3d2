package shuffle

import "context"

// roomy is how many blocks a segment fills, at least, that is read into blocks: smaller ones would leave much of their last one empty.
const roomy = 8

// room is the memory of a segment. That of a large one which is not compressed is blocks of the pool: they have been used before, so that
// nobody clears them or finds pages for them. That of others is on the heap.
type room struct {
	acct     *account
	bytes    int64 // reserved in the account
	used     int64 // in blocks, and of frames that are larger
	inBlocks bool
	blocks   [][]byte
}

// newRoom reserves memory for a segment; false if there is none.
func newRoom(ctx context.Context, acct *account, i *PartitionInfo) (*room, bool) {
	size := int64(acct.pool.blockSize)
	if !i.plain() || i.StoredBytes < roomy*size {
		return &room{acct: acct, bytes: i.RawBytes}, acct.reserveHeap(ctx, i.RawBytes)
	}
	r := &room{acct: acct, bytes: (i.StoredBytes + size - 1) / size * size, inBlocks: true}
	return r, acct.reserve(ctx, r.bytes)
}

// next is where a frame goes for which what is left of the memory does not do.
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

// use counts memory. What the ends of blocks cost, in which no frame had room, was not reserved.
func (r *room) use(n int) {
	r.used += int64(n)
	if more := r.used - r.bytes; more > 0 {
		r.acct.force(more)
		r.bytes += more
	}
}

// free gives the memory back; nobody may use a record of the segment any more.
func (r *room) free() {
	r.acct.pool.recycle(r.blocks...)
	r.acct.release(r.bytes)
	r.blocks, r.bytes = nil, 0
}
