package attempt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// TestSlowAnswersAreTold: while a share comes slowly from another node, the reduce complains, once, and takes it in all the same; how fast it came is known
// afterwards.
func TestSlowAnswersAreTold(t *testing.T) {
	head, content := shareOf(t, 0, 2000)
	answer := append(AppendHead(nil, &head), content...)
	for perSecond, want := range map[int]int{10_000: 1, 4_000_000: 0} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, dir, 1)
			var asked *http.Request
			calls := rpc.NewClient(rpc.ClientConfig{Dial: func(context.Context, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() {
					asked, _ = http.ReadRequest(bufio.NewReader(there))
					fmt.Fprintf(there, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(answer))
					for rest := answer; len(rest) > 0; rest = rest[min(len(rest), perSecond):] {
						time.Sleep(time.Second)
						_, _ = there.Write(rest[:min(len(rest), perSecond)]) // the reader says if it is short
					}
					there.Close()
				}()
				return here, nil
			}})
			defer calls.Close()
			f := b.f
			f.r.Client = calls
			f.pace["a"], f.pace["b"] = 5e6, 6e6
			f.found(wire.MapOutput{Map: 0, Try: 5, Node: "w2", Rack: "r1", Addr: "w2:1", Sum: 3})
			b.fetch()
			if len(b.told) != want || !f.in(0) || f.bytes() != head.Info.StoredBytes {
				t.Errorf("%d bytes a second: %d complaints, want %d; %d bytes are in", perSecond, len(b.told), want, f.bytes())
			}
			for _, c := range b.told {
				if !c.Slow || c.Addr != "w2:1" || !strings.Contains(c.Why, "node w2 is slow: ") {
					t.Errorf("%+v", c)
				}
			}
			if pace := f.pace["w2:1"]; pace < 0.5*float64(perSecond) && perSecond < 1e6 || pace > 1.5*float64(perSecond) {
				t.Errorf("its pace is %g, of %d", pace, perSecond)
			}
			if asked == nil || asked.URL.Path != "/shuffle/job-1/0" || asked.URL.RawQuery != "m=0.5&p=1" {
				t.Errorf("asked for %+v", asked)
			}
		})
	}
}

// TestStageInfo: what is common to a stage an attempt learns from its process, if that knows it, and else from the master.
func TestStageInfo(t *testing.T) {
	ref := wire.StageRef{Job: "job-1", Stage: 2}
	master, _ := rpctest.Serve(t, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.StageInfo, func(_ rpc.Caller, got wire.StageRef) (wire.StageInfo, error) {
			if got != ref {
				t.Errorf("asked about %+v", got)
			}
			return wire.StageInfo{Maps: 7}, nil
		})
	})
	calls := rpc.NewClient(rpc.ClientConfig{Node: "w1"})
	defer calls.Close()
	r := &runner{Setting: Setting{Client: calls, Master: master}, l: &wire.Launch{ID: wire.AttemptID{Job: ref.Job, Stage: ref.Stage}}}
	if got, err := r.info(t.Context()); err != nil || got.Maps != 7 {
		t.Errorf("of the master: %+v, %v", got, err)
	}
	r.Info = func(_ context.Context, got wire.StageRef) (wire.StageInfo, error) {
		if got != ref {
			t.Errorf("asked about %+v", got)
		}
		return wire.StageInfo{Maps: 8}, nil
	}
	if got, err := r.info(t.Context()); err != nil || got.Maps != 8 {
		t.Errorf("of the process: %+v, %v", got, err)
	}
}

// TestAttemptsThatCannotWork: an attempt whose stage is not known, whose input was not told, or whose output is in a store that there is not, fails, and says
// why.
func TestAttemptsThatCannotWork(t *testing.T) {
	away := errors.New("nobody knows")
	for _, x := range []struct {
		what    string
		kind    wire.TaskKind
		only    bool
		split   *wire.Split
		output  string
		unknown bool
		want    string
	}{
		{"a map of no stage", wire.MapTask, false, &wire.Split{}, "/out", true, "nobody knows"},
		{"a reduce of no stage", wire.ReduceTask, false, nil, "/out", true, "nobody knows"},
		{"a map of nothing", wire.MapTask, false, nil, "/out", false, "a map without a split"},
		{"a map that writes nowhere", wire.MapTask, true, &wire.Split{}, "far:/out", false, "far:"},
		{"a reduce that writes nowhere", wire.ReduceTask, false, nil, "far:/out", false, "far:"},
	} {
		job := mapreduce.Job{Name: "j", Input: []string{"/in"}, Output: x.output, MapOnly: x.only, Map: mapreduce.Lines(func([]byte, func([]byte, int64)) {})}
		if !x.only {
			job.Fold = mapreduce.Sum
		}
		s := &Setting{Info: func(context.Context, wire.StageRef) (wire.StageInfo, error) {
			if x.unknown {
				return wire.StageInfo{}, away
			}
			return wire.StageInfo{Spec: wire.JobSpec{Stages: 1}, Reducers: 1, Work: "/out.work"}, nil
		}}
		l := &wire.Launch{ID: wire.AttemptID{Job: "job-1", Kind: x.kind}, Split: x.split, Spec: &wire.JobSpec{}}
		end, out := Run(t.Context(), s, l, []mapreduce.Job{job})
		if end.OK || out != nil || !strings.Contains(end.Error, x.want) || end.ID != l.ID {
			t.Errorf("%s: %+v", x.what, end)
		}
	}
}
