package attempt

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// A fetcher fetches a reduce's share of all maps as their outputs appear.
type fetcher struct {
	r      *runner
	maps   int
	intake *shuffle.Intake
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
	waited time.Duration // for the input; known once it is merged

	mu    sync.Mutex // guards the fields below
	poke  sync.Cond
	hosts map[string]*host // by address
	want  map[int32]wire.MapOutput
	have  map[int32]wire.MapOutput // what has been fetched
	claim map[int32]*host          // the host that is sending a map's output
	fails map[int32]failures
	got   map[string]int64 // stored bytes by counter of their place
	raw   int64
	slots int                // fetches that may be started
	pace  map[string]float64 // bytes a second from other nodes, by address
	slow  map[int32]uint64   // attempts reported as slow
}

var _ task.Intake = (*fetcher)(nil)

// A host is one worker that has output.
type host struct {
	addr    string
	node    wire.NodeName
	busy    bool
	giveUp  context.CancelFunc // while busy: ends the fetch
	until   time.Time          // end of its penalty
	penalty time.Duration
}

// parallel is how many hosts are asked at once (Hadoop's parallelcopies: 5).
const parallel = 5

func newFetcher(r *runner, maps int) *fetcher {
	f := &fetcher{r: r, maps: maps}
	f.poke.L = &f.mu
	f.reset()
	return f
}

// fetchAll fetches everything and merges it.
func (f *fetcher) fetchAll(ctx context.Context, cfg shuffle.MergeConfig) (shuffle.Run, error) {
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	var err error
	// The merge outlives the fetching, so it gets the context of the attempt.
	if f.intake, err = shuffle.NewIntake(ctx, shuffle.IntakeConfig{Merge: cfg}); err != nil {
		return nil, err
	}
	f.wg.Go(f.listen)
	stop := context.AfterFunc(f.ctx, f.wake)
	defer stop()
	if err := f.work(); err != nil {
		return nil, err
	}
	f.cancel(errDone)
	f.wg.Wait()
	return f.intake.Merge()
}

var errDone = errors.New("everything is fetched")

func (f *fetcher) wake() {
	f.mu.Lock()
	f.poke.Broadcast()
	f.mu.Unlock()
}

func (f *fetcher) close() {
	if f.cancel != nil {
		f.cancel(errDone)
		f.wg.Wait()
	}
	if f.intake != nil {
		_ = f.intake.Close() // its content is no longer needed
	}
}

// work starts fetches until all maps are in.
func (f *fetcher) work() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if f.ctx.Err() != nil {
			return context.Cause(f.ctx)
		}
		if len(f.have) == f.maps {
			return nil
		}
		if h, batch := f.pick(); h != nil {
			ctx, cancel := context.WithCancel(f.ctx)
			h.busy, h.giveUp = true, cancel
			f.slots--
			f.wg.Go(func() {
				defer cancel()
				f.fetch(ctx, h, batch)
			})
			continue
		}
		f.poke.Wait()
	}
}

// pick returns the idle host with the most outputs to fetch, and a batch of them.
func (f *fetcher) pick() (*host, []wire.MapOutput) {
	if f.slots == 0 {
		return nil, nil
	}
	by := map[*host][]wire.MapOutput{}
	for _, o := range f.want {
		if h := f.hosts[o.Addr]; !h.busy {
			by[h] = append(by[h], o)
		}
	}
	now := time.Now()
	var best *host
	for h, list := range by {
		if wait := h.until.Sub(now); wait > 0 {
			time.AfterFunc(wait, f.wake)
		} else if best == nil || len(list) > len(by[best]) {
			best = h
		}
	}
	if best == nil {
		return nil, nil
	}
	list := by[best]
	slices.SortFunc(list, func(a, b wire.MapOutput) int { return int(a.Map) - int(b.Map) })
	circuit := list[0].Circuit // an answer takes only one path
	list = slices.DeleteFunc(list, func(o wire.MapOutput) bool { return o.Circuit != circuit })
	return best, list[:min(len(list), MaxBatch)]
}

// fetch asks one host for a batch and handles the result.
func (f *fetcher) fetch(ctx context.Context, h *host, batch []wire.MapOutput) {
	failed, err := f.stream(ctx, h, batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	h.busy, h.giveUp = false, nil
	f.slots++
	if err != nil && f.ctx.Err() == nil {
		if errors.Is(err, shuffle.ErrScratch) {
			f.cancel(err) // our own disk failed: the maps are not to blame
		}
		h.penalty = min(max(2*h.penalty, 50*time.Millisecond), 2*time.Second)
		h.until = time.Now().Add(h.penalty)
		if len(failed) > 0 && damaged(err) {
			failed = failed[:1] // those behind it just did not arrive
		}
		for _, o := range failed {
			if w, ok := f.want[o.Map]; ok && w.Addr == h.addr { // not moved meanwhile
				f.complain(o, err)
			}
		}
	} else {
		h.penalty = 0
	}
	f.poke.Broadcast()
}

// damaged reports whether err means that a share or its head arrived, but is not what was asked for.
func damaged(err error) bool {
	return errors.Is(err, shuffle.ErrCorrupt) || wire.KindOf(err) == wire.Corrupt
}

// failures is how often the output of an attempt could not be fetched, and how often of these because it arrived
// damaged.
type failures struct {
	try          uint64
	all, damaged int
}

// complain reports an output to the master when it has failed a few times, or for good. A damaged output is
// fetched a second time first, since the network may have damaged it; what is damaged again is so at its source.
func (f *fetcher) complain(o wire.MapOutput, err error) {
	n := f.fails[o.Map]
	if n.try != o.Try {
		n = failures{try: o.Try}
	}
	n.all++
	if damaged(err) {
		n.damaged++
	}
	f.fails[o.Map] = n
	spoilt := damaged(err) && n.damaged > 1
	if n.all%3 != 0 && !errors.Is(err, wire.NotFound) && !spoilt {
		return
	}
	id := f.r.l.ID
	f.r.BadFetch(wire.BadFetch{
		Map: wire.AttemptID{Job: id.Job, Stage: id.Stage, Kind: wire.MapTask, Index: o.Map, Try: o.Try},
		By:  id, Why: err.Error(), Addr: o.Addr, Unreached: wire.KindOf(err) == wire.Unavailable, Damaged: spoilt,
	})
}
