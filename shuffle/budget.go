package shuffle

import "fmt"

// Bounds of a [Budget].
const (
	// DefaultMemory is what the processes of one machine share if nobody says otherwise. Ours: a quarter of a small laptop.
	DefaultMemory = 1 << 30
	// MinMemory is the least budget that is kept: below, the runtime, read buffers and one record to each of two attempts
	// are more than the budget.
	MinMemory = 32 << 20
)

const (
	recordShare  = 4        // one record is this part of the budget, at most
	buffersShare = 4        // as are read and write buffers and the runtime,
	leastBuffers = 12 << 20 // but no less than this: two attempts of streaming with a combiner have 8 MiB of them,
	mostBuffers  = 48 << 20 // and no more than this
	slackShare   = 16       // what a process has beside the memory that the collector counts,
	mostSlack    = 16 << 20 // but no more than this
)

// A Budget is the memory of a process, in bytes, and says what each of its users gets. What a process allocates stays below 1.15 times the
// budget; the pages of the program itself, which the system can drop, come on top. What user code allocates is its own affair.
type Budget struct {
	total, sort int64
}

// NewBudget divides total bytes. 0 means [DefaultMemory]. sort, if not 0, is all that sorting, kept output and merging get of it: jobs
// then spill sooner than they must.
func NewBudget(total, sort int64) (Budget, error) {
	if total == 0 {
		total = DefaultMemory
	}
	b := Budget{total: total, sort: sort}
	switch {
	case total < MinMemory:
		return b, fmt.Errorf("is %d bytes, must be at least %d MiB", total, MinMemory>>20)
	case sort < 0 || sort > b.rest():
		return b, fmt.Errorf("leaves %d bytes for sorting, less than the %d asked for", b.rest(), sort)
	}
	return b, nil
}

// ShareOf is the budget of one of n processes that share total bytes, and at least the minimum.
func ShareOf(total int64, n int) Budget {
	return Budget{total: max(total/int64(max(n, 1)), MinMemory)}
}

// Total is the whole budget.
func (b Budget) Total() int64 { return b.total }

// MaxRecord is the largest record, key and value together.
func (b Budget) MaxRecord() int { return int(min(b.total/recordShare, maxRecordLimit)) }

// Collector is what the garbage collector is told to stay below.
func (b Budget) Collector() int64 { return b.total - min(b.total/slackShare, mostSlack) }

// SortBytes is what sorting, kept output and merging share.
func (b Budget) SortBytes() int64 {
	if b.sort > 0 {
		return b.sort
	}
	return b.rest()
}

func (b Budget) rest() int64 {
	return b.total - min(max(b.total/buffersShare, leastBuffers), mostBuffers)
}

// Pool makes the pool of a process with this budget.
func (b Budget) Pool() *Pool {
	p := NewPool(b.SortBytes())
	p.setGiants(int64(b.MaxRecord()))
	return p
}
