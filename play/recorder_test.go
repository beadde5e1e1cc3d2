package play_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// span is an attempt as the simulator tells of it, or as a recording has it, in milliseconds.
type span struct {
	Job, Task, Node int32
	Kind            scheduler.Kind
	From, To        int64
	Near            scheduler.Locality
	Second          bool
}

func sortSpans(list []span) []span {
	slices.SortFunc(list, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Job, b.Job), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Task, b.Task), cmp.Compare(a.Node, b.Node))
	})
	return list
}

// recorded reads the attempts of a recording, and wants no place of a node to hold two at once.
func recorded(t *testing.T, r *play.Recording) (out []span) {
	t.Helper()
	a, at, free := &r.Attempts, int64(0), map[[2]int32]int64{}
	for i := range a.Job {
		at += a.Start[i]
		p := [2]int32{a.Node[i], a.Place[i]}
		if at < free[p] || a.Place[i] >= r.Nodes[a.Node[i]].Places {
			t.Fatalf("attempt %d starts at %d ms in place %v of %d, which is taken until %d", i, at, p, r.Nodes[a.Node[i]].Places, free[p])
		}
		free[p] = at + a.Took[i]
		if scheduler.Kind(a.Kind[i]) == scheduler.Driver { // of which the simulator does not tell: it stays to the job's end, or is lost
			if j := r.Jobs[a.Job[i]]; at < j.Submit || a.How[i] == play.Done && at+a.Took[i] != j.End {
				t.Errorf("the driver of %+v runs from %d to %d ms, %d", j, at, at+a.Took[i], a.How[i])
			}
			continue
		}
		out = append(out, span{a.Job[i], a.Task[i], a.Node[i], scheduler.Kind(a.Kind[i]), at, at + a.Took[i], scheduler.Locality(a.Near[i]), a.How[i]&8 != 0})
	}
	return sortSpans(out)
}

// workload draws a cluster that loses nodes, and jobs.
func workload(t *testing.T, rng *rand.Rand, policy, admission string) (sim.Config, []*sim.Job) {
	t.Helper()
	topo, err := topology.Uniform(2, 3, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	cfg := sim.Config{
		Topology: topo, Capacity: scheduler.Capacity{Containers: 2}, State: scheduler.DefaultConfig(), Model: sim.NewFixed(), Seed: rng.Uint64(),
		Reports: sim.Reports{Heartbeat: 500 * time.Millisecond}, BreakDeadlocks: true, Refill: true,
		Script: sim.Script{Stragglers: sim.Stragglers{Share: 0.2, Factor: 8}}, Seconds: drive.LATE{After: time.Second, Slower: 1.5, Share: 0.5},
	}
	for range rng.IntN(3) {
		at := time.Duration(rng.IntN(20_000)) * time.Millisecond
		cfg.Faults = append(cfg.Faults, sim.Fault{Node: topology.NodeID(rng.IntN(6)), At: at, Until: at + 5*time.Second, KeepOutput: rng.IntN(2) == 0})
	}
	if cfg.Policy, err = policies.Policy(policy, nil); err == nil && admission != "" {
		cfg.Admission, err = policies.Admission(admission, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*sim.Job
	for i := range 1 + rng.IntN(6) {
		spec := &scheduler.JobSpec{ID: scheduler.JobID(i), User: "ann", Queue: "q", Maps: 1 + rng.Int32N(12), Reduces: rng.Int32N(3), Submit: time.Duration(rng.IntN(10_000)) * time.Millisecond}
		if spec.HasDriver = rng.IntN(2) == 0; spec.HasDriver {
			spec.Name = fmt.Sprint("named ", i)
		}
		for range spec.Maps {
			spec.Splits.Add(1<<20, topology.NodeID(rng.IntN(6)))
		}
		length := func() time.Duration { return time.Duration(100+rng.IntN(5000)) * time.Millisecond }
		jobs = append(jobs, &sim.Job{Spec: spec, Maps: []time.Duration{length(), length()}, Reduces: []time.Duration{length()}})
	}
	return cfg, jobs
}

// TestRecordingIsTheRun: a recording has each attempt that the simulator tells of, where, when and how, each job with its times, and a reason
// for each decision, whatever is lost on the way.
func TestRecordingIsTheRun(t *testing.T) {
	seconds, stopped, marks := 0, 0, map[string]int{}
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 0))
		policy, admission := []string{"fifo", "fair", "capacity", "delay"}[rng.IntN(4)], []string{"", "marp"}[rng.IntN(2)]
		cfg, jobs := workload(t, rng, policy, admission)
		tape := play.NewRecorder(policy, admission)
		var want []span
		cfg.Lines = tape.Hear
		cfg.Watch = func(now time.Duration, a sim.Attempt, started bool) {
			if !started {
				want = append(want, span{int32(a.Task.Job), a.Task.Index, int32(a.Node), a.Task.Kind, a.Start.Milliseconds(), now.Milliseconds(), a.Locality, a.Second})
			}
		}
		res, err := sim.Run(cfg, jobs)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for _, j := range jobs {
			tape.Alone(j.Spec.ID, 0)
		}
		rec := tape.Recording()
		place := map[string]int32{} // jobs come in the order of their submission
		for i, j := range rec.Jobs {
			place[j.Name] = int32(i)
		}
		for i := range want {
			want[i].Job = place[nameOf(jobs[want[i].Job].Spec)]
		}
		if d := gocmp.Diff(sortSpans(want), recorded(t, rec)); d != "" {
			t.Fatalf("seed %d, %s: %s", seed, policy, d)
		}
		checkJobs(t, rec, res)
		for i, text := range rec.Decisions.Text {
			if rec.Texts[text] == "" {
				t.Errorf("seed %d: decision %d has no reason", seed, i)
			}
		}
		ends := map[int64]bool{}
		for _, m := range rec.Marks {
			marks[m.What]++
			ends[m.At] = true
		}
		at := int64(0)
		for i, h := range rec.Attempts.How {
			at += rec.Attempts.Start[i]
			seconds += int(h >> 3)
			if h&7 == play.Stopped {
				stopped++
				if !ends[at+rec.Attempts.Took[i]] {
					t.Errorf("seed %d: attempt %d is stopped at %d ms, where no mark is", seed, i, at+rec.Attempts.Took[i])
				}
			}
		}
	}
	if seconds == 0 || stopped == 0 || marks["node"] == 0 || marks["race"] == 0 {
		t.Errorf("the seeds try too little: %d second attempts, %d stopped, marks %v", seconds, stopped, marks)
	}
}

func nameOf(s *scheduler.JobSpec) string {
	if s.Name != "" {
		return s.Name
	}
	return s.ID.String()
}

// checkJobs wants the jobs of a recording to be those of a result.
func checkJobs(t *testing.T, rec *play.Recording, res *sim.Result) {
	t.Helper()
	if len(rec.Jobs) != len(res.Jobs) || len(rec.Nodes) != 6 || len(rec.Racks) != 2 {
		t.Fatalf("%d jobs, %d nodes, %d racks", len(rec.Jobs), len(rec.Nodes), len(rec.Racks))
	}
	for i := range res.Jobs {
		r := &res.Jobs[i]
		s := r.Job.Spec
		k := slices.IndexFunc(rec.Jobs, func(j play.Job) bool { return j.Name == nameOf(s) })
		if k < 0 {
			t.Fatalf("job %s is not there", nameOf(s))
		}
		got := rec.Jobs[k]
		if got.Admit < got.Submit || got.Admit > got.End {
			t.Errorf("job %d is admitted at %d ms", i, got.Admit)
		}
		got.Admit = 0
		want := play.Job{Name: nameOf(s), User: s.User, Queue: s.Queue, Maps: s.Maps, Reduces: s.Reduces, Submit: r.Submitted.Milliseconds(), End: r.Finished.Milliseconds(), Took: float64(r.Completion()) / 1e6, Alone: 1, Failed: r.Failed}
		if d := gocmp.Diff(want, got, cmpopts.EquateApprox(1e-7, 0)); d != "" {
			t.Errorf("job %d: %s", i, d)
		}
	}
}

// TestMarks: a kill has a mark, one for all that a machine takes with it; a job that is killed has one; and a congestion has one, where it begins.
func TestMarks(t *testing.T) {
	topo, err := topology.Uniform(2, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, topo, "fifo")
	sample := func(rack topology.RackID, congested bool) scheduler.Event {
		return scheduler.NetSample(rack, 0.5, 0.5, congested)
	}
	s.feed(scheduler.NodeUp(0, scheduler.Capacity{Containers: 4}), scheduler.NodeUp(1, scheduler.Capacity{Containers: 4}))
	s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Name: "day", Maps: 7}), scheduler.JobSubmitted(&scheduler.JobSpec{ID: 2, Name: "night", Maps: 1}))
	s.offer(0, 1)
	s.feed(scheduler.TaskKilled(scheduler.TaskID{Job: 1, Index: 5}, 1))
	s.feed(scheduler.TaskKilled(scheduler.TaskID{Job: 1, Index: 4}, 1), scheduler.TaskKilled(scheduler.TaskID{Job: 1, Index: 6}, 1))
	s.feed(sample(0, true), sample(1, false))
	s.feed(sample(0, true), sample(1, true))
	s.feed(sample(0, false), sample(1, true))
	s.feed(sample(0, true), sample(1, true))
	if err := s.loop.NodeLost(s.now, 0, true, nil); err != nil {
		t.Fatal(err)
	}
	s.feed(scheduler.JobVanished(2))
	want := []play.Mark{
		{At: 2000, What: "kill", Text: "map 5 of day is killed on n1"},
		{At: 3000, What: "kill", Text: "2 attempts are killed on n1"},
		{At: 4000, What: "congestion", Text: "the links of r0 are congested"},
		{At: 5000, What: "congestion", Text: "the links of r1 are congested"},
		{At: 7000, What: "congestion", Text: "the links of r0 are congested"},
		{At: 8000, What: "node", Text: "n0 is gone, and 4 attempts with it"},
		{At: 8000, What: "kill", Text: "night is killed"},
	}
	rec := s.tape.Recording()
	if d := gocmp.Diff(want, rec.Marks); d != "" {
		t.Error(d)
	}
	if d := gocmp.Diff([]uint8{1, 0, 1, 1, 0, 1, 1, 1}, rec.Net.Congested); d != "" {
		t.Errorf("congested: %s", d)
	}
	for i, h := range rec.Attempts.How { // of those that a machine or their owner has taken
		if job := rec.Attempts.Job[i]; (rec.Attempts.Node[i] == 0 || job == 1) && h != play.Stopped {
			t.Errorf("attempt %d on node %d, of job %d, ended as %d", i, rec.Attempts.Node[i], job, h)
		}
	}
}

// TestPage: a page has one recording or two, a way back, and needs nothing from elsewhere.
func TestPage(t *testing.T) {
	one := play.NewRecorder("one", "").Recording()
	for n := range 4 {
		var b bytes.Buffer
		err := play.Write(&b, "../index.html", "A <b>day</b>", slices.Repeat([]*play.Recording{one}, n)...)
		if (err == nil) != (n == 1 || n == 2) {
			t.Errorf("%d recordings: %v", n, err)
		}
		if err == nil && (!strings.Contains(b.String(), `href="../index.html"`) || !strings.Contains(b.String(), "A &lt;b&gt;day") || strings.Contains(b.String(), "<script src")) {
			t.Errorf("%d recordings: %.2000s", n, &b)
		}
	}
}

// TestPageOfNoNumber: a recording that cannot be written is refused, and is no page without data.
func TestPageOfNoNumber(t *testing.T) {
	bad := play.NewRecorder("one", "").Recording()
	bad.Figures = []play.Figure{{At: 1, Name: "load", Value: math.NaN()}}
	if _, err := play.Pack([]*play.Recording{bad}); err == nil {
		t.Error("no number is packed")
	}
	if err := play.Write(io.Discard, "", "", bad); err == nil {
		t.Error("a page shows no number")
	}
}

// figured is fifo that shows numbers.
type figured struct {
	*fifo.Policy
	list []scheduler.Figure
}

func (f *figured) Figures(time.Duration, *scheduler.View) []scheduler.Figure { return f.list }

// TestFigures: a recording has each number that the policy shows where it changes, and none of a single job.
func TestFigures(t *testing.T) {
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	state, err := scheduler.NewState(topo, scheduler.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	policy := &figured{Policy: fifo.New(scheduler.DefaultReduceRule())}
	s := &stage{t: t, tape: play.NewRecorder("fifo", "")}
	s.loop = drive.New(scheduler.NewEngine(state, policy, nil), drive.Config{Log: func(l *drive.Line) { s.tape.Hear(s.loop, l) }})
	s.feed(scheduler.NodeUp(0, scheduler.Capacity{Containers: 1}))
	s.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 0, Maps: 1}))
	of := func(name string, v float64) scheduler.Figure {
		return scheduler.Figure{Name: name, Job: scheduler.NoJob, Value: v}
	}
	for _, list := range [][]scheduler.Figure{
		{of("load", 0), of("late", 2), {Name: "need", Job: 0, Value: 7}},
		{of("load", 0), of("late", 3), {Name: "need", Job: 0, Value: 8}},
		{of("load", 0), of("late", 3)},
		{of("load", 1), of("late", 2)},
	} {
		policy.list = list
		s.offer()
		s.now += time.Second
	}
	want := []play.Figure{{At: 2000, Name: "load"}, {At: 2000, Name: "late", Value: 2}, {At: 3000, Name: "late", Value: 3}, {At: 5000, Name: "load", Value: 1}, {At: 5000, Name: "late", Value: 2}}
	if d := gocmp.Diff(want, s.tape.Recording().Figures); d != "" {
		t.Error(d)
	}
}

// oneContainer records jobs of two maps, by their names, that all wait for one container.
func oneContainer(t *testing.T, name string, jobs ...string) *play.Recording {
	t.Helper()
	topo, err := topology.Uniform(1, 1, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := policies.Policy(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	tape := play.NewRecorder(name, "")
	cfg := sim.Config{Topology: topo, Capacity: scheduler.Capacity{Containers: 1}, State: scheduler.DefaultConfig(), Policy: policy, Model: sim.NewFixed()}
	cfg.Lines = tape.Hear
	var list []*sim.Job
	for i, job := range jobs {
		list = append(list, &sim.Job{Spec: &scheduler.JobSpec{ID: scheduler.JobID(i), Name: job, Maps: 2}, Maps: []time.Duration{time.Second}})
	}
	if _, err := sim.Run(cfg, list); err != nil {
		t.Fatal(err)
	}
	return tape.Recording()
}

// TestListIsBounded: of those who wait a recording lists the first, as many as it says, so that a page knows when there may be more.
func TestListIsBounded(t *testing.T) {
	jobs := make([]string, 12)
	rec, most := oneContainer(t, "fair", jobs...), 0
	for _, list := range rec.Others {
		most = max(most, len(list)/2)
	}
	if most != rec.Listed || most >= len(jobs) {
		t.Errorf("a list has %d of %d jobs, and the recording says %d", most, len(jobs), rec.Listed)
	}
}

// TestSameName: jobs that share a name are told apart, also from one that is really called so, in lists, marks and reasons.
func TestSameName(t *testing.T) {
	rec := oneContainer(t, "fifo", "sort", "sort", "sort (2)", "sort")
	var names []string
	for _, j := range rec.Jobs {
		names = append(names, j.Name)
	}
	if got := strings.Join(names, ", "); got != "sort, sort (2), sort (2) (2), sort (3)" {
		t.Errorf("the jobs are called %s", got)
	}
	for i, text := range rec.Decisions.Text {
		if name := names[rec.Decisions.Job[i]]; !strings.HasPrefix(rec.Texts[text]+" ", name+" ") {
			t.Errorf("a decision about %s says %s", name, rec.Texts[text])
		}
	}
}
