package shuffle

import (
	"context"
	"slices"
)

// account is one user's share of a Pool. Its methods may be called concurrently, for example by a collector and its
// background spill, except close and transfer, which must come last.
type account struct {
	pool    *Pool
	growing bool

	// Guarded by pool.mu.
	floor int64 // guaranteed; 0 once closed
	held  int64 // reserved now; counts where it exceeds floor
}

// reserve takes n more bytes if that needs no other user to give up memory. To make room, it moves kept outputs to
// disk.
func (a *account) reserve(ctx context.Context, n int64) bool {
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.fits(a, n) {
		had, err := p.evictLocked()
		if err != nil {
			return false
		}
		if had {
			continue
		}
		if p.evicting == 0 || p.waitLocked(ctx) != nil {
			return false
		}
	}
	p.move(a, n)
	return true
}

// reserveHeap is reserve for memory that is not in blocks.
func (a *account) reserveHeap(ctx context.Context, n int64) bool {
	if !a.reserve(ctx, n) {
		return false
	}
	a.pool.trim()
	return true
}

// force takes n bytes even beyond the budget: for a single record that is larger than everything else.
func (a *account) force(n int64) {
	a.pool.mu.Lock()
	a.pool.move(a, n)
	a.pool.mu.Unlock()
	a.pool.trim()
}

// release gives n bytes back.
func (a *account) release(n int64) {
	a.pool.mu.Lock()
	defer a.pool.mu.Unlock()
	a.pool.move(a, -n)
}

// close releases everything.
func (a *account) close() {
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	p.charge(a, -max(a.held, a.floor))
	a.held, a.floor = 0, 0
	p.growing = slices.DeleteFunc(p.growing, func(b *account) bool { return a == b })
}

// transfer moves n held bytes to a new account, which has no floor and does not grow. The old account gives up its
// floor, since it is about to close.
func (a *account) transfer(n int64) *account {
	p := a.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &account{pool: p}
	before := max(a.held, a.floor)
	a.held -= n
	a.floor = 0
	p.charge(a, a.held-before)
	p.charge(b, n)
	b.held = n
	return b
}

// move changes what a holds by n. p.mu must be held.
func (p *Pool) move(a *account, n int64) {
	before := max(a.held, a.floor)
	a.held += n
	if d := max(a.held, a.floor) - before; d != 0 {
		p.charge(a, d)
	}
}

// fits reports whether a may take n more bytes: always within its floor, within its fair share if the memory is
// there, and beyond its share only while all others could still reach theirs. p.mu must be held.
func (p *Pool) fits(a *account, n int64) bool {
	grow := max(a.held+n, a.floor) - max(a.held, a.floor)
	if grow <= 0 {
		return true
	}
	if p.used+grow > p.limit {
		return false
	}
	if !a.growing || len(p.growing) < 2 {
		return true
	}
	share := (p.limit - p.fixed + p.keptBytes) / int64(len(p.growing))
	if a.held+n <= share {
		return true
	}
	unmet := int64(0)
	for _, o := range p.growing {
		if o != a {
			unmet += max(0, share-max(o.held, o.floor))
		}
	}
	return p.used-p.keptBytes+grow+unmet <= p.limit
}

// evictLocked moves to disk the largest kept output that nobody reads. p.mu is held, but released meanwhile. It
// reports whether there was one. One that cannot be moved stays kept.
func (p *Pool) evictLocked() (bool, error) {
	var victim *Output
	for _, o := range p.kept {
		if o.readers.Load() == 0 && (victim == nil || o.memBytes > victim.memBytes) {
			victim = o
		}
	}
	if victim == nil {
		return false, nil
	}
	p.dropKept(victim)
	p.evicting++
	p.mu.Unlock()
	err := victim.SpillToDisk()
	p.mu.Lock()
	p.evicting--
	if err != nil && victim.inMemory.Load() {
		p.addKept(victim)
	}
	p.signal()
	return true, err
}

// addKept adds an output to those that may be moved to disk. p.mu must be held.
func (p *Pool) addKept(o *Output) {
	p.kept = append(p.kept, o)
	p.keptBytes += o.memBytes
}

// dropKept removes an output from that list. p.mu must be held.
func (p *Pool) dropKept(o *Output) {
	if i := slices.Index(p.kept, o); i >= 0 {
		p.kept = slices.Delete(p.kept, i, i+1)
		p.keptBytes -= o.memBytes
	}
}
