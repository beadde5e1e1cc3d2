package shuffle

import "fmt"

// Bounds of a [Budget].
const (
	// DefaultMemory is what the processes of one machine share unless configured otherwise. Ours: a quarter of a
	// small laptop.
	DefaultMemory = 1 << 30
	// MinMemory is the smallest budget that can be kept. Below it, the runtime, read buffers and one record for each
	// of two attempts exceed the budget.
	MinMemory = 32 << 20
)

const (
	recordShare  = 4        // a record may have this part of the budget
	buffersShare = 4        // and so may buffers and the runtime,
	leastBuffers = 12 << 20 // but at least this: two attempts of streaming with a combiner need 8 MiB,
	mostBuffers  = 48 << 20 // and at most this
	slackShare   = 16       // for what the collector does not count,
	mostSlack    = 16 << 20 // but at most this
)

// A Budget is the memory of a process, in bytes, divided among its users. A process allocates less than 1.15 times
// its budget. The pages of the program itself, which the system can drop, come on top, as does what user code
// allocates.
type Budget struct {
	total, sort int64
}

// NewBudget divides total bytes; 0 means [DefaultMemory]. sort, if not 0, limits the part for sorting, kept output
// and merging, so that jobs spill sooner than they must.
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

// ShareOf returns the budget of one of n processes that share total bytes, but at least the minimum.
func ShareOf(total int64, n int) Budget {
	return Budget{total: max(total/int64(max(n, 1)), MinMemory)}
}

// Total returns the whole budget.
func (b Budget) Total() int64 { return b.total }

// MaxRecord returns the size of the largest record.
func (b Budget) MaxRecord() int { return int(min(b.total/recordShare, maxRecordLimit)) }

// Collector returns the memory limit for the garbage collector.
func (b Budget) Collector() int64 { return b.total - min(b.total/slackShare, mostSlack) }

// SortBytes returns what sorting, kept output and merging share.
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
