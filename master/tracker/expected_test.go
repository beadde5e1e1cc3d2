package tracker

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// planner is a tracker of that policy, at work, with a worker in each of the first racks.
func planner(t *testing.T, policy string, workers int) *Tracker {
	t.Helper()
	p, err := policies.Policy(policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(DefaultConfig(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Resume(0)
	for n := range workers {
		report(t, c, n)
	}
	return c
}

// foreknown is a job of which all is said that a plan takes.
func foreknown(name, user string) wire.JobSpec {
	return wire.JobSpec{
		Name: name, User: user, Recurring: true, Stages: 1, Program: wire.Program{Builtin: "sleep"}, Inputs: []string{"dfs:/in"},
		Expect: wire.Expected{Maps: 4, Reduces: 1, Input: 1 << 20, Shuffle: 1 << 20, MapMillis: 100, ReduceMillis: 100},
	}
}

// TestWhatAPlanLacks: an announced job has a plan, or it is said what is missing for one.
func TestWhatAPlanLacks(t *testing.T) {
	for _, x := range []struct {
		policy  string
		workers int
		change  func(e *wire.Expected)
		why     string
	}{
		{"fifo", 2, func(*wire.Expected) {}, "the policy in place does not plan"},
		{"corral", 0, func(*wire.Expected) {}, "no worker is up"},
		{"corral", 2, func(e *wire.Expected) { e.Maps, e.Input = 0, 0 }, "nobody knows how many maps"},
		{"corral", 2, func(e *wire.Expected) { e.MapMillis = 0 }, "nobody knows how long"},
		{"corral", 2, func(e *wire.Expected) { e.ReduceMillis = 0 }, "nobody knows how long"},
		{"corral", 2, func(e *wire.Expected) { e.Shuffle = 0 }, "nobody knows what it shuffles"},
		{"corral", 2, func(*wire.Expected) {}, ""},
	} {
		c, spec := planner(t, x.policy, x.workers), foreknown("j", "ann")
		x.change(&spec.Expect)
		if err := c.Expect(2*time.Second, []wire.JobSpec{spec}); err != nil {
			t.Fatal(err)
		}
		got := c.Plans()
		if len(got.Plans) != 1 || got.Planner != (x.policy == "corral") {
			t.Fatalf("%+v", got)
		}
		p, has := got.Plans[0], x.why == ""
		if !strings.HasPrefix(p.Why, x.why) || (p.Why == "") != has || (len(p.MapRacks) > 0) != has || (p.Reason != "") != has || p.Announced != 2000 {
			t.Errorf("want %q: %+v", x.why, p)
		}
		readers := c.Readers()
		if (len(readers) == 1) != has || has && (readers[0].User != "ann" || !slices.Equal(readers[0].Inputs, spec.Inputs) || !slices.Equal(readers[0].Racks, p.MapRacks)) {
			t.Errorf("want %q: it is read by %+v", x.why, readers)
		}
	}
}

// TestAnnouncements: a job that comes takes the first announcement of its name and user, which goes with its end; one that has not come can be
// taken back, and is forgotten a day after its time.
func TestAnnouncements(t *testing.T) {
	c := planner(t, "corral", 2)
	late := foreknown("late", "ann")
	late.Expect.InMillis = 3_600_000
	begin := 10 * time.Second
	if err := c.Expect(begin, []wire.JobSpec{foreknown("j", "ann"), foreknown("j", "bob"), foreknown("k", "ann"), late}); err != nil {
		t.Fatal(err)
	}
	list := func(when, want string) {
		t.Helper()
		var got []string
		for _, p := range c.Plans().Plans {
			got = append(got, fmt.Sprintf("%s-%s%s", p.Name, p.User, strings.TrimPrefix(string(p.Job), "job")))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	list("announced", "j-ann j-bob k-ann late-ann")
	if err := c.Expect(begin, []wire.JobSpec{foreknown("j", "bob")}); err != nil {
		t.Fatal(err)
	}
	list("announced again", "j-ann j-bob k-ann late-ann")
	job, err := c.Submit(begin, foreknown("j", "bob"))
	if err != nil {
		t.Fatal(err)
	}
	list("one has come", "j-ann j-bob-1 k-ann late-ann")
	for _, x := range []struct {
		name, user string
		ok         bool
	}{{"j", "bob", false}, {"k", "bob", false}, {"x", "ann", false}, {"k", "ann", true}, {"k", "ann", false}} {
		if err := c.Drop(begin, x.name, x.user); (err == nil) != x.ok || !x.ok && wire.KindOf(err) != wire.NotFound {
			t.Errorf("%s of %s: %v", x.name, x.user, err)
		}
	}
	list("one is taken back", "j-ann j-bob-1 late-ann")
	if err := c.Kill(begin, job, "no more"); err != nil {
		t.Fatal(err)
	}
	list("one has ended", "j-ann late-ann")
	c.planAgain(begin + keepExpected)
	list("a day later", "j-ann late-ann")
	c.planAgain(begin + keepExpected + 1)
	list("and a moment", "late-ann")
	c.planAgain(begin + keepExpected + time.Hour)
	list("and an hour", "late-ann")
	c.planAgain(begin + keepExpected + time.Hour + 1)
	list("and longer", "")
}

// TestTooManyAnnouncements: neither one user nor all together announce more jobs than are kept, and a wrong one keeps those beside it out.
func TestTooManyAnnouncements(t *testing.T) {
	c := planner(t, "fifo", 1)
	many := func(user string, n int) (out []wire.JobSpec) {
		for i := range n {
			out = append(out, foreknown(fmt.Sprint("j", i), user))
		}
		return out
	}
	wrong := many("ann", 2)
	wrong[1].Stages = 0
	if err := c.Expect(0, wrong); wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), `"j1"`) || len(c.Plans().Plans) != 0 {
		t.Errorf("one is wrong: %v, %v", err, c.Plans())
	}
	refused := func(specs []wire.JobSpec, kept int) {
		t.Helper()
		if err := c.Expect(0, specs); wire.KindOf(err) != wire.Quota || len(c.Plans().Plans) != kept {
			t.Errorf("%d jobs are announced: %v", len(c.Plans().Plans), err)
		}
	}
	refused(many("ann", maxExpectedUser+1), 0)
	for i := range maxExpected / maxExpectedUser {
		if err := c.Expect(0, many(fmt.Sprint("user", i), maxExpectedUser)); err != nil {
			t.Fatal(err)
		}
		refused(many(fmt.Sprint("user", i), 1), (i+1)*maxExpectedUser)
	}
	refused(many("ann", 1), maxExpected)
}

// TestPlansFollowTheRacks: a plan stays while its racks are up, whatever else comes; when one has no worker left the job is planned elsewhere.
func TestPlansFollowTheRacks(t *testing.T) {
	c := planner(t, "corral", 1)
	if err := c.Expect(0, []wire.JobSpec{foreknown("j", "ann")}); err != nil {
		t.Fatal(err)
	}
	racks := func(when, want string) {
		t.Helper()
		if p := c.Plans().Plans[0]; strings.Join(p.MapRacks, " ") != want {
			t.Errorf("%s: maps in %q, want %q", when, p.MapRacks, want)
		}
	}
	now := c.cfg.Silence + time.Second
	racks("one rack", "r0")
	report(t, c, 1)
	c.planAgain(now)
	racks("another came", "r0")
	c.NodeGone(now, "n0", "s", "it is gone")
	c.planAgain(now)
	racks("its rack is gone", "r1")
	report(t, c, 0)
	c.planAgain(now)
	racks("it is back", "r1")
	if c.Replan(now); len(c.Plans().Plans[0].MapRacks) == 0 {
		t.Errorf("planned anew: %+v", c.Plans().Plans)
	}
}

// A drawn plan is what a test says.
type drawn struct {
	scheduler.Policy
	maps, reduces []topology.RackID
}

func (d *drawn) Plan(_ time.Duration, expected []*scheduler.JobSpec, _ *scheduler.View) (out []scheduler.Placement) {
	for _, s := range expected {
		out = append(out, scheduler.Placement{Job: s.ID, MapRacks: d.maps, ReduceRacks: d.reduces})
	}
	return out
}

// TestPlansThatChangeAreWrittenDown: where a job is planned anew, be it only its reduces, that is in the records, and what stays as it is is not; once its tasks
// are known it has the plan that it has.
func TestPlansThatChangeAreWrittenDown(t *testing.T) {
	c := planner(t, "fifo", 2)
	fifo, err := policies.Policy("fifo", nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &drawn{Policy: fifo}
	c.SetPolicy(0, d)
	r0, r1 := []topology.RackID{c.racks["r0"]}, []topology.RackID{c.racks["r1"]}
	d.maps, d.reduces = r0, r0
	if err := c.Expect(0, []wire.JobSpec{foreknown("j", "ann")}); err != nil {
		t.Fatal(err)
	}
	step := func(what string, maps, reduces []topology.RackID, written int) {
		t.Helper()
		c.Take()
		d.maps, d.reduces = maps, reduces
		c.replan(time.Second)
		n := 0
		for _, r := range c.Take().Records {
			if r.Kind == Expected {
				n++
			}
		}
		if n != written {
			t.Errorf("%s: it is written down %d times, want %d", what, n, written)
		}
	}
	step("the same", r0, r0, 0)
	step("other reduces", r0, r1, 1)
	step("other maps", r1, r1, 1)
	step("the same again", r1, r1, 0)
	step("both", r0, r0, 1)
	id, err := c.Submit(1, foreknown("j", "ann"))
	if err != nil {
		t.Fatal(err)
	}
	report(t, c, 0)
	if _, err := c.Plan(2, runningDriver(c, id), &wire.StagePlan{Splits: splitsOf(4), Reducers: 1}); err != nil {
		t.Fatal(err)
	}
	step("its tasks are known", r1, r1, 0)
}

// TestPlansFollowTheWorkers: a job that has no plan is planned when a worker comes, without anybody asking; and again a minute later where
// more is known meanwhile. Who keeps the list of readers hears of it.
func TestPlansFollowTheWorkers(t *testing.T) {
	c := planner(t, "corral", 0)
	if err := c.Expect(0, []wire.JobSpec{foreknown("j", "ann")}); err != nil {
		t.Fatal(err)
	}
	now := c.cfg.Silence
	step := func(when string, after time.Duration, planned, told bool) {
		t.Helper()
		now += after
		c.Take()
		c.Tick(now)
		if got := len(c.Plans().Plans[0].MapRacks) > 0; got != planned {
			t.Errorf("%s: it is planned: %v, want %v", when, got, planned)
		}
		if got := c.Take().Replanned; got != told {
			t.Errorf("%s: readers may be others: %v, want %v", when, got, told)
		}
	}
	step("no worker", time.Second, false, false)
	report(t, c, 0)
	step("one came", time.Second, true, true)
	step("nothing new", time.Second, true, false)
	e := c.plans.expected[0]
	shuffle := e.spec.Expect.Shuffle
	e.spec.Expect.Shuffle, e.racks = 0, [2][]string{}
	step("nobody knows what it shuffles", 0, false, false)
	e.spec.Expect.Shuffle = shuffle
	c.plans.at = now
	for range 59 {
		report(t, c, 0)
		c.byName["n0"].heard = now
		step("within a minute", time.Second, false, false)
	}
	c.byName["n0"].heard = now
	step("a minute later", time.Second, true, true)
	if _, err := c.Submit(now, foreknown("j", "ann")); err != nil {
		t.Fatal(err)
	}
	c.Take()
	if err := c.Kill(now, "job-1", "no more"); err != nil || !c.Take().Replanned {
		t.Errorf("an announced job has ended: %v, and nobody looks at the readers", err)
	}
	id := mustSleep(t, c, now, "ann")
	c.Take()
	if err := c.Kill(now, id, "no more"); err != nil || c.Take().Replanned {
		t.Errorf("none is announced: %v, and readers are looked at", err)
	}
}

// TestSpecsThatCannotBe: what no job can say is refused, each by itself; the ends of the ranges are allowed.
func TestSpecsThatCannotBe(t *testing.T) {
	c := newCore(t)
	for _, x := range []struct {
		ok     bool
		change func(s *wire.JobSpec)
	}{
		{false, func(s *wire.JobSpec) { s.Weight = math.NaN() }},
		{false, func(s *wire.JobSpec) { s.ReduceCost = math.NaN() }},
		{false, func(s *wire.JobSpec) { s.VCores = -1 }},
		{false, func(s *wire.JobSpec) { s.MemoryMB = -1 }},
		{false, func(s *wire.JobSpec) { s.Reduce.VCores = -1 }},
		{false, func(s *wire.JobSpec) { s.Driver.MemoryMB = -1 }},
		{true, func(s *wire.JobSpec) { s.Slowstart, s.Attempts, s.Stages = 1, 100, 100 }},
		{true, func(s *wire.JobSpec) { s.Name = strings.Repeat("n", wire.MaxName) }},
		{false, func(s *wire.JobSpec) { s.Slowstart = 1.1 }},
		{false, func(s *wire.JobSpec) { s.Attempts = -1 }},
		{false, func(s *wire.JobSpec) { s.Attempts = 101 }},
		{false, func(s *wire.JobSpec) { s.Stages = 0 }},
		{false, func(s *wire.JobSpec) { s.Stages = 101 }},
		{false, func(s *wire.JobSpec) { s.User = "" }},
		{false, func(s *wire.JobSpec) { s.Program = wire.Program{} }},
		{true, func(s *wire.JobSpec) { s.Program = wire.Program{Exe: "dfs:/x"} }},
		{false, func(s *wire.JobSpec) { s.Name = strings.Repeat("n", wire.MaxName+1) }},
		{false, func(s *wire.JobSpec) { s.Queue = strings.Repeat("n", wire.MaxName+1) }},
		{false, func(s *wire.JobSpec) { s.Pool = strings.Repeat("n", wire.MaxName+1) }},
		{false, func(s *wire.JobSpec) { s.Umask = "9" }},
	} {
		s := foreknown("j", "ann")
		x.change(&s)
		if err := c.check(&s); (err == nil) != x.ok || !x.ok && wire.KindOf(err) != wire.Invalid {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestConfigsThatCannotBe: each value that is missing is refused by itself, and so are rules for second attempts that nobody knows.
func TestConfigsThatCannotBe(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"heartbeat": func(c *Config) { c.Heartbeat = 0 }, "attempts": func(c *Config) { c.Attempts = 0 }, "silence": func(c *Config) { c.Silence = 0 },
		"node failures": func(c *Config) { c.NodeFailures = 0 }, "deaths": func(c *Config) { c.Deaths = 0 }, "fetch failures": func(c *Config) { c.FetchFailures = 0 },
		"tasks": func(c *Config) { c.MaxTasks = 0 }, "plan": func(c *Config) { c.MaxPlan = 0 }, "jobs": func(c *Config) { c.MaxJobs = 0 },
		"second attempts": func(c *Config) { c.SecondAttempts.By = "luck" },
		"late":            func(c *Config) { c.SecondAttempts.Slower = -1 },
	} {
		cfg := DefaultConfig()
		if change(&cfg); cfg.validate() == nil {
			t.Errorf("%s: taken", name)
		}
	}
	for name, change := range map[string]func(*Config){
		"optical switch": func(c *Config) { c.Links.Optical.Rate = -1 }, "monitor": func(c *Config) { c.Monitor.Interval = -1 },
		"scheduler": func(c *Config) { c.Scheduler.Slowstart = 1.1 }, "attempts": func(c *Config) { c.Attempts = 0 },
	} {
		cfg := DefaultConfig()
		change(&cfg)
		if c, err := New(cfg, nil, nil); err == nil || c != nil {
			t.Errorf("%s: taken", name)
		}
	}
	for by, name := range map[string]string{"": "late", "late": "late", "lag": "lag"} {
		cfg := DefaultConfig()
		cfg.Attempts, cfg.NodeFailures, cfg.Deaths, cfg.FetchFailures, cfg.MaxTasks, cfg.MaxPlan, cfg.MaxJobs, cfg.SecondAttempts.By = 1, 1, 1, 1, 1, 1, 1, by
		if err := cfg.validate(); err != nil || cfg.SecondAttempts.Choice().Name != name {
			t.Errorf("%q: %v, %v", by, cfg.SecondAttempts.Choice(), err)
		}
	}
	if off := (&SecondAttempts{Off: true, By: "lag"}); off.Rule() != nil || off.validate() != nil {
		t.Errorf("off: %v", off.Rule())
	}
}

// TestForgottenJobs: of the jobs that have ended so many are remembered; with the others goes which request they were, so that the same one is a new job.
func TestForgottenJobs(t *testing.T) {
	c := planner(t, "fifo", 1)
	c.cfg.KeepEnded = 2
	submit := func(request string) wire.JobID {
		t.Helper()
		spec := foreknown("j", "ann")
		spec.Request = request
		id, err := c.Submit(1, spec)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	first := submit("r1")
	if again := submit("r1"); again != first {
		t.Errorf("the same request is %s and %s", first, again)
	}
	ids := []wire.JobID{first, submit("r2"), submit("r3")}
	for _, id := range ids {
		if err := c.Kill(2, id, "no more"); err != nil {
			t.Fatal(err)
		}
	}
	for i, id := range ids {
		if _, err := c.Status(id); (err == nil) != (i > 0) || i == 0 && wire.KindOf(err) != wire.NotFound {
			t.Errorf("%s: %v", id, err)
		}
	}
	if again := submit("r3"); again != ids[2] {
		t.Errorf("a request that is remembered is %s, was %s", again, ids[2])
	}
	if again := submit("r1"); slices.Contains(ids, again) {
		t.Errorf("a request that is forgotten is %s again", again)
	}
}

// TestWhatAttemptsAreTold: attempts of a stage hear what they have in common; of a stage that is not there, that. Where the driver runs is in the
// job's status.
func TestWhatAttemptsAreTold(t *testing.T) {
	s := newScene(t, 3, 1)
	info, err := s.c.StageInfo(wire.StageRef{Job: s.job})
	if err != nil || info.Maps != 3 || info.Reducers != 2 || info.Spec.User != "ann" {
		t.Errorf("%+v, %v", info, err)
	}
	for _, ref := range []wire.StageRef{{Job: s.job, Stage: -1}, {Job: s.job, Stage: 1}, {Job: "job-7"}} {
		if _, err := s.c.StageInfo(ref); wire.KindOf(err) != wire.NotFound {
			t.Errorf("%+v: %v", ref, err)
		}
	}
	if got := s.status().Driver; got != "n0" {
		t.Errorf("the driver runs on %q", got)
	}
}

// TestSizeOfLines: whatever makes a line of the log longer counts, or the log would take more memory than it may.
func TestSizeOfLines(t *testing.T) {
	splits := scheduler.Splits{Replicas: make([]topology.NodeID, 300), Bytes: make([]int64, 100), Ends: make([]int32, 100)}
	for what, l := range map[string]drive.Line{
		"steps":    {Steps: make([]drive.Step, 10)},
		"asked":    {Asked: make([]drive.Progress, 10)},
		"nodes":    {Round: drive.Round{Nodes: make([]topology.NodeID, 10)}},
		"expected": {Expected: make([]*scheduler.JobSpec, 10)},
		"plans":    {Plans: make([]scheduler.Placement, 10)},
		"script":   {Policy: drive.Named{Params: map[string]string{"code": strings.Repeat("x", 1000)}}},
		"splits":   {Event: scheduler.Event{Spec: &scheduler.JobSpec{Splits: splits}}},
	} {
		if empty := sizeOfLine(&drive.Line{}); sizeOfLine(&l) < empty+80 || empty < 100 {
			t.Errorf("%s: %d bytes, an empty line %d", what, sizeOfLine(&l), empty)
		}
	}
}
