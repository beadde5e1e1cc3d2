package shuffle

import (
	"context"
	"fmt"
	"math/bits"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/millrace/millrace/internal/pages"
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

	// spare holds *frameBuffers of finished collectors. Small maps would otherwise spend a tenth of their time
	// clearing new ones.
	spare sync.Pool

	giants     *semaphore.Weighted // see Giant; both are set before the pool is used
	giantBytes int64               // of the semaphore

	mu        sync.Mutex    // guards the fields below, and floor and held of all accounts; never held during I/O or a wait
	used      int64         // Invariant: aside and the sum over accounts of max(held, floor) <= limit, unless forced
	aside     int64         // part of used that is kept free for giants, once one has come; 0 when the pool is idle
	entered   int           // giants that are in memory
	free      [][]byte      // recycled blocks
	cold      [][]byte      // blocks without memory behind them
	growing   []*account    // accounts of collectors, which share what is left
	fixed     int64         // part of used in accounts that do not grow
	kept      []*Output     // outputs that may be moved to disk
	keptBytes int64         // their memory
	evicting  int           // outputs being moved to disk
	changed   chan struct{} // closed and replaced whenever memory comes back
}

// NewPool returns a pool with a budget in bytes, at least 256 KiB. Larger: fewer spills, fewer merge passes.
func NewPool(budget int64) *Pool {
	budget = max(budget, minBudget)
	size := 1 << (bits.Len64(uint64(budget/blocksBudget)) - 1)
	size = min(max(size, minBlock), maxBlock)
	p := &Pool{blockSize: size, limit: budget, changed: make(chan struct{})}
	p.setGiants(budget / giantShare)
	return p
}

// giantShare is the part of the budget that is set aside when the first record comes that must be in memory as a
// whole.
const giantShare = 3

// setGiants sets how many bytes of giants may be in memory at once. Nothing else may use the pool yet.
func (p *Pool) setGiants(n int64) { p.giants, p.giantBytes = semaphore.NewWeighted(n), n }

// Giant waits until a record of n bytes may be in memory as a whole beside others of its kind: a third of the budget
// in all, or one. The caller must have none, and wait for nothing else while it has this one. done releases it.
func (p *Pool) Giant(ctx context.Context, n int64) (done func(), err error) {
	n = min(n, p.giantBytes)
	if err := p.giants.Acquire(ctx, n); err != nil {
		return nil, context.Cause(ctx)
	}
	p.setAside()
	return func() {
		p.giants.Release(n)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.entered--
		p.settle()
	}, nil
}

// setAside takes the room for giants from the other users. Kept output goes to disk for it; collectors find no more
// room and spill.
func (p *Pool) setAside() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.entered++
	if p.aside > 0 {
		return
	}
	p.aside = min(p.giantBytes, p.limit/giantShare)
	p.used += p.aside
	p.fixed += p.aside
	for p.used > p.limit {
		if had, err := p.evictLocked(); !had || err != nil {
			break // the rest comes back as its users end
		}
	}
	p.trimLocked()
}

// settle returns the room for giants to the others once the pool is idle. p.mu must be held.
func (p *Pool) settle() {
	if p.aside > 0 && p.entered == 0 && p.used == p.aside {
		p.used, p.fixed, p.aside = 0, p.fixed-p.aside, 0
		p.signal()
	}
}

// Budget returns the bound in bytes.
func (p *Pool) Budget() int64 { return p.limit }

// InUse returns the number of bytes reserved now, by anybody. What is set aside for giants does not count.
func (p *Pool) InUse() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used - p.aside
}

// frameSize returns the size of a segment frame written under this budget.
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

// trim returns the memory of idle blocks to the system, as much as others hold outside blocks.
func (p *Pool) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trimLocked()
}

// trimLocked is trim for callers that hold p.mu.
func (p *Pool) trimLocked() {
	idle := int(max(0, p.limit-p.used) / int64(p.blockSize))
	for n := len(p.free); n > idle; n = len(p.free) {
		b := p.free[n-1]
		p.free[n-1] = nil
		p.free = p.free[:n-1]
		if pages.Return(b) {
			p.cold = append(p.cold, b)
		}
	}
}

// signal wakes all that wait for memory. p.mu must be held.
func (p *Pool) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// join opens an account with a floor that it keeps until it closes. It waits until the floor is available. Growing
// accounts share the rest of the pool.
func (p *Pool) join(ctx context.Context, floor int64, growing bool) (*account, error) {
	if most := p.limit - p.limit/giantShare; floor > most {
		return nil, fmt.Errorf("%d bytes are needed, the memory budget is %d", floor, most)
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

// waitLocked waits until memory may have been released. p.mu is held, but released meanwhile.
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

// charge adds n bytes, which may be negative, to what is used. p.mu must be held.
func (p *Pool) charge(a *account, n int64) {
	p.used += n
	if !a.growing {
		p.fixed += n
	}
	if n < 0 {
		p.signal()
		p.settle()
	}
}
