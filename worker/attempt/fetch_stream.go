package attempt

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
)

// ask asks a host for a batch. It needs no connection if this process is the host.
func (f *fetcher) ask(ctx context.Context, h *host, batch []wire.MapOutput) (io.ReadCloser, error) {
	id := f.r.l.ID
	if h.node == f.r.Node && f.r.Own != nil {
		return f.r.Own(wire.StageRef{Job: id.Job, Stage: id.Stage}, int(id.Index), batch), nil
	}
	q := url.Values{"p": {strconv.Itoa(int(id.Index))}}
	for _, o := range batch {
		q.Add("m", fmt.Sprintf("%d.%d", o.Map, o.Try))
	}
	if batch[0].Circuit {
		q.Set(CircuitField, "1")
	}
	resp, err := f.r.Client.Get(ctx, h.addr, fmt.Sprintf("/shuffle/%s/%d?%s", url.PathEscape(string(id.Job)), id.Stage, q.Encode()))
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// stream reads the segments of one answer. It returns the outputs that did not arrive and were not reported yet.
func (f *fetcher) stream(ctx context.Context, h *host, batch []wire.MapOutput) (missing []wire.MapOutput, err error) {
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
	body := bufio.NewReaderSize(guard.reader(answer), 16<<10) // for the heads; frames are larger and bypass it
	failed := 0
	for i, o := range batch {
		head, err := readHead(body)
		if err == nil && (head.Map != o.Map || head.Try != o.Try) {
			err = wire.Errorf(wire.Corrupt, "asked for try %d of map %d, got try %d of map %d", o.Try, o.Map, head.Try, head.Map)
		}
		if err != nil {
			return batch[i:], err
		}
		if head.Error != "" {
			err = wire.Errorf(wire.NotFound, "%s", head.Error)
		} else if err = f.take(ctx, h, body, o, &head); err != nil && !damaged(err) {
			return batch[i:], err
		}
		if err != nil { // those behind it can be read all the same
			failed++
			f.mu.Lock()
			f.complain(o, err)
			f.mu.Unlock()
		}
	}
	if failed > 0 { // reported already; ask elsewhere, or later
		return nil, wire.Errorf(wire.NotFound, "%d outputs are gone from %s, or damaged there", failed, h.addr)
	}
	return nil, nil
}

// take reads one segment to its end, whatever is in it. What ends early may have a good source that was cut off.
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
			Name: head.Name, Map: int(o.Map), Partition: int(f.r.l.ID.Index), Info: head.Info,
			Fetch: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(part), nil },
		})
	}
	if first {
		f.finish(o, head, err == nil)
	}
	if err != nil && !damaged(err) {
		return err
	}
	if _, cut := io.Copy(io.Discard, part); part.N > 0 {
		return wire.Errorf(wire.Unavailable, "the answer of %s is cut, %d bytes before the end of a share: %w", h.addr, part.N, cmp.Or(cut, io.ErrUnexpectedEOF))
	}
	return err
}

// begin claims a map. Its output may come from two attempts at once: from one that was given up because its worker
// stopped or is slow, and from its replacement. Only one may go in. The later one ends the other, which has had its
// time. Fetched output is not taken again.
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
	f.compare(o, f.want[o.Map]) // it may have changed meanwhile
	f.got[f.placeOf(o)] += head.Info.StoredBytes
	f.raw += head.Info.RawBytes
	delete(f.want, o.Map)
	if f.r.Progress != nil {
		f.r.Progress(float64(len(f.have)) / float64(2*max(1, f.maps)))
	}
}
