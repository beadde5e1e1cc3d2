package shuffle

import (
	"strings"
	"testing"
)

// TestBudget: what the users of a budget get together is no more than the budget, and what cannot be kept is refused.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, total := range []int64{MinMemory, 64 << 20, 256 << 20, DefaultMemory, 64 << 30} {
		b, err := NewBudget(total, 0)
		if err != nil {
			t.Fatal(err)
		}
		if b.SortBytes() <= total/2 || b.SortBytes() >= b.Collector() || b.Collector() >= total {
			t.Errorf("%d bytes: %d for sorting, %d for the collector", total, b.SortBytes(), b.Collector())
		}
		if want := min(total/4, 1<<30); int64(b.MaxRecord()) != want {
			t.Errorf("%d bytes: records of %d, want %d", total, b.MaxRecord(), want)
		}
	}
	if b, err := NewBudget(0, 0); err != nil || b.Total() != DefaultMemory {
		t.Errorf("the default is %d, %v", b.Total(), err)
	}
	if b, err := NewBudget(MinMemory, 1<<20); err != nil || b.SortBytes() != 1<<20 || b.MaxRecord() != MinMemory/4 {
		t.Errorf("1 MiB for sorting: %d, records of %d, %v", b.SortBytes(), b.MaxRecord(), err)
	}
	if _, err := NewBudget(MinMemory-1, 0); err == nil || !strings.Contains(err.Error(), "at least 32 MiB") {
		t.Errorf("less than the minimum: %v", err)
	}
	if _, err := NewBudget(MinMemory, MinMemory); err == nil {
		t.Error("all of the budget for sorting was accepted")
	}
	if a, b := ShareOf(DefaultMemory, 4).Total(), ShareOf(DefaultMemory, 1000).Total(); a != 256<<20 || b != MinMemory {
		t.Errorf("one of 4 has %d, one of 1000 %d", a, b)
	}
}

// TestGiantsSetAside: once a giant has come, the others have a third less, until the pool is idle again.
func TestGiantsSetAside(t *testing.T) {
	t.Parallel()
	p := NewPool(3 << 20)
	a, err := p.join(t.Context(), 64<<10, true)
	if err != nil {
		t.Fatal(err)
	}
	done, err := p.Giant(t.Context(), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	done()
	if a.reserve(t.Context(), 2<<20+1) {
		t.Error("after a giant one user has more than two thirds")
	}
	if !a.reserve(t.Context(), 2<<20-64<<10) || p.InUse() > 2<<20 {
		t.Errorf("two thirds are not to be had; %d in use", p.InUse())
	}
	a.close()
	b := &account{pool: p}
	if !b.reserve(t.Context(), 3<<20) {
		t.Error("the idle pool has not got its third back")
	}
	b.close()
	if p.InUse() != 0 || p.fixed != 0 {
		t.Errorf("%d in use, %d fixed at the end", p.InUse(), p.fixed)
	}
}
