package attempt

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

// driverOf is a driver of a job from dir/in to dir/out whose master answers as handle says.
func driverOf(t *testing.T, dir string, handle func(s *rpc.Server)) *runner {
	t.Helper()
	master, _ := rpctest.Serve(t, handle)
	calls := rpc.NewClient(rpc.ClientConfig{Node: "w1"})
	t.Cleanup(func() { calls.Close() })
	r := &runner{Setting: Setting{Client: calls, Master: master}, l: &wire.Launch{ID: wire.AttemptID{Job: "job-7", Kind: wire.DriverTask, Try: 3}, Spec: &wire.JobSpec{Stages: 1}}}
	r.job = &mapreduce.Job{Name: "j", Input: []string{filepath.Join(dir, "in")}, Output: filepath.Join(dir, "out"), Map: mapreduce.Lines(func([]byte, func([]byte, int64)) {}), Fold: mapreduce.Sum}
	return r
}

// TestLongPlansGoInParts: the master gets all splits of a plan in order, in as many messages as it takes, those again that another master has not, and
// then the plan without them; a short one goes at once.
func TestLongPlansGoInParts(t *testing.T) {
	split := func(n int) wire.Split {
		return wire.Split{Input: n, Ranges: []wire.Range{{Path: strings.Repeat("p", partBytes/3), Length: int64(n)}}}
	}
	for _, n := range []int{0, 1, 2, 3, 7} {
		for forgets := range 3 { // after so many messages
			var have []wire.Split
			var plan *wire.StagePlan
			messages := 0
			r := driverOf(t, t.TempDir(), func(s *rpc.Server) {
				rpc.HandleQuick(s, api.DriverPlan, func(_ rpc.Caller, req wire.DriverRequest) (wire.Planned, error) {
					if messages++; messages == forgets {
						have = nil // another master
					}
					if p := req.Part; p != nil && p.First == len(have) {
						if p.Total != n || len(p.Splits) == 0 {
							t.Errorf("%d splits of %d", len(p.Splits), p.Total)
						}
						have = append(have, p.Splits...)
					}
					if plan = req.Plan; plan != nil && plan.Parts == 0 {
						have = plan.Splits
					}
					return wire.Planned{Next: len(have)}, nil
				})
			})
			var want []wire.Split
			for i := range n {
				want = append(want, split(i))
			}
			if err := r.sendPlan(t.Context(), &wire.StagePlan{Splits: slices.Clone(want), Name: "j", Reducers: 2}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, have); diff != "" && n > 0 || plan == nil || plan.Name != "j" || plan.Reducers != 2 {
				t.Errorf("%d splits, forgotten after %d: %+v", n, forgets, plan)
			}
			if long := n > 2; long != (messages > 1) || long && (plan.Parts != n || len(plan.Splits) > 0) || !long && plan.Parts != 0 {
				t.Errorf("%d splits, forgotten after %d: %d messages, the last of %d parts", n, forgets, messages, plan.Parts)
			}
		}
	}
	r := driverOf(t, t.TempDir(), func(s *rpc.Server) {
		rpc.HandleQuick(s, api.DriverPlan, func(rpc.Caller, wire.DriverRequest) (wire.Planned, error) {
			return wire.Planned{}, wire.Errorf(wire.Denied, "no")
		})
	})
	if err := r.sendPlan(t.Context(), &wire.StagePlan{}); wire.KindOf(err) != wire.Denied {
		t.Errorf("%v", err)
	}
}

// TestDriversDoAsTheyAreTold: a driver waits, commits, tells why it cannot, and removes what was written if its job has come to nothing, also after it was
// stopped; it goes on where the master has meanwhile changed its mind.
func TestDriversDoAsTheyAreTold(t *testing.T) {
	info := func(dir string) *wire.StageInfo {
		return &wire.StageInfo{Spec: wire.JobSpec{Stages: 1}, Work: mapreduce.WorkDir(filepath.Join(dir, "out"), "job-7-0"), Reducers: 1}
	}
	for _, x := range []struct {
		what    string
		steps   []wire.DriverStep
		asked   error // what the master says instead of a step at last
		stale   bool  // a commit comes too late
		stopped bool
		problem string
		left    bool // what was written is there afterwards
		want    string
	}{
		{what: "nothing to do", steps: []wire.DriverStep{{Do: "wait"}, {Do: "wait"}, {Do: "stop"}}, left: true},
		{what: "come to nothing", steps: []wire.DriverStep{{Do: "stop", Abort: true}}},
		{what: "stopped", steps: []wire.DriverStep{{Do: "stop"}}, stopped: true, left: true, want: "context canceled"},
		{what: "stopped for good", steps: []wire.DriverStep{{Do: "stop", Abort: true}}, stopped: true, want: "context canceled"},
		{what: "stopped for a while", steps: []wire.DriverStep{{Do: "wait"}}, stopped: true, left: true, want: "context canceled"},
		{what: "not its job", asked: wire.Errorf(wire.Denied, "not yours"), left: true, want: "not yours"},
		{what: "no parts", steps: []wire.DriverStep{{Do: "commit", Winners: []uint64{77}}, {Do: "stop"}}, problem: "part-r-00000", left: true},
		{what: "too late", steps: []wire.DriverStep{{Do: "commit", Winners: []uint64{77}}, {Do: "stop"}}, stale: true, problem: "part-r-00000", left: true},
		{what: "no input", steps: []wire.DriverStep{{Do: "plan"}}, left: true, want: "no such file"},
	} {
		t.Run(x.what, func(t *testing.T) {
			dir := t.TempDir()
			problem, asked := "", 0
			r := driverOf(t, dir, func(s *rpc.Server) {
				rpc.HandleQuick(s, api.DriverStep, func(_ rpc.Caller, req wire.DriverRequest) (wire.DriverStep, error) {
					if req.ID.Job != "job-7" || req.ID.Try != 3 || (req.Wait == patience) == x.stopped {
						t.Errorf("it asks %+v", req)
					}
					if asked == len(x.steps) {
						return wire.DriverStep{}, x.asked
					}
					step := x.steps[asked]
					asked++
					step.Info = info(dir)
					return step, nil
				})
				rpc.HandleQuick(s, api.DriverCommit, func(_ rpc.Caller, req wire.DriverRequest) (struct{}, error) {
					if problem = req.Problem; x.stale {
						return struct{}{}, wire.Errorf(wire.Stale, "another driver")
					}
					return struct{}{}, nil
				})
				rpc.HandleQuick(s, api.NodeList, func(rpc.Caller, struct{}) ([]wire.NodeStatus, error) { return nil, nil })
			})
			work, err := task.WorkDir(r.Store, r.job, r.ref().String())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(work, "_attempts"), 0o700); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if x.stopped {
				cancel()
			}
			if err := r.drive(ctx); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
				t.Errorf("it ends with %v", err)
			}
			if asked != len(x.steps) || !strings.Contains(problem, x.problem) || (problem == "") != (x.problem == "") {
				t.Errorf("it has asked %d times, and tells of %q", asked, problem)
			}
			if _, err := os.Stat(work); (err == nil) != x.left {
				t.Errorf("what was written: %v", err)
			}
		})
	}
}
