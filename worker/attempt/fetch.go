package attempt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
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
	have  map[int32]wire.MapOutput // what is in
	claim map[int32]*host          // who brings a map's output just now
	fails map[int32]int
	got   map[string]int64 // bytes as they were sent, by the counter of their place
	raw   int64
	slots int                // fetches that may still be started
	pace  map[string]float64 // bytes a second from other nodes, by address
	slow  map[int32]uint64   // attempts that were complained of as slow
}

var _ task.Intake = (*fetcher)(nil)

// A host is one worker that has output.
type host struct {
	addr    string
	node    wire.NodeName
	busy    bool
	giveUp  context.CancelFunc // while busy: ends the fetch
	until   time.Time          // in the penalty box
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
	var sum int64
	for _, n := range f.got {
		sum += n
	}
	return sum
}

// counts are the bytes by place.
func (f *fetcher) counts() mapreduce.Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return mapreduce.Counts{mapreduce.TaskGroup: maps.Clone(f.got)}
}

// placeOf is the counter of what comes from there.
func (f *fetcher) placeOf(o wire.MapOutput) string {
	switch {
	case o.Node == f.r.Node:
		return mapreduce.ShuffleNodeBytes
	case o.Rack == f.r.Rack:
		return mapreduce.ShuffleRackBytes
	}
	return mapreduce.ShuffleRemoteBytes
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
func (f *fetcher) fetch(ctx context.Context, h *host, batch []wire.MapOutput) {
	failed, err := f.stream(ctx, h, batch)
	f.mu.Lock()
	defer f.mu.Unlock()
	h.busy, h.giveUp = false, nil
	f.slots++
	if err != nil && f.ctx.Err() == nil {
		if errors.Is(err, shuffle.ErrScratch) {
			f.cancel(err) // our own disk: the maps are not to blame
		}
		h.penalty = min(max(2*h.penalty, 50*time.Millisecond), 2*time.Second)
		h.until = time.Now().Add(h.penalty)
		if errors.Is(err, shuffle.ErrCorrupt) {
			failed = failed[:1] // those behind it only did not arrive
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

// complain reports an output to the master when it has failed a few times, or for good. What comes
// damaged is fetched a second time first: the network may have done it.
func (f *fetcher) complain(o wire.MapOutput, err error) {
	f.fails[o.Map]++
	n := f.fails[o.Map]
	if n%3 != 0 && !errors.Is(err, wire.NotFound) && !(n > 1 && errors.Is(err, shuffle.ErrCorrupt)) {
		return
	}
	id := f.r.l.ID
	f.r.BadFetch(wire.BadFetch{
		Map: wire.AttemptID{Job: id.Job, Stage: id.Stage, Kind: wire.MapTask, Index: o.Map, Try: o.Try},
		By:  id, Why: err.Error(), Addr: o.Addr, Unreached: wire.KindOf(err) == wire.Unavailable,
	})
}

// ask asks a host for a batch, over no connection if that is this very process.
func (f *fetcher) ask(ctx context.Context, h *host, batch []wire.MapOutput) (io.ReadCloser, error) {
	id := f.r.l.ID
	if h.node == f.r.Node && f.r.Own != nil {
		return f.r.Own(wire.StageRef{Job: id.Job, Stage: id.Stage}, int(id.Index), batch), nil
	}
	q := url.Values{"p": {strconv.Itoa(int(id.Index))}}
	for _, o := range batch {
		q.Add("m", fmt.Sprintf("%d.%d", o.Map, o.Try))
	}
	resp, err := f.r.Client.Get(ctx, h.addr, fmt.Sprintf("/shuffle/%s/%d?%s", url.PathEscape(string(id.Job)), id.Stage, q.Encode()))
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// stream takes in the segments of one answer. It returns those that did not arrive.
func (f *fetcher) stream(ctx context.Context, h *host, batch []wire.MapOutput) (failed []wire.MapOutput, err error) {
	guard := newStall(ctx, f.r.FetchStall, h.addr)
	defer guard.close()
	guard.slow = func() { f.judge(guard, h) }
	defer f.timed(guard, h)
	answer, err := f.ask(guard.ctx, h, batch)
	if err != nil {
		return batch, guard.explain(err)
	}
	defer answer.Close()
	defer func() { err = guard.explain(err) }()
	body := bufio.NewReaderSize(guard.reader(answer), 16<<10) // for the heads; frames are larger and pass it by
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
			err = f.take(ctx, h, body, o, &head)
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
func (f *fetcher) take(ctx context.Context, h *host, body io.Reader, o wire.MapOutput, head *SegmentHead) error {
	part := &io.LimitedReader{R: body, N: head.Info.StoredBytes}
	if head.Info.Records == 0 {
		part.N = 0
	}
	first, err := f.begin(ctx, h, o.Map)
	if err != nil {
		return err
	}
	if first && head.Info.Records > 0 {
		err = f.intake.Take(ctx, shuffle.Segment{
			Name: head.Name, Partition: int(f.r.l.ID.Index), Info: head.Info,
			Fetch: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(part), nil },
		})
	}
	if first {
		f.finish(o, head, err == nil)
	}
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, part)
	return err
}

// begin claims a map, whose output may come from two attempts at once: from one that was given up, stopped or slow as its
// worker is, and from the one that took its place. Both may not go in. Who comes later ends the other, which has had its
// time; what is in already is not taken again.
func (f *fetcher) begin(ctx context.Context, h *host, index int32) (first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.in(index) {
		other := f.claim[index]
		if other == nil {
			f.claim[index] = h
			return true, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		other.giveUp()
		f.poke.Wait()
	}
	return false, nil
}

// finish ends a claim.
func (f *fetcher) finish(o wire.MapOutput, head *SegmentHead, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.claim, o.Map)
	f.poke.Broadcast()
	if !ok {
		return
	}
	f.have[o.Map] = o
	f.compare(o, f.want[o.Map]) // which may have come meanwhile
	f.got[f.placeOf(o)] += head.Info.StoredBytes
	f.raw += head.Info.RawBytes
	delete(f.want, o.Map)
	if f.r.Progress != nil {
		f.r.Progress(float64(len(f.have)) / float64(2*max(1, f.maps)))
	}
}
