package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
)

// TestMergeBeginsAnew: of a map that runs again and puts out something else nothing of before is merged; where there is no room to fetch to, or the job has
// ended, nothing is.
func TestMergeBeginsAnew(t *testing.T) {
	first, old := shareOf(t, 0, 5)
	second, content := shareOf(t, 0, 7)
	again := make(chan struct{}) // the first output is in
	asked := 0
	r := driverOf(t, t.TempDir(), func(s *rpc.Server) {
		rpc.Handle(s, api.StageOutputs, func(ctx context.Context, _ rpc.Caller, req wire.OutputsRequest) (wire.OutputsResponse, error) {
			lists := [][]wire.MapOutput{{{Map: 0, Try: 5, Node: "w1", Sum: 3}}, {{Map: 0, Try: 6, Node: "w1", Sum: 4}}, {{Map: 0, Try: 6, Node: "w1", Sum: 4}, {Map: 1, Try: 7, Node: "w1", Sum: 5}}}
			if asked++; asked == 2 {
				<-again
			}
			if asked > len(lists) {
				<-ctx.Done() // nothing new
				return wire.OutputsResponse{}, ctx.Err()
			}
			return wire.OutputsResponse{Next: req.From + 1, Epoch: 1, Changes: lists[asked-1]}, nil
		})
	})
	second.Try = 6
	r.Node, r.l.ID.Kind, r.l.ID.Index = "w1", wire.ReduceTask, 1
	r.Own = func(_ wire.StageRef, _ int, maps []wire.MapOutput) io.ReadCloser {
		var answer strings.Builder
		for _, o := range maps {
			switch o.Try {
			case 5:
				answer.Write(append(AppendHead(nil, &first), old...))
			case 6:
				answer.Write(append(AppendHead(nil, &second), content...))
			case 7:
				answer.Write(AppendHead(nil, &SegmentHead{Map: 1, Try: 7}))
			}
		}
		return io.NopCloser(strings.NewReader(answer.String()))
	}
	told := 0
	r.Progress = func(float64) {
		if told++; told == 1 {
			close(again)
		}
	}
	f := newFetcher(r, 2)
	cfg := shuffle.MergeConfig{Dir: t.TempDir(), Name: "reduce", Pool: shuffle.NewPool(1 << 20)}
	run, err := f.Merge(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for run.Next() {
		n++
	}
	if err := errors.Join(run.Err(), run.Close()); err != nil || n != 7 || f.bytes() != second.Info.StoredBytes || f.rawBytes() != second.Info.RawBytes || f.have[0].Try != 6 {
		t.Errorf("%d records, want 7, of %d bytes, %v; in are %+v", n, f.bytes(), err, f.have)
	}
	if waited := f.counts()[mapreduce.TaskGroup][mapreduce.ReduceWaitMillis]; waited < 0 || waited > time.Minute.Milliseconds() {
		t.Errorf("it has waited %d ms", waited)
	}
	if f.close(); cfg.Pool.InUse() != 0 {
		t.Errorf("%d bytes are in use still", cfg.Pool.InUse())
	}
	ended := driverOf(t, t.TempDir(), func(s *rpc.Server) {
		rpc.HandleQuick(s, api.StageOutputs, func(rpc.Caller, wire.OutputsRequest) (wire.OutputsResponse, error) {
			return wire.OutputsResponse{Gone: true}, nil
		})
	})
	f = newFetcher(ended, 1)
	if _, err := f.Merge(t.Context(), cfg); wire.KindOf(err) != wire.Stale || err == nil {
		t.Errorf("of a job that has ended: %v", err)
	}
	f.close()
}

// TestMovedOutputs: a reduce stops waiting for an address at which an output was when it hears of another, forgives what was there and asks the new one at
// once; at the same address, or of another attempt, it waits on.
func TestMovedOutputs(t *testing.T) {
	for _, x := range []struct {
		what  string
		addr  string
		try   uint64
		gives bool
		fails int
	}{
		{"elsewhere", "w3:1", 5, true, 0},
		{"where it was", "w2:1", 5, false, 0},
		{"another attempt", "w3:1", 6, false, 2},
	} {
		gave := false
		f := newFetcher(&runner{}, 1)
		f.found(wire.MapOutput{Map: 0, Try: 5, Addr: "w2:1"})
		f.found(wire.MapOutput{Map: 7, Try: 1, Addr: x.addr})
		f.hosts["w2:1"].giveUp = func() { gave = true }
		f.fails[0] = failures{try: 5, all: 2}
		now := f.hosts[x.addr]
		now.until, now.penalty = time.Now().Add(time.Hour), time.Second
		f.found(wire.MapOutput{Map: 0, Try: x.try, Addr: x.addr})
		if forgiven := now.until.IsZero() && now.penalty == 0; gave != x.gives || f.fails[0].all != x.fails || forgiven != (x.fails == 0) || f.hosts[x.addr] != now || f.want[0].Addr != x.addr {
			t.Errorf("%s: gave up %v, %v fails, %+v, wants %+v", x.what, gave, f.fails[0], now, f.want)
		}
	}
}

// TestTwoSourcesOfOneMap: who brings an output that another is bringing ends that one and waits for its end, or for its own.
func TestTwoSourcesOfOneMap(t *testing.T) {
	f := newFetcher(&runner{}, 1)
	one, two := &host{addr: "w2:1"}, &host{addr: "w3:1"}
	if first, err := f.begin(t.Context(), one, 0); !first || err != nil {
		t.Fatal(first, err)
	}
	one.giveUp = func() { go f.finish(wire.MapOutput{Map: 0}, &SegmentHead{}, false) }
	if first, err := f.begin(t.Context(), two, 0); !first || err != nil || f.claim[0] != two {
		t.Errorf("after the other: %v, %v", first, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	two.giveUp = func() {
		cancel(errOther)
		go f.wake()
	}
	if first, err := f.begin(ctx, one, 0); first || !errors.Is(err, errOther) {
		t.Errorf("that is ended itself: %v, %v", first, err)
	}
}

// TestHowSourcesAreAsked: by partition and attempts, with a mark where the answer is worth a circuit; who cannot be reached fails all that was asked of it.
func TestHowSourcesAreAsked(t *testing.T) {
	var got []string
	r := driverOf(t, t.TempDir(), func(s *rpc.Server) {
		s.HandleHTTP(FetchPattern, rpc.Anyone, rpc.Shuffle, func(rw http.ResponseWriter, req *http.Request, _ rpc.Caller) {
			got = append(got, req.URL.RequestURI())
			_, _ = rw.Write([]byte("bytes")) // the reader says if they are not there
		})
	})
	r.l.ID.Kind, r.l.ID.Index, r.l.ID.Stage = wire.ReduceTask, 4, 1
	f := newFetcher(r, 2)
	for _, circuit := range []bool{false, true} {
		in, err := f.ask(t.Context(), &host{addr: r.Master, node: "w2"}, []wire.MapOutput{{Map: 1, Try: 5, Circuit: circuit}, {Map: 2, Try: 6, Circuit: circuit}})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(in); err != nil || string(b) != "bytes" || in.Close() != nil {
			t.Errorf("%q, %v", b, err)
		}
	}
	if want := []string{"/shuffle/job-7/1?m=1.5&m=2.6&p=4", "/shuffle/job-7/1?c=1&m=1.5&m=2.6&p=4"}; !slices.Equal(got, want) {
		t.Errorf("it asks %q, want %q", got, want)
	}
	batch := []wire.MapOutput{{Map: 1, Try: 5}, {Map: 2, Try: 6}}
	if failed, err := f.stream(t.Context(), &host{addr: "127.0.0.1:1", node: "w2"}, batch); err == nil || !slices.Equal(failed, batch) {
		t.Errorf("where nobody is: %v, %v", failed, err)
	}
}

// TestStoppingMastersAreAskedAgain: a master that is being stopped drops its calls, and the next answers; one that refuses is not asked again.
func TestStoppingMastersAreAskedAgain(t *testing.T) {
	for says, want := range map[error]int{wire.Errorf(wire.Canceled, "stopping"): 2, wire.Errorf(wire.Denied, "no"): 1} {
		asked := 0
		r := driverOf(t, t.TempDir(), func(s *rpc.Server) {
			rpc.HandleQuick(s, api.StageInfo, func(rpc.Caller, wire.StageRef) (wire.StageInfo, error) {
				if asked++; asked == 1 {
					return wire.StageInfo{}, says
				}
				return wire.StageInfo{Maps: 3}, nil
			})
		})
		if got, err := r.info(t.Context()); asked != want || (err == nil) != (want == 2) || err == nil && got.Maps != 3 {
			t.Errorf("%v: asked %d times, %+v, %v", says, asked, got, err)
		}
	}
}

// TestDriversTellWhatFails: what keeps a driver from planning, from removing and from publishing reaches whoever waits for it.
func TestDriversTellWhatFails(t *testing.T) {
	for _, x := range []struct {
		what, output string
		step         wire.DriverStep
		want         string // the driver's own end
		problem      string // told to the master
	}{
		{"nodes that it may not know", "", wire.DriverStep{Do: "plan"}, "not yours", ""},
		{"a store that there is not", "far:/out", wire.DriverStep{Do: "stop", Abort: true}, "far:", ""},
		{"the same, to publish", "far:/out", wire.DriverStep{Do: "commit", Info: &wire.StageInfo{Work: "far:/out.work"}}, "", "far:"},
	} {
		problem, asked := "", 0
		r := driverOf(t, t.TempDir(), func(s *rpc.Server) {
			rpc.HandleQuick(s, api.NodeList, func(rpc.Caller, struct{}) ([]wire.NodeStatus, error) {
				return nil, wire.Errorf(wire.Denied, "not yours")
			})
			rpc.HandleQuick(s, api.DriverStep, func(rpc.Caller, wire.DriverRequest) (wire.DriverStep, error) {
				if asked++; asked > 1 {
					return wire.DriverStep{Do: "stop"}, nil
				}
				return x.step, nil
			})
			rpc.HandleQuick(s, api.DriverCommit, func(_ rpc.Caller, req wire.DriverRequest) (struct{}, error) {
				problem = req.Problem
				return struct{}{}, nil
			})
		})
		if x.output != "" {
			r.job.Output = x.output
		}
		if err := r.drive(t.Context()); !strings.Contains(fmt.Sprint(err), x.want) || (err == nil) != (x.want == "") || !strings.Contains(problem, x.problem) || (problem == "") != (x.problem == "") {
			t.Errorf("%s: %v, told %q", x.what, err, problem)
		}
	}
}
