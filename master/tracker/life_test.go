package tracker

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A life is a cluster whose users and workers do what a seed says, and what an onlooker remembers of it.
type life struct {
	scene
	rng     *rand.Rand
	hands   []*hand
	ids     []wire.JobID
	plans   map[wire.StageRef]int64 // how many tasks a stage has
	over    map[wire.JobID]wire.JobStatus
	near    map[wire.JobID]map[string]int // first attempts of maps, by where their input lies
	records []Record
	calm    bool // nothing new comes, and nothing fails
}

func newLife(t *testing.T, seed uint64) *life {
	l := &life{
		scene: scene{t: t, c: newCore(t)}, rng: rand.New(rand.NewPCG(seed, 1)),
		plans: map[wire.StageRef]int64{}, over: map[wire.JobID]wire.JobStatus{}, near: map[wire.JobID]map[string]int{},
	}
	l.c.Resume(0)
	l.limit("bob", "containers", 4)
	for i := range 3 {
		h := &hand{name: wire.NodeName(fmt.Sprint("n", i)), rack: fmt.Sprint("r", i/2), room: 3}
		h.restart()
		l.hands = append(l.hands, h)
		l.say(h)
	}
	return l
}

func pick[E any](l *life, of []E) E { return of[l.rng.IntN(len(of))] }

func (l *life) limit(who, what string, n int64) {
	if err := l.c.SetLimits(l.now, wire.LimitRequest{User: who, Changes: map[string]int64{what: n}}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) spec() wire.JobSpec {
	return wire.JobSpec{
		Name: pick(l, []string{"a", "b"}), User: pick(l, []string{"ann", "bob"}), Queue: pick(l, []string{"", "q"}),
		Stages: 1 + l.rng.IntN(2), Slowstart: pick(l, []float64{0, 1}), Program: wire.Program{Builtin: "sleep"},
	}
}

func (l *life) submit() {
	id, err := l.c.Submit(l.now, l.spec())
	if err != nil {
		l.t.Fatal(err)
	}
	l.ids = append(l.ids, id)
}

// drive does what a driver is told to; ended says that this is its end.
func (l *life) drive(id wire.AttemptID) (ended bool, e wire.Ended) {
	e = wire.Ended{ID: id, OK: true}
	switch step := l.c.DriverStep(id); step.Do {
	case "plan":
		maps, reducers := 1+l.rng.IntN(4), l.rng.Int32N(3)
		if _, err := l.c.Plan(l.now, id, &wire.StagePlan{Splits: splitsOf(maps), Reducers: reducers}); err != nil {
			l.t.Fatal(err)
		}
		l.plans[wire.StageRef{Job: id.Job, Stage: id.Stage}] = int64(maps) + int64(reducers)
	case "commit":
		want := int(step.Info.Reducers)
		if want == 0 {
			want = int(step.Info.Maps)
		}
		if len(step.Winners) != want || slices.Contains(step.Winners, 0) {
			l.t.Fatalf("%s is to give %v names, of %d tasks", id, step.Winners, want)
		}
		if err := l.c.Commit(l.now, id, ""); err != nil {
			l.t.Fatal(err)
		}
		return true, e
	case "stop":
		e.OK, e.Error = false, step.Why
		return true, e
	}
	return false, e
}

// work lets a worker end something that it runs.
func (l *life) work(h *hand) {
	ids := slices.SortedFunc(maps.Keys(h.running), func(a, b wire.AttemptID) int { return strings.Compare(a.String(), b.String()) })
	if len(ids) == 0 {
		l.say(h)
		return
	}
	id := pick(l, ids)
	if id.Kind == wire.DriverTask {
		if ended, e := l.drive(id); ended {
			l.say(h, e)
		}
		return
	}
	e := wire.Ended{ID: id, OK: true, OutBytes: 10, Counts: wire.Counts{"g": {"n": 1}}}
	if fate := l.rng.IntN(20); !l.calm && fate < 2 {
		e = wire.Ended{ID: id, Lost: fate == 1, Error: "bad luck"}
	}
	l.say(h, e)
}

func (l *life) step() {
	l.now += 20 * time.Millisecond
	h := pick(l, l.hands)
	switch what := l.rng.IntN(40); {
	case l.calm || what > 9:
		l.work(h)
	case what < 4 && len(l.ids) < 8:
		l.submit()
	case what == 4:
		spec := l.spec()
		_ = l.c.Drop(l.now, spec.Name, spec.User) // it may not be announced
		if err := l.c.Expect(l.now, []wire.JobSpec{l.spec()}); err != nil {
			l.t.Fatal(err)
		}
	case what == 5 && len(l.ids) > 0:
		_ = l.c.Kill(l.now, pick(l, l.ids), "no longer wanted") // it may have ended
	case what == 6:
		l.limit(pick(l, []string{"ann", wire.AllUsers}), "running", l.rng.Int64N(3))
	case what == 7:
		if err := l.c.Drain(l.now, h.name, l.rng.IntN(3) > 0); err != nil {
			l.t.Fatal(err)
		}
	case what == 8:
		h.restart()
		if l.rng.IntN(2) == 0 {
			h.held = nil // with another disk
		}
		l.say(h)
	case what == 9:
		l.c.NodeGone(l.now, h.name, h.addr(), "its connection broke")
		if l.rng.IntN(2) == 0 {
			l.say(h)
		}
	}
	l.c.Tick(l.now)
	for range 2 { // what one says may be work, or an end, for another
		for _, h := range l.hands {
			l.say(h)
		}
	}
	out := l.c.Take()
	l.records = append(l.records, out.Records...)
	for _, e := range out.Events {
		if e.Kind == wire.PastLaunched && e.ID.Kind == wire.MapTask && !e.Second {
			if l.near[e.ID.Job] == nil {
				l.near[e.ID.Job] = map[string]int{}
			}
			l.near[e.ID.Job][e.Locality]++
			if want := map[wire.NodeName]string{"n0": "node", "n1": "rack"}[e.Node]; want != "" && e.Locality != want {
				l.t.Errorf("a map with its input on n0 is %q to it on %s", e.Locality, e.Node)
			}
		}
	}
}

// look holds what the master says against what workers do and what it said before.
func (l *life) look() {
	users, queues, tasks := map[string][3]int{}, map[string][5]int{"default": {}}, map[wire.JobID]int{}
	seen := map[wire.AttemptID]bool{}
	for i, h := range l.hands {
		if n := l.c.Nodes(l.now)[i]; n.Running != len(h.running) || len(h.running) > int(h.room) {
			l.t.Errorf("%s runs %d with room for %d, and the master says %d", h.name, len(h.running), h.room, n.Running)
		}
		for id := range h.running {
			if seen[id] {
				l.t.Errorf("%s runs twice", id)
			}
			seen[id] = true
			tasks[id.Job]++
		}
	}
	for _, s := range l.c.Jobs() {
		u, q := users[s.User], queues[s.Queue]
		if s.Queue == "" {
			q = queues["default"]
		}
		before, ended := l.over[s.Job]
		if ended && (before.State != s.State || before.Ended != s.Ended || before.Error != s.Error) {
			l.t.Errorf("%s was %v and is %v", s.Job, before, s)
		}
		switch s.State {
		case wire.Succeeded:
			q[3]++
		case wire.Failed, wire.Cancelled:
			q[4]++
		case wire.Running:
			u[0]++
			q[1]++
		default:
			u[1]++
			q[2]++
		}
		if fmt.Sprint(s.Locality) != fmt.Sprint(l.near[s.Job]) {
			l.t.Errorf("%s: maps began %v, told are %v", s.Job, s.Locality, l.near[s.Job])
		}
		if u[2] += tasks[s.Job]; s.State.Ended() {
			l.over[s.Job] = s
			l.count(s)
		} else {
			q[0] += tasks[s.Job]
			if s.Reduces.Done < s.Reduces.Total { // else nobody needs them
				l.outputs(s)
			}
		}
		users[s.User] = u
		if s.Queue == "" {
			s.Queue = "default"
		}
		queues[s.Queue] = q
	}
	for _, u := range l.c.Users(l.now, slices.Values([]string{"ann", "bob"})) {
		// One may be beyond the limit of four: where map output was lost, nothing would end otherwise.
		if want := users[u.User]; u.Running != want[0] || u.Waiting != want[1] || u.Containers != want[2] || u.User == "bob" && u.Containers > 5 {
			l.t.Errorf("%+v: %v run, wait, and containers", u, want)
		}
	}
	for _, q := range l.c.Queues() {
		if got := [5]int{q.Tasks, q.Running, q.Waiting, q.Succeeded, q.Failed}; got != queues[q.Queue] {
			l.t.Errorf("queue %s: %v, want %v", q.Queue, got, queues[q.Queue])
		}
		delete(queues, q.Queue)
	}
	if len(queues) > 0 {
		l.t.Errorf("queues that are not told: %v", queues)
	}
}

// outputs wants each map that is done to have its output where reduces are told it is.
func (l *life) outputs(s wire.JobStatus) {
	at := map[int32]wire.MapOutput{}
	for _, o := range l.c.Outputs(wire.OutputsRequest{StageRef: wire.StageRef{Job: s.Job, Stage: s.Stage - 1}}).Changes {
		if at[o.Map] = o; o.Lost {
			delete(at, o.Map)
		}
	}
	if len(at) != s.Maps.Done {
		l.t.Errorf("%s has %d maps that are done, and the outputs %v", s.Job, s.Maps.Done, at)
	}
	for _, o := range at {
		i := slices.IndexFunc(l.hands, func(h *hand) bool { return h.name == o.Node })
		if h := l.hands[max(i, 0)]; i < 0 || o.Addr != h.addr() || !slices.ContainsFunc(h.held, func(id wire.AttemptID) bool { return id.Job == s.Job && id.Try == o.Try }) {
			l.t.Errorf("%s: %+v is not there", s.Job, o)
		}
	}
}

// count wants each task of a job that has succeeded to be counted once, whatever was tried.
func (l *life) count(s wire.JobStatus) {
	if s.State != wire.Succeeded {
		return
	}
	var want int64
	for stage := range s.Stages {
		want += l.plans[wire.StageRef{Job: s.Job, Stage: stage}]
	}
	full, err := l.c.Status(s.Job)
	if got := full.Counts["g"]["n"]; err != nil || got != want {
		l.t.Errorf("%s has %d tasks, and %d are counted: %v", s.Job, want, got, err)
	}
}

// again is a master that has read these records, as they were written.
func (l *life) again(records []Record) *Tracker {
	l.t.Helper()
	b, err := json.Marshal(records)
	var back []Record
	if err == nil {
		err = json.Unmarshal(b, &back)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	return restarted(l.t, back)
}

// seen is what can be asked of a master that its workers have not reported to yet.
func (l *life) seen(c *Tracker) (lines []string) {
	plans := c.Plans()
	slices.SortFunc(plans.Plans, func(a, b wire.Plan) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	out := []any{c.Queues(), c.Users(l.now, slices.Values([]string{"ann", "bob", wire.AllUsers})), plans}
	for _, id := range l.ids {
		s, err := c.Status(id)
		out = append(out, s, fmt.Sprint(err))
		for stage := range s.Stage {
			ref := wire.StageRef{Job: id, Stage: stage}
			info, err := c.StageInfo(ref)
			out = append(out, info, fmt.Sprint(err), c.Outputs(wire.OutputsRequest{StageRef: ref}))
		}
	}
	for _, v := range out {
		b, err := json.Marshal(v)
		lines = append(lines, fmt.Sprintf("%s %v", b, err))
	}
	return lines
}

// reopen holds a master that is started again against one that reads a snapshot, and both against the one that lives.
func (l *life) reopen() {
	all, short := l.again(l.records), l.again(l.c.Snapshot(l.now))
	for i, a := range l.seen(all) {
		if b := l.seen(short)[i]; a != b {
			l.t.Errorf("from all records:\n%s\nfrom the snapshot:\n%s", a, b)
		}
	}
	for _, id := range l.ids {
		now, err1 := l.c.Status(id)
		then, err2 := all.Status(id)
		if err1 != nil || err2 != nil {
			l.t.Fatal(err1, err2)
		}
		had := func(s wire.JobStatus) string {
			if s.State == wire.Failed || s.State == wire.Cancelled {
				return fmt.Sprint(s.State, s.Submitted, s.Ended, s.Error, s.Counts) // a stage without a plan is not remembered
			}
			return fmt.Sprint(s.State.Ended(), s.Submitted, s.Error, s.Maps.Total, s.Reduces.Total, s.Reduces.Done, s.Counts)
		}
		if had(now) != had(then) {
			l.t.Errorf("%s was\n%s and is, after a restart,\n%s", id, had(now), had(then))
		}
	}
}

// TestAnyLife: whatever users ask for, and whichever workers and attempts fail, no attempt runs twice, no worker has more than it has room for,
// what has ended has ended, every list agrees with the others, a restart loses nothing that was said, and in the end every
// job ends, with each of its tasks counted once.
func TestAnyLife(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			l := newLife(t, seed)
			for i := range 150 {
				l.step()
				l.look()
				if i%25 == 24 {
					l.reopen()
				}
				if t.Failed() {
					t.Fatalf("after %d steps", i+1)
				}
			}
			l.end()
		})
	}
}

// end lets everybody go back to work, until all has ended.
func (l *life) end() {
	l.calm = true
	for _, user := range []string{"ann", wire.AllUsers} {
		l.limit(user, "running", wire.NoLimit)
	}
	for _, h := range l.hands {
		if err := l.c.Drain(l.now, h.name, true); err != nil {
			l.t.Fatal(err)
		}
	}
	for range 2000 {
		if l.step(); len(l.c.List(wire.JobsRequest{Active: true})) == 0 {
			l.look()
			l.reopen()
			return
		}
	}
	for _, s := range l.c.List(wire.JobsRequest{Active: true}) {
		why, err := l.c.Why(l.now, s.Job)
		l.t.Errorf("%+v does not end: %s, %v", s, why, err)
	}
}
