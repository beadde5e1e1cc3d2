package attempt

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// A bench is a fetcher whose only source is its own node, which says what it is told to.
type bench struct {
	f        *fetcher
	says     []byte
	ends     error // after that; nil: as files do
	told     []wire.BadFetch
	progress []float64
}

func newBench(t *testing.T, dir string, maps int) *bench {
	t.Helper()
	b := &bench{}
	r := &runner{l: &wire.Launch{ID: wire.AttemptID{Job: "job-1", Kind: wire.ReduceTask, Index: 1, Try: 9}}}
	r.Node, r.Rack = "w1", "r1"
	r.BadFetch = func(x wire.BadFetch) { b.told = append(b.told, x) }
	r.Progress = func(done float64) { b.progress = append(b.progress, done) }
	r.Own = func(wire.StageRef, int, []wire.MapOutput) io.ReadCloser {
		if b.ends != nil {
			return io.NopCloser(io.MultiReader(bytes.NewReader(b.says), iotest.ErrReader(b.ends)))
		}
		return io.NopCloser(bytes.NewReader(b.says))
	}
	b.f = newFetcher(r, maps)
	b.f.ctx, b.f.cancel = context.WithCancelCause(t.Context())
	pool := shuffle.NewPool(1 << 20)
	var err error
	if b.f.intake, err = shuffle.NewIntake(t.Context(), shuffle.IntakeConfig{Merge: shuffle.MergeConfig{Dir: dir, Name: "reduce", Pool: pool}, Memory: 4000}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if b.f.close(); pool.InUse() != 0 {
			t.Errorf("%d bytes are in use still", pool.InUse())
		}
	})
	for i := range maps {
		b.f.found(wire.MapOutput{Map: int32(i), Try: uint64(i + 5), Node: "w1", Rack: "r1", Addr: "here", Sum: uint64(i + 3)})
	}
	return b
}

// fetch asks for all that is wanted, as work does.
func (b *bench) fetch() {
	b.f.mu.Lock()
	for _, h := range b.f.hosts {
		h.until = time.Time{} // the penalty is over
	}
	h, batch := b.f.pick()
	h.busy, h.giveUp = true, func() {}
	b.f.slots--
	b.f.mu.Unlock()
	b.f.fetch(b.f.ctx, h, batch)
}

// shareOf is what a source says of a map's second partition, of so many records.
func shareOf(t *testing.T, index, records int) (head SegmentHead, content []byte) {
	t.Helper()
	c, err := shuffle.NewCollector(t.Context(), shuffle.Config{
		Dir: t.TempDir(), Name: fmt.Sprintf("map-%05d-%d", index, index+5), Pool: shuffle.NewPool(1 << 20), Partitions: 2, Partition: func(_, _ []byte) int { return 1 },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Discard()
	for i := range records {
		if err := c.Add(fmt.Appendf(nil, "%d-%d", i, index), make([]byte, 100)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := c.Finish()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(out.Path())
	if err != nil {
		t.Fatal(err)
	}
	info := out.Info(1)
	return SegmentHead{Map: int32(index), Try: uint64(index + 5), Name: fmt.Sprintf("map-%05d-%d", index, index+5), Info: info}, file[info.Offset : info.Offset+info.StoredBytes]
}

// TestFetchTakesShares: shares in memory, on disk and of nothing are taken in and counted, in the order in which they were asked for; what is in is not taken again.
func TestFetchTakesShares(t *testing.T) {
	b := newBench(t, t.TempDir(), 3)
	var stored, raw int64
	for i, records := range []int{5, 0, 50} {
		head, content := shareOf(t, i, records)
		b.says = append(AppendHead(b.says, &head), content...)
		stored, raw = stored+head.Info.StoredBytes, raw+head.Info.RawBytes
	}
	b.fetch()
	f := b.f
	if len(f.have) != 3 || len(f.want) != 0 || f.slots != parallel || f.bytes() != stored || f.rawBytes() != raw || len(b.told) != 0 {
		t.Errorf("%d are in, %d wanted, %d bytes of %d, %d of %d, told of %v", len(f.have), len(f.want), f.bytes(), stored, f.rawBytes(), raw, b.told)
	}
	if h := f.hosts["here"]; h.penalty != 0 || h.busy {
		t.Errorf("a source that has given all is punished: %+v", h)
	}
	sum := uint64(0)
	for i := range 3 {
		o := f.have[int32(i)]
		if sum += o.Part(); o.Sum != uint64(i+3) {
			t.Errorf("of map %d %+v is in", i, o)
		}
	}
	if want := []float64{1. / 6, 2. / 6, 3. / 6}; !slices.Equal(b.progress, want) || f.sum() != sum {
		t.Errorf("progress %v, want %v; sum %d, want %d", b.progress, want, f.sum(), sum)
	}
	f.waited = 1234 * time.Millisecond
	if c := f.counts()[mapreduce.TaskGroup]; c[mapreduce.ShuffleNodeBytes] != stored || c[mapreduce.ReduceWaitMillis] != 1234 {
		t.Errorf("%v", c)
	}
	f.want[0] = wire.MapOutput{Map: 0, Try: 5, Node: "w1", Addr: "here"} // somebody asks for it again
	head, content := shareOf(t, 0, 5)
	b.says = append(AppendHead(nil, &head), content...)
	if b.fetch(); f.bytes() != stored {
		t.Errorf("%d bytes after the first one has come again", f.bytes())
	}
	run, err := f.intake.Merge()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for run.Next() {
		n++
	}
	if err := errors.Join(run.Err(), run.Close()); err != nil || n != 55 {
		t.Errorf("%d records, %v", n, err)
	}
}

// TestFetchComplains of what is gone at once, of what comes damaged the second time, which is proof, of the first that is mixed up then, and of all that a source cannot give, or that
// is cut off, each third time; of a full disk of its own it does not. What lies behind a share that is gone or damaged is taken all the same.
func TestFetchComplains(t *testing.T) {
	first, content := shareOf(t, 0, 5)
	second, more := shareOf(t, 1, 5)
	turned := bytes.Clone(content)
	turned[40] ^= 1
	other := first
	other.Try++
	spoilt := AppendHead(nil, &first)
	spoilt[10] ^= 1
	gone := SegmentHead{Map: 0, Try: 5, Error: "it is not here"}
	down := wire.Errorf(wire.Unavailable, "connection reset")
	good := append(AppendHead(nil, &second), more...)
	for name, x := range map[string]struct {
		says      []byte
		ends      error
		told      []int // complaints after each of four tries
		unreached bool
		damaged   bool
		in        int
		tail      string
	}{
		"gone":        {append(AppendHead(nil, &gone), good...), nil, []int{1, 2, 3, 4}, false, false, 1, "it is not here"},
		"damaged":     {slices.Concat(AppendHead(nil, &first), turned, good), nil, []int{0, 1, 2, 3}, false, true, 1, "checksum"},
		"another try": {slices.Concat(AppendHead(nil, &other), content, good), nil, []int{0, 1, 2, 3}, false, true, 0, "asked for try 5 of map 0, got try 6 of map 0"},
		"bad head":    {slices.Concat(spoilt, content, good), nil, []int{0, 1, 2, 3}, false, true, 0, "the head of a segment is damaged"},
		"cut":         {append(AppendHead(nil, &first), content[:50]...), nil, []int{0, 0, 2, 2}, true, false, 0, "cut"},
		"down":        {append(AppendHead(nil, &first), content[:50]...), down, []int{0, 0, 2, 2}, true, false, 0, "connection reset"},
		"at once":     {nil, down, []int{0, 0, 2, 2}, true, false, 0, "connection reset"},
	} {
		b := newBench(t, t.TempDir(), 2)
		b.says, b.ends = x.says, x.ends
		penalty := 50 * time.Millisecond
		for try, want := range x.told {
			if x.in == 1 && try > 0 {
				b.says = bytes.TrimSuffix(x.says, good)
			}
			before := time.Now()
			b.fetch()
			h := b.f.hosts["here"]
			if len(b.told) != want || h.busy || h.penalty != penalty || h.until.Before(before.Add(penalty)) || b.f.slots != parallel {
				t.Errorf("%s: after try %d %d complaints, want %d; penalty %v, want %v", name, try+1, len(b.told), want, h.penalty, penalty)
			}
			penalty = min(2*penalty, 2*time.Second)
		}
		for i, c := range b.told {
			if c.Unreached != x.unreached || c.Damaged != x.damaged || !strings.Contains(c.Why, x.tail) || c.Addr != "here" || c.By != b.f.r.l.ID || c.Map.Try != uint64(c.Map.Index)+5 || c.Map.Kind != wire.MapTask || c.Slow || i == 0 && !x.unreached && c.Map.Index != 0 {
				t.Errorf("%s: complaint %d is %+v", name, i, c)
			}
		}
		if len(b.f.have) != x.in || len(b.f.claim) != 0 {
			t.Errorf("%s: %d are in, %d on their way", name, len(b.f.have), len(b.f.claim))
		}
		if name == "down" { // it has moved meanwhile: nobody complains of where it was
			b.told = nil
			for i := range int32(2) {
				b.f.want[i] = wire.MapOutput{Map: i, Try: uint64(i) + 5, Addr: "there"}
			}
			b.f.hosts["here"].penalty = 1500 * time.Millisecond
			b.f.fetch(b.f.ctx, b.f.hosts["here"], []wire.MapOutput{{Map: 0, Try: 5}, {Map: 1, Try: 6}})
			if len(b.told) != 0 || b.f.hosts["here"].penalty != 2*time.Second {
				t.Errorf("of where it was: %v, penalty %v", b.told, b.f.hosts["here"].penalty)
			}
		}
	}
	b := newBench(t, t.TempDir()+"/nowhere", 1)
	large, content := shareOf(t, 0, 50)
	b.says = append(AppendHead(nil, &large), content...)
	if b.fetch(); !errors.Is(context.Cause(b.f.ctx), shuffle.ErrScratch) || b.f.work() == nil {
		t.Errorf("a bad disk of its own: %v", context.Cause(b.f.ctx))
	}
}

// TestPickOfSources: the one with most to give that is free is asked, for the lowest maps, as many as an answer brings, and all of one way.
func TestPickOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFetcher(&runner{}, 500)
		f.ctx, f.cancel = context.WithCancelCause(t.Context())
		add := func(addr string, from, n int, circuit bool) {
			for i := range n {
				f.found(wire.MapOutput{Map: int32(from + i), Addr: addr, Circuit: circuit})
			}
		}
		pick := func(want string, from, n int) {
			t.Helper()
			h, batch := f.pick()
			if h == nil || h.addr != want || len(batch) != n {
				t.Fatalf("%+v, %d; want %d of %s", h, len(batch), n, want)
			}
			for i, o := range batch {
				if o.Map != int32(from+i) {
					t.Fatalf("output %d is of map %d, want %d", i, o.Map, from+i)
				}
			}
		}
		none := func(why string) {
			t.Helper()
			if h, batch := f.pick(); h != nil || batch != nil {
				t.Errorf("%s: %+v, %v", why, h, batch)
			}
		}
		none("nothing is wanted")
		add("a", 100, 10, false)
		add("b", 200, MaxBatch+1, false)
		pick("b", 200, MaxBatch)
		f.hosts["b"].busy = true
		pick("a", 100, 10)
		f.hosts["a"].until = time.Now().Add(time.Second)
		none("one is busy, the other has its penalty")
		time.Sleep(time.Second)
		pick("a", 100, 10)
		add("a", 90, 3, true)
		pick("a", 90, 3)
		f.slots = 0
		none("there are fetches enough")
		time.Sleep(time.Minute) // what is to wake it has come
		f.cancel(nil)
	})
}

// TestHeadsOfShares are read as they were written; what is damaged, too long or no head is refused.
func TestHeadsOfShares(t *testing.T) {
	want := SegmentHead{Map: 3, Try: 4, Name: "map-00003-4", Info: shuffle.PartitionInfo{Records: 1, RawBytes: 2, StoredBytes: 34, Offset: 16}}
	good := AppendHead([]byte("before"), &want)[6:]
	if got, err := readHead(bytes.NewReader(good)); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	raw := func(n int, text string) []byte {
		b := binary.LittleEndian.AppendUint32(nil, uint32(n))
		return append(binary.LittleEndian.AppendUint32(b, codec.Sum([]byte(text))), text...)
	}
	space := strings.Repeat(" ", maxHead-2)
	if _, err := readHead(bytes.NewReader(raw(maxHead, "{}"+space))); err != nil {
		t.Errorf("as long as can be: %v", err)
	}
	for what, b := range map[string][]byte{"too long": raw(maxHead+1, "{}"+space+" "), "no head": raw(4, "head"), "another kind": raw(9, `{"map":""}`[:9])} {
		if _, err := readHead(bytes.NewReader(b)); wire.KindOf(err) != wire.Corrupt || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := range good {
		b := bytes.Clone(good)
		b[at] ^= 0x10
		if got, err := readHead(bytes.NewReader(b)); err == nil {
			t.Errorf("byte %d is turned: %+v", at, got)
		}
		if got, err := readHead(bytes.NewReader(good[:at])); err == nil {
			t.Errorf("cut to %d: %+v", at, got)
		}
	}
	for list, ok := range map[string]bool{"": false, "1": false, "1.": false, ".2": false, "-1.2": false, "1.-2": false, "1.2": true, "0.0": true, "1.2.3": false, "2147483648.1": false, "1.2,3.4": true} {
		if got, err := ParseMaps(strings.Split(list, ",")); (err == nil) != ok || ok && len(got) != 1+strings.Count(list, ",") {
			t.Errorf("%q: %v, %v", list, got, err)
		}
	}
	many := slices.Repeat([]string{"7.8"}, MaxBatch)
	if got, err := ParseMaps(many); err != nil || got[MaxBatch-1] != (wire.MapOutput{Map: 7, Try: 8}) {
		t.Errorf("as many as can be: %v", err)
	}
	for _, list := range [][]string{nil, append(many, "7.8")} {
		if _, err := ParseMaps(list); err == nil {
			t.Errorf("%d maps were taken", len(list))
		}
	}
}

// TestWordsOfAChild: each word is a line, a paced attempt says when it computes, and progress is told while something moves.
func TestWordsOfAChild(t *testing.T) {
	var said bytes.Buffer
	say := speaker(&said)
	if (&Order{}).pace(say) != nil {
		t.Error("a pace on a machine that is not emulated")
	}
	p := (&Order{Speed: 0.5}).pace(say)
	for _, change := range []int{1, 0, -1} {
		p.Note(change)
	}
	if want := "{\"computes\":true}\n{}\n{\"computes\":false}\n"; said.String() != want || p.Speed != 0.5 {
		t.Errorf("it says %q, want %q", said.String(), want)
	}
	for local, ok := range map[wire.LocalRights]bool{wire.LocalNone: false, wire.LocalUser: true, wire.LocalWorker: true} {
		if fs, err := localDisk(&wire.JobSpec{Local: local})("/x"); (err == nil) != ok || (fs != nil) != ok {
			t.Errorf("%s: %v, %v", local, fs, err)
		}
	}
	for o, want := range map[wire.MapOutput]string{{Node: "w1", Rack: "r1"}: mapreduce.ShuffleNodeBytes, {Node: "w2", Rack: "r1"}: mapreduce.ShuffleRackBytes, {Node: "w2", Rack: "r2"}: mapreduce.ShuffleRemoteBytes} {
		r := &runner{}
		r.Node, r.Rack = "w1", "r1"
		if got := newFetcher(r, 1).placeOf(o); got != want {
			t.Errorf("%+v is counted as %s, want %s", o, got, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var told []float64
		r, m, done := &runner{}, &task.Meter{}, 0.0
		r.watch(m, 0, nil)() // nobody listens
		r.Progress = func(x float64) { told = append(told, x) }
		stop := r.watch(m, 0.5, func() float64 { return done })
		for _, step := range []struct{ bytes, done float64 }{{0, 0}, {0, 0}, {10, 0.5}, {0, 0.5}, {10, 2}} {
			done = step.done
			m.Bytes.Add(int64(step.bytes))
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
		}
		m.Records.Add(1)
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		stop()
		m.Records.Add(1)
		time.Sleep(time.Second)
		if want := []float64{0.5, 0.75, 1, 1}; !slices.Equal(told, want) {
			t.Errorf("told %v, want %v", told, want)
		}
		var telling atomic.Bool
		r.Progress = func(float64) { telling.Store(true); time.Sleep(time.Second); telling.Store(false) }
		stop = r.watch(m, 0, func() float64 { return 1 })
		time.Sleep(300 * time.Millisecond)
		was := telling.Load()
		if stop(); !was || telling.Load() {
			t.Errorf("it is told %v, and still after the end %v", was, telling.Load())
		}
	})
}

// TestStagesOfPrograms: an attempt is of a stage that its program has, and its map output is compressed where bytes travel, or as the job says.
func TestStagesOfPrograms(t *testing.T) {
	job := mapreduce.Job{Name: "j", Input: []string{"/in"}, Output: "/out", Map: mapreduce.Lines(func([]byte, func([]byte, int64)) {}), Fold: mapreduce.Sum}
	for _, x := range []struct {
		stage      int
		oneMachine bool
		wants      string
		got        shuffle.Compression
		ok         bool
	}{
		{0, false, "", shuffle.S2, true},
		{0, true, "", shuffle.None, true},
		{0, true, "zstd", shuffle.Zstd, true},
		{0, false, "none", shuffle.None, true},
		{0, false, "brotli", 0, false},
		{1, false, "", 0, false},
		{-1, false, "", 0, false},
	} {
		r := &runner{l: &wire.Launch{ID: wire.AttemptID{Job: "job-1", Stage: x.stage, Kind: wire.MapTask}}}
		r.OneMachine = x.oneMachine
		j := job
		j.Compression = x.wants
		if err := r.prepare([]mapreduce.Job{j}); (err == nil) != x.ok || x.ok && r.Compression != x.got || err != nil && !errors.Is(err, wire.Invalid) {
			t.Errorf("%+v: %v, %v", x, r.Compression, err)
		}
	}
	r := &runner{l: &wire.Launch{ID: wire.AttemptID{Job: "job-1"}}}
	if err := r.prepare([]mapreduce.Job{{}}); !errors.Is(err, wire.Invalid) {
		t.Errorf("a job that is none: %v", err)
	}
	end, out := Run(t.Context(), &Setting{}, &wire.Launch{ID: wire.AttemptID{Job: "job-1", Kind: "dance"}}, []mapreduce.Job{job})
	if end.OK || !end.Final || end.Lost || out != nil || !strings.Contains(end.Error, `kind "dance"`) {
		t.Errorf("%+v", end)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if FilesOf(ctx, &wire.Launch{ID: wire.AttemptID{Kind: wire.DriverTask}}).Err() != nil || FilesOf(ctx, &wire.Launch{ID: wire.AttemptID{Kind: wire.MapTask}}).Err() == nil {
		t.Error("a driver that is stopped may not clean up, or a map may go on")
	}
}
