package tracker

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// report lets node n say that it is there.
func report(tb testing.TB, c *Tracker, n int, running ...wire.AttemptID) {
	tb.Helper()
	name := wire.NodeName(fmt.Sprint("n", n))
	seq := uint64(1)
	if old := c.byName[name]; old != nil {
		seq = old.seq + 1
	}
	r := &wire.Report{
		Node: name, Session: "s", Seq: seq, Rack: fmt.Sprint("r", n%20), Addr: string(name), Idle: -1,
		Capacity: wire.Capacity{Containers: 2}, Full: true,
	}
	for _, id := range running {
		r.Running = append(r.Running, wire.Progress{ID: id})
	}
	if _, err := c.Report(1, r, 1<<62); err != nil {
		tb.Fatal(err)
	}
}

func runningDriver(c *Tracker, id wire.JobID) wire.AttemptID {
	for a := range c.jobs[id].current().running {
		if a.id.Kind == wire.DriverTask {
			return a.id
		}
	}
	return wire.AttemptID{}
}

func splitsOf(n int) []wire.Split {
	out := make([]wire.Split, n)
	for i := range out {
		out[i] = wire.Split{Ranges: []wire.Range{{Path: "/in", Offset: int64(i), Length: 1}}, Hosts: []string{"n0"}}
	}
	return out
}

// planned is a tracker with a job whose driver runs, and the records so far.
func planned(t *testing.T) (c *Tracker, driver wire.AttemptID) {
	t.Helper()
	c = newCore(t)
	c.Resume(0)
	report(t, c, 0)
	id, err := c.Submit(1, wire.JobSpec{Name: "j", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}})
	if err != nil {
		t.Fatal(err)
	}
	if driver = runningDriver(c, id); driver.Job == "" {
		t.Fatal("no driver runs")
	}
	return c, driver
}

// TestPlanInParts: parts may come twice, late or not at all; a driver is told where to go on, another one begins
// anew, and nothing runs before the plan is whole.
func TestPlanInParts(t *testing.T) {
	c, driver := planned(t)
	all := splitsOf(10)
	part := func(first, end int) int {
		t.Helper()
		next, err := c.PlanPart(2, driver, &wire.PlanPart{First: first, Total: 10, Splits: all[first:end]})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	for _, s := range []struct{ first, end, next int }{{0, 3, 3}, {0, 3, 3}, {6, 9, 3}, {3, 6, 6}, {2, 5, 6}} {
		if next := part(s.first, s.end); next != s.next {
			t.Errorf("after part %d-%d the driver is told %d, want %d", s.first, s.end, next, s.next)
		}
	}
	if next, err := c.Plan(2, driver, &wire.StagePlan{Parts: 10, Reducers: 1}); err != nil || next != 6 {
		t.Errorf("a plan before its parts: %d, %v", next, err)
	}
	if s, _ := c.Status(driver.Job); s.Maps.Total != 0 {
		t.Errorf("a plan that is not whole has %d maps", s.Maps.Total)
	}
	// The master dies here; the driver goes on with the next one, where it was.
	again := restarted(t, c.Take().Records)
	report(t, again, 0, driver)
	if runningDriver(again, driver.Job) != driver {
		t.Fatal("the driver is not taken back")
	}
	c = again
	if next := part(6, 10); next != 10 {
		t.Errorf("after a restart: %d", next)
	}
	if next, err := c.Plan(3, driver, &wire.StagePlan{Parts: 10, Reducers: 1}); err != nil || next != 10 {
		t.Fatal(next, err)
	}
	s, err := c.Status(driver.Job)
	if err != nil || s.Maps.Total != 10 || s.Reduces.Total != 1 || s.State != "RUNNING" {
		t.Errorf("%+v, %v", s, err)
	}
	splits := &c.jobs[driver.Job].stages[0].plan.splits
	if got := splits.get(7); got.Ranges[0].Offset != 7 || splits.index != nil {
		t.Errorf("split 7 is %+v; what only coming splits need is kept: %v", got, splits.index)
	}
}

func restarted(t *testing.T, records []Record) *Tracker {
	t.Helper()
	return restartedAt(t, records, 3)
}

func restartedAt(t *testing.T, records []Record, now time.Duration) *Tracker {
	t.Helper()
	c := newCore(t)
	c.cfg.Grace = 0
	for i := range records {
		c.Replay(&records[i])
	}
	c.Resume(now)
	c.Take()
	return c
}

// TestDraftOfAnotherDriver: parts of two drivers do not mix.
func TestDraftOfAnotherDriver(t *testing.T) {
	st := &stage{job: &job{}}
	var table splitTable
	packed := table.encode(splitsOf(3))
	st.applyPart(&Record{Kind: PlanPart, Try: 1, Packed: packed})
	st.applyPart(&Record{Kind: PlanPart, Try: 2, Packed: packed})
	if st.drafted(1) != 0 || st.drafted(2) != 3 {
		t.Errorf("%d and %d splits", st.drafted(1), st.drafted(2))
	}
	st.applyPlanned(&Record{Kind: Planned, Try: 1, Plan: &wire.StagePlan{Parts: 3}})
	if st.plan != nil {
		t.Error("a plan was made of another driver's parts")
	}
}

// TestOldPlanRecord: journals of the first version have the splits in the plan.
func TestOldPlanRecord(t *testing.T) {
	c := restarted(t, []Record{
		{Kind: Submitted, Job: "job-1", Spec: &wire.JobSpec{Name: "j", User: "ann", Stages: 1}},
		{Kind: Planned, Job: "job-1", Plan: &wire.StagePlan{Splits: splitsOf(4), Reducers: 2}},
	})
	if s, err := c.Status("job-1"); err != nil || s.Maps.Total != 4 || s.Reduces.Total != 2 {
		t.Errorf("%+v, %v", s, err)
	}
}

// TestPlanLimits: what is too much is refused, with the limit, and ends the job.
func TestPlanLimits(t *testing.T) {
	for want, try := range map[string]func(c *Tracker, d wire.AttemptID) error{
		"2000001 maps": func(c *Tracker, d wire.AttemptID) error {
			_, err := c.PlanPart(2, d, &wire.PlanPart{Total: 2_000_001, Splits: splitsOf(1)})
			return err
		},
		"9999999 reduces": func(c *Tracker, d wire.AttemptID) error {
			_, err := c.Plan(2, d, &wire.StagePlan{Splits: splitsOf(1), Reducers: 9_999_999})
			return err
		},
		"bounds of 2 partitions": func(c *Tracker, d wire.AttemptID) error {
			_, err := c.Plan(2, d, &wire.StagePlan{Splits: splitsOf(1), Reducers: 2, Bounds: [][]byte{make([]byte, 5<<20)}})
			return err
		},
	} {
		c, driver := planned(t)
		err := try(c, driver)
		s, _ := c.Status(driver.Job)
		if wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), want) || s.State != "FAILED" || !strings.Contains(s.Error, want) {
			t.Errorf("%v; the job is %s: %s", err, s.State, s.Error)
		}
	}
	c, driver := planned(t)
	if _, err := c.PlanPart(2, driver, &wire.PlanPart{Total: 1, Splits: []wire.Split{{Ranges: []wire.Range{{Path: strings.Repeat("x", 5<<20), Length: 1}}}}}); wire.KindOf(err) != wire.TooLarge {
		t.Errorf("a part of 5 MiB: %v", err)
	}
	if _, err := c.PlanPart(2, driver, &wire.PlanPart{Total: 1, Splits: []wire.Split{{Ranges: []wire.Range{{Length: -1}}}}}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a negative range: %v", err)
	}
}

// TestPlansAtTheLimit: the most of each that a plan may have is taken, and one more ends the job.
func TestPlansAtTheLimit(t *testing.T) {
	bounds := func(bytes int) [][]byte { return [][]byte{make([]byte, 999), make([]byte, bytes-1000-1)} }
	for what, x := range map[string]func(over int) *wire.StagePlan{ // by what the refusal says
		"11 maps and 0 reduces": func(over int) *wire.StagePlan { return &wire.StagePlan{Splits: splitsOf(10 + over)} },
		"1 maps and 11 reduces": func(over int) *wire.StagePlan {
			return &wire.StagePlan{Splits: splitsOf(1), Reducers: int32(10 + over)}
		},
		"a name of 256":              func(over int) *wire.StagePlan { return &wire.StagePlan{Name: strings.Repeat("n", wire.MaxName+over)} },
		"and a path of 4097":         func(over int) *wire.StagePlan { return &wire.StagePlan{Work: strings.Repeat("n", wire.MaxPath+over)} },
		"the bounds of 3 partitions": func(over int) *wire.StagePlan { return &wire.StagePlan{Bounds: bounds(maxBounds + over)} },
		"0 maps and -1 reduces":      func(over int) *wire.StagePlan { return &wire.StagePlan{Reducers: int32(-over)} },
	} {
		for over, ok := range []bool{true, false} {
			c, driver := planned(t)
			c.cfg.MaxTasks = 10
			_, err := c.Plan(2, driver, x(over))
			s, _ := c.Status(driver.Job)
			if (err == nil) != ok || (s.State == wire.Failed) == ok || !ok && (wire.KindOf(err) != wire.Invalid || !strings.Contains(s.Error, what)) {
				t.Errorf("%s, %d too many: %v; the job is %s: %s", what, over, err, s.State, s.Error)
			}
		}
	}
	long := func(n int) []wire.Split {
		return []wire.Split{{Ranges: []wire.Range{{Path: strings.Repeat("x", n), Length: 1}}}}
	}
	beside := len((&splitTable{}).encode(long(maxPacked))) - maxPacked
	for over, want := range []error{nil, wire.TooLarge} {
		c, driver := planned(t)
		if _, err := c.PlanPart(2, driver, &wire.PlanPart{Total: 1, Splits: long(maxPacked - beside + over)}); !errors.Is(err, want) {
			t.Errorf("%d bytes more than a message may have: %v", over, err)
		}
		if _, err := c.Plan(2, driver, &wire.StagePlan{Splits: long(maxPacked - beside + over)}); !errors.Is(err, want) {
			t.Errorf("%d bytes more than a message may have, at once: %v", over, err)
		}
	}
	for spare, want := range map[int]error{0: nil, -1: wire.Invalid} {
		c, driver := planned(t)
		c.cfg.MaxPlan = len((&splitTable{}).encode(long(100))) + spare
		if _, err := c.PlanPart(2, driver, &wire.PlanPart{Total: 1, Splits: long(100)}); !errors.Is(err, want) {
			t.Errorf("room for a plan and %d bytes: %v", spare, err)
		}
	}
	for total, ok := range map[int]bool{3: true, 2: false} {
		c, driver := planned(t)
		if next, err := c.PlanPart(2, driver, &wire.PlanPart{Total: total, Splits: splitsOf(3)}); (err == nil) != ok || ok && next != 3 {
			t.Errorf("three splits of %d: %d, %v", total, next, err)
		}
		other := driver
		other.Try++
		if _, err := c.PlanPart(2, other, &wire.PlanPart{Total: 3, Splits: splitsOf(3)}); wire.KindOf(err) != wire.Stale {
			t.Errorf("a part of another driver: %v", err)
		}
		if _, err := c.Plan(2, other, &wire.StagePlan{}); wire.KindOf(err) != wire.Stale {
			t.Errorf("a plan of another driver: %v", err)
		}
	}
}

// TestPlanOfTooManyBytes: the parts of a plan together are held to MaxPlan, and the job ends with the reason.
func TestPlanOfTooManyBytes(t *testing.T) {
	c, driver := planned(t)
	c.cfg.MaxPlan = 1 << 10
	part := &wire.PlanPart{Total: 1000, Splits: splitsOf(10)}
	next, err := 0, error(nil)
	for err == nil && next < part.Total {
		part.First = next
		next, err = c.PlanPart(2, driver, part)
	}
	s, _ := c.Status(driver.Job)
	const want = "more than 1024 bytes"
	if wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), want) || s.State != "FAILED" || !strings.Contains(s.Error, want) {
		t.Errorf("after %d splits: %v; the job is %s: %s", part.First, err, s.State, s.Error)
	}
	if part.First < 10 {
		t.Errorf("only %d splits fit in a kibibyte", part.First)
	}
}

// TestSubmittedTwice: a submission that is repeated, because its answer was lost, is the job that it has become, also
// after a restart; the same request of another user is another.
func TestSubmittedTwice(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	spec := wire.JobSpec{Name: "j", User: "ann", Request: "r1", Stages: 1, Program: wire.Program{Builtin: "sleep"}}
	id, err := c.Submit(1, spec)
	if err != nil {
		t.Fatal(err)
	}
	records := c.Take().Records
	bob := spec
	bob.User = "bob"
	for i, c := range []*Tracker{c, restarted(t, records)} {
		again, err := c.Submit(2, spec)
		if err != nil || again != id {
			t.Errorf("the request has become %q, want %s: %v", again, id, err)
		}
		other, err := c.Submit(2, bob)
		if err != nil || other == id || len(c.jobs) != 2 {
			t.Errorf("round %d: another user's request has become %s, of %d jobs: %v", i, other, len(c.jobs), err)
		}
	}
}
