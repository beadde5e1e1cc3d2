package attempt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// A fetcher gets a reduce's share of all maps, as they become known.
type fetcher struct {
	r      *runner
	maps   int
	intake *shuffle.Intake
	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	poke  sync.Cond
	hosts map[string]*host // by address
	want  map[int32]wire.MapOutput
	have  map[int32]bool
	fails map[int32]int
	got   int64 // bytes as they were sent
	raw   int64
	slots int // fetches that may still be started
}

var _ task.Intake = (*fetcher)(nil)

// A host is one worker that has output.
type host struct {
	addr    string
	busy    bool
	until   time.Time // in the penalty box
	penalty time.Duration
}

// parallel is how many hosts are asked at once (Hadoop's parallelcopies: 5).
const parallel = 5

func newFetcher(r *runner, maps int) *fetcher {
	f := &fetcher{
		r: r, maps: maps, hosts: map[string]*host{}, want: map[int32]wire.MapOutput{},
		have: map[int32]bool{}, fails: map[int32]int{}, slots: parallel,
	}
	f.poke.L = &f.mu
	return f
}

// Merge fetches everything and merges it.
func (f *fetcher) Merge(ctx context.Context, cfg shuffle.MergeConfig) (shuffle.Run, error) {
	f.ctx, f.cancel = context.WithCancelCause(ctx)
	var err error
	// The merge outlives the fetching, so it has the attempt's own context.
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
		_ = f.intake.Close() // what it holds is no longer wanted
	}
}

// rawBytes is what was fetched before it was compressed.
func (f *fetcher) rawBytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raw
}

func (f *fetcher) bytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.got
}

// listen learns from the master where outputs are.
func (f *fetcher) listen() {
	next := 0
	for f.ctx.Err() == nil {
		resp, err := call[wire.OutputsRequest, wire.OutputsResponse](f.ctx, f.r, "stage.outputs",
			wire.OutputsRequest{StageRef: f.r.ref(), From: next, Wait: patience})
		switch {
		case err != nil:
			f.cancel(err)
			return
		case resp.Gone:
			f.cancel(wire.Errorf(wire.Stale, "%s has ended", f.r.l.ID.Job))
			return
		case resp.Next < next:
			next = 0 // another master: its list is its own
			continue
		}
		next = resp.Next
		f.learn(resp.Changes)
	}
}

func (f *fetcher) learn(changes []wire.MapOutput) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range changes {
		switch {
		case f.have[o.Map]:
		case o.Lost:
			delete(f.want, o.Map)
		default:
			f.want[o.Map] = o
			if f.hosts[o.Addr] == nil {
				f.hosts[o.Addr] = &host{addr: o.Addr}
			}
		}
	}
	f.poke.Broadcast()
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
			h.busy = true
			f.slots--
			f.wg.Go(func() { f.fetch(h, batch) })
			continue
		}
		f.poke.Wait()
	}
}

// pick finds a host that is free and has something for us: the one with most.
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
	return best, list[:min(len(list), MaxBatch)]
}

// fetch asks one host for a batch and takes in what comes.
func (f *fetcher) fetch(h *host, batch []wire.MapOutput) {
	failed, err := f.stream(h, batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	h.busy = false
	f.slots++
	if err != nil && f.ctx.Err() == nil {
		if errors.Is(err, shuffle.ErrScratch) {
			f.cancel(err) // our own disk: the maps are not to blame
		}
		h.penalty = min(max(2*h.penalty, 50*time.Millisecond), 2*time.Second)
		h.until = time.Now().Add(h.penalty)
		for _, o := range failed {
			f.complain(o, err)
		}
	} else {
		h.penalty = 0
	}
	f.poke.Broadcast()
}

// complain reports an output to the master when it has failed a few times, or for good.
func (f *fetcher) complain(o wire.MapOutput, err error) {
	f.fails[o.Map]++
	if f.fails[o.Map]%3 != 0 && !errors.Is(err, wire.NotFound) && !errors.Is(err, shuffle.ErrCorrupt) {
		return
	}
	id := f.r.l.ID
	f.r.BadFetch(wire.BadFetch{
		Map: wire.AttemptID{Job: id.Job, Stage: id.Stage, Kind: wire.MapTask, Index: o.Map, Try: o.Try},
		By:  id, Why: err.Error(),
	})
}

// stream takes in the segments of one answer. It returns those that did not arrive.
func (f *fetcher) stream(h *host, batch []wire.MapOutput) (failed []wire.MapOutput, err error) {
	q := url.Values{"p": {strconv.Itoa(int(f.r.l.ID.Index))}}
	for _, o := range batch {
		q.Add("m", fmt.Sprintf("%d.%d", o.Map, o.Try))
	}
	path := fmt.Sprintf("/shuffle/%s/%d?%s", url.PathEscape(string(f.r.l.ID.Job)), f.r.l.ID.Stage, q.Encode())
	resp, err := f.r.Client.Get(f.ctx, h.addr, path)
	if err != nil {
		return batch, err
	}
	defer resp.Body.Close()
	body := bufio.NewReaderSize(resp.Body, 256<<10)
	for i, o := range batch {
		head, err := readHead(body)
		if err == nil && (head.Map != o.Map || head.Try != o.Try) {
			err = wire.Errorf(wire.Corrupt, "asked for map %d, got %d", o.Map, head.Map)
		}
		if err == nil && head.Error != "" {
			failed = append(failed, o)
			err = wire.Errorf(wire.NotFound, "%s", head.Error)
			f.mu.Lock()
			f.complain(o, err)
			f.mu.Unlock()
			continue
		}
		if err == nil {
			err = f.take(body, o, &head)
		}
		if err != nil {
			return batch[i:], err
		}
	}
	if len(failed) > 0 { // reported already; ask elsewhere, or later
		return nil, wire.Errorf(wire.NotFound, "%d outputs are gone from %s", len(failed), h.addr)
	}
	return nil, nil
}

// take takes in one segment.
func (f *fetcher) take(body io.Reader, o wire.MapOutput, head *SegmentHead) error {
	if head.Info.Records > 0 {
		part := &io.LimitedReader{R: body, N: head.Info.StoredBytes}
		err := f.intake.Take(f.ctx, shuffle.Segment{
			Name: head.Name, Partition: int(f.r.l.ID.Index), Info: head.Info,
			Fetch: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(part), nil },
		})
		if err != nil && !errors.Is(err, shuffle.ErrDuplicate) {
			return err
		}
		if _, err := io.Copy(io.Discard, part); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.have[o.Map] = true
	f.got += head.Info.StoredBytes
	f.raw += head.Info.RawBytes
	if w, ok := f.want[o.Map]; ok && w.Try == o.Try {
		delete(f.want, o.Map)
	}
	if f.r.Progress != nil {
		f.r.Progress(float64(len(f.have)) / float64(2*max(1, f.maps)))
	}
	return nil
}
