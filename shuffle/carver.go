package shuffle

import "github.com/millrace/millrace/internal/pages"

// carver cuts read buffers out of pool blocks. Its owner has reserved the memory, except for oversized frames, which
// are charged as they come and go. A carver without an account, for streams opened outside a merge, uses the heap.
type carver struct {
	acct     *account
	reserved int64 // by the owner, for buffers
	carved   int64 // handed out
	blocks   [][]byte
	free     []byte
}

// get returns a buffer of n bytes.
func (c *carver) get(n int) []byte {
	if c.acct == nil {
		return make([]byte, n)
	}
	c.pay(int64(n))
	if n > c.acct.pool.blockSize {
		return make([]byte, n)
	}
	if len(c.free) < n {
		c.free = c.acct.pool.block()
		c.blocks = append(c.blocks, c.free)
	}
	b := c.free[:n:n]
	c.free = c.free[n:]
	return b
}

// pay charges memory that the owner did not reserve: a source that was in memory when the merge was planned may have
// moved to disk since.
func (c *carver) pay(n int64) {
	c.carved += n
	if more := c.carved - c.reserved; more > 0 {
		c.acct.force(more)
		c.reserved += more
	}
}

func (c *carver) oversized(n int) []byte {
	if c.acct != nil {
		c.acct.force(int64(n))
	}
	return make([]byte, n)
}

func (c *carver) dropOversized(b []byte) {
	pages.Drop(b) // now, before the garbage collector lets several accumulate
	if c.acct != nil {
		c.acct.release(int64(len(b)))
	}
}

// recycle returns the blocks to the pool. No buffer may be used afterwards.
func (c *carver) recycle() {
	if c.acct != nil {
		c.acct.pool.recycle(c.blocks...)
	}
	c.blocks, c.free, c.carved = nil, nil, 0
}
