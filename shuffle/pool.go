package shuffle

import (
	"context"
	"fmt"
	"math/bits"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	minBudget    = 256 << 10
	minBlock     = 4 << 10
	maxBlock     = 1 << 20
	blocksBudget = 64 // blocks in a small budget; large ones have more, of maxBlock
	framesBlock  = 4  // segment frames in a block
)

// Pool shares one memory budget among all collectors, kept outputs, mergers
// and intakes of a process. Its memory is cut into blocks of one size, which are
// recycled. All methods may be called concurrently.
type Pool struct {
	blockSize int // bytes, a power of two
	limit     int64

	// spillMu serialises moving kept outputs to disk and guards spillBuf.
	// Lock order: spillMu, Output.mu, Pool.mu.
	spillMu  sync.Mutex
	spillBuf *frameBuffers

	// spare holds *frameBuffers of collectors that are done. Small maps would spend a tenth of
	// their time clearing new ones.
	spare sync.Pool

	giants *semaphore.Weighted // see Giant

	mu        sync.Mutex
	used      int64         // Invariant: sum over accounts of max(held, floor) <= limit, but for forced jumbo records
	free      [][]byte      // recycled blocks
	cold      [][]byte      // blocks without memory behind them
	growing   []*account    // accounts of collectors, which share what is left
	fixed     int64         // part of used in accounts that do not grow
	kept      []*Output     // outputs that may be moved to disk
	keptBytes int64         // their memory
	evicting  int           // outputs on their way to disk
	changed   chan struct{} // closed and replaced whenever memory comes back
}

// NewPool returns a pool with a budget in bytes. Budgets under 256 KiB
// are raised to that. Larger: fewer spills, fewer merge passes.
func NewPool(budget int64) *Pool {
	budget = max(budget, minBudget)
	size := 1 << (bits.Len64(uint64(budget/blocksBudget)) - 1)
	size = min(max(size, minBlock), maxBlock)
	return &Pool{blockSize: size, limit: budget, changed: make(chan struct{}), giants: semaphore.NewWeighted(budget / giantShare)}
}

// giantShare is the part of the budget that records have which are in memory as a whole, beside it.
const giantShare = 2

// Giant waits until a record of n bytes may be in memory as a whole beside others of its kind: half the budget of them, or one. The
// caller has none, and waits for nothing else while it has this one; done gives the room back.
func (p *Pool) Giant(ctx context.Context, n int64) (done func(), err error) {
	n = min(n, p.limit/giantShare)
	if err := p.giants.Acquire(ctx, n); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { p.giants.Release(n) }, nil
}

// Budget is the bound in bytes.
func (p *Pool) Budget() int64 { return p.limit }

// InUse is the number of bytes reserved now, by anybody.
func (p *Pool) InUse() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// frameSize is the size of a segment frame written under this budget.
func (p *Pool) frameSize() int { return p.blockSize / framesBlock }

// block returns a block of unspecified content. The caller has reserved it.
func (p *Pool) block() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		p.free, p.cold = p.cold, nil
	}
	if len(p.free) == 0 {
		p.free = newBlocks(p.blockSize, p.limit)
	}
	n := len(p.free) - 1
	b := p.free[n]
	p.free[n] = nil
	p.free = p.free[:n]
	return b
}

// recycle takes blocks back. Call it before the reservation is released.
func (p *Pool) recycle(blocks ...[]byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range blocks {
		if len(b) == p.blockSize {
			p.free = append(p.free, b)
		}
	}
}

// trim gives the memory of idle blocks back to the system, for as much as others hold
// outside blocks.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := int(max(0, p.limit-p.used) / int64(p.blockSize))
	for n := len(p.free); n > idle; n = len(p.free) {
		b := p.free[n-1]
		p.free[n-1] = nil
		p.free = p.free[:n-1]
		if returnMemory(b) {
			p.cold = append(p.cold, b)
		}
	}
}

// signal wakes all who wait for memory. p.mu is held.
func (p *Pool) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// join opens an account with a floor that is its own until it leaves. It waits
// until the floor can be had. Growing accounts share the rest of the pool.
func (p *Pool) join(ctx context.Context, floor int64, growing bool) (*account, error) {
	if floor > p.limit {
		return nil, fmt.Errorf("need %d bytes of a memory budget of %d", floor, p.limit)
	}
	a := &account{pool: p, floor: floor, growing: growing}
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.used+floor > p.limit {
		had, err := p.evictLocked()
		if err != nil {
			return nil, fmt.Errorf("make room in memory: %w", err)
		}
		if had {
			continue
		}
		if err := p.waitLocked(ctx); err != nil {
			return nil, fmt.Errorf("wait for %d bytes of memory: %w", floor, err)
		}
	}
	p.charge(a, floor)
	if growing {
		p.growing = append(p.growing, a)
	}
	return a, nil
}

// tryJoin is join for an account that does not grow, without waiting: it fails with errNoRoom.
func (p *Pool) tryJoin(ctx context.Context, floor int64) (*account, error) {
	a := &account{pool: p}
	if !a.reserve(ctx, floor) {
		return nil, errNoRoom
	}
	return a, nil
}

// waitLocked waits, with p.mu released, until memory may have come back.
func (p *Pool) waitLocked(ctx context.Context) error {
	ch := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-ch:
		return nil
	}
}

// charge adds n bytes, which may be negative, to the books. p.mu is held.
func (p *Pool) charge(a *account, n int64) {
	p.used += n
	if !a.growing {
		p.fixed += n
	}
	if n < 0 {
		p.signal()
	}
}
