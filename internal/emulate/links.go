package emulate

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/millrace/millrace/topology"
)

// A slot is one link in the shared file.
type slot struct {
	name atomic.Uint64 // hash of its name; 0: free
	next atomic.Int64  // when the link will be free, in nanoseconds of the machine's clock
	pair               // if it is a circuit
	_    [8]byte
}

const (
	slots    = 4096
	slotSize = unsafe.Sizeof(slot{}) // a cache line
)

// Links is the state of all links, shared with all who have the same file open.
type Links struct {
	mu    sync.RWMutex // guards the fields below, and the memory that they show
	mem   []byte
	slots []slot
}

// Open maps the file and creates it if needed.
func Open(path string) (*Links, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("emulated links: %w", err)
	}
	return share(f)
}

// share maps an open file and closes it.
func share(f *os.File) (*Links, error) {
	defer f.Close()
	if err := f.Truncate(int64(slots * slotSize)); err != nil {
		return nil, fmt.Errorf("emulated links %s: %w", f.Name(), err)
	}
	mem, err := mapFile(f, int(slots*slotSize))
	if err != nil {
		return nil, fmt.Errorf("emulated links %s: %w", f.Name(), err)
	}
	return &Links{mem: mem, slots: unsafe.Slice((*slot)(unsafe.Pointer(&mem[0])), slots)}, nil
}

// Close unmaps the file. From then on transfers are not slowed down.
func (l *Links) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mem == nil {
		return nil
	}
	err := unmap(l.mem)
	l.mem, l.slots = nil, nil
	return err
}

var errFull = errors.New("too many emulated links")

// find returns the slot of a link. A new link gets a free slot.
func (l *Links) find(name string) (*slot, error) {
	h := xxh3.HashString(name) | 1
	for i := range uint64(slots) {
		s := &l.slots[(h+i)%slots]
		if got := s.name.Load(); got == h || got == 0 && (s.name.CompareAndSwap(0, h) || s.name.Load() == h) {
			return s, nil
		}
	}
	return nil, errFull
}

// burst is how far a link may catch up with its rate: what an idle link lets through at once.
const burst = 5 * time.Millisecond

// stale is further ahead than any link can be: a larger value is from before the machine was started.
const stale = time.Minute

// reserve reserves a link for n bytes and returns how long to wait until they have passed.
func (s *slot) reserve(now int64, n int, r topology.Rate) time.Duration {
	wait, _ := s.reserveWithin(now, n, r, 0, math.MaxInt64)
	return wait
}

// reserveWithin is reserve for a link that exists only from begin to end. It reserves nothing if the link is taken
// until end.
func (s *slot) reserveWithin(now int64, n int, r topology.Rate, begin, end int64) (wait time.Duration, ok bool) {
	takes := int64(r.Time(int64(n)))
	for {
		old := s.next.Load()
		from := max(old, now-int64(burst), begin)
		if old > now+int64(stale) {
			from = max(now, begin)
		}
		if from >= end {
			return time.Duration(end - now), false
		}
		if s.next.CompareAndSwap(old, from+takes) {
			return time.Duration(from + takes - now), true
		}
	}
}
