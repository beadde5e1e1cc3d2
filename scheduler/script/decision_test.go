package script

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/topology"
)

// TestWhatADecisionSays: a decision carries the job, the kind and the words of the script, and so does an idle answer.
func TestWhatADecisionSays(t *testing.T) {
	for _, c := range []struct {
		body, want string
		code       scheduler.Code
		kind       scheduler.Kind
		ok         bool
	}{
		{`return run(cluster.jobs("map")[0], "map", "{job} has a {kind} for {node}")`, "j has a map for r0n0", scheduler.Chosen, scheduler.Map, true},
		{`return run(cluster.jobs("reduce")[0], "reduce", "{kind}")`, "reduce", scheduler.Chosen, scheduler.Reduce, true},
		{`return idle("nothing for {node}")`, "nothing for r0n0", scheduler.Behind, scheduler.Map, false},
	} {
		p, err := Make(map[string]string{"code": "def assign(node, cluster, now):\n    " + c.body + "\n", "name": "mine"}, "unnamed")
		if err != nil {
			t.Fatal(err)
		}
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 4}, &scheduler.JobSpec{ID: 2, Name: "k", Reduces: 1})
		d := p.Assign(0, 0, r.View())
		name := r.View().Topology().Node(0).Name
		want := strings.ReplaceAll(c.want, "r0n0", name)
		if got := d.Reason.Text(r.View()); d.OK != c.ok || d.Reason.Code != c.code || d.Reason.Kind != c.kind || got != want || c.ok && d.Reason.Job != scheduler.JobID(1+c.kind) {
			t.Errorf("%s: %+v, %q, want %q", c.body, d, got, want)
		}
	}
}

// TestMake: a policy is made of a text; without one, or with parameters that are none, it is not.
func TestMake(t *testing.T) {
	for _, c := range []struct {
		params map[string]string
		want   string // of the error; "": none
	}{
		{map[string]string{"code": shortest}, ""},
		{map[string]string{"code": shortest, "name": "mine"}, ""},
		{nil, "give its text"},
		{map[string]string{"code": shortest, "nmae": "mine"}, `no parameter "nmae"`},
		{map[string]string{"code": "x ="}, ":1"},
	} {
		p, err := Make(c.params, "unnamed")
		if c.want == "" && (err != nil || p == nil) || c.want != "" && (err == nil || p != nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: %v, %v", c.params, p, err)
		}
	}
}

// TestStepsOfACall: each call has steps of its own: one that takes too many ends the script, many that take most of them do not.
func TestStepsOfACall(t *testing.T) {
	loop := func(steps string) string {
		return "def key(job, node, now):\n    for i in range(" + steps + "):\n        for k in range(10):\n            x = k\n    return now\n"
	}
	for steps, fails := range map[string]bool{"6000": false, "60000": true} {
		p, err := New("s", loop(steps))
		if err != nil {
			t.Fatal(err)
		}
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 40})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 4}, &scheduler.JobSpec{ID: 2, Name: "k", Maps: 4})
		for i := range 3 {
			r.Now = time.Duration(i) * time.Second
			r.Serve(0)
		}
		if err := p.Err(); (err != nil) != fails || fails && !strings.Contains(err.Error(), "too many steps") {
			t.Errorf("loops of %s: %v", steps, err)
		}
	}
}

// TestWhatScriptsSee: each thing that a script may ask of a job, a machine or the cluster, as it is at each call, and what it is told
// where it asks wrongly.
func TestWhatScriptsSee(t *testing.T) {
	for ask, want := range map[string]string{
		`"%s %s %s %s %d %d" % (j.name, j.user, j.queue, j.pool, j.id, j.priority)`:            "j ann q p 1 1",
		`"%d %d %d %d" % (j.weight, j.submitted, j.deadline, now)`:                             "2 0 90 7",
		`"%d %d %d %d" % (j.maps, j.reduces, j.input_bytes, j.shuffle_bytes)`:                  "4 2 70 50",
		`"%d %d %d %d" % (j.pending_maps, j.running_maps, j.done_maps, j.held)`:                "2 1 1 1",
		`"%d %d %d" % (j.pending_reduces, j.running_reduces, j.done_reduces)`:                  "2 0 0",
		`"%d %d" % (j.maps_on(node), j.maps_near(node))`:                                       "1 2",
		`"%d %d %d" % (cluster.containers, cluster.free, cluster.waiting)`:                     "6 5 1",
		`"%d %d %s %s" % (node.free, node.running, node.congested, node.class_name or "none")`: "2 1 False none",
		`"%s %s %s" % (j == cluster.jobs("map")[0], j != j, {j: 1}[j])`:                        "True False 1",
		`"%d %d" % (len(dir(j)), len(dir(node)) + len(dir(cluster)))`:                          "22 10",
		`"%s %s %d" % (type(j), type(node), len(cluster.jobs("reduce")))`:                      "job node 0",
		`str(j < j)`:                 "jobs have no order",
		`str({cluster: 1})`:          "the cluster is no key",
		`str(cluster.jobs())`:        "jobs: got 0 arguments, want 1",
		`str(cluster.jobs("green"))`: `"green"`,
		`str(cluster.jobs(1))`:       "got int, want string",
		`str(j.maps_on())`:           "maps_on: got 0 arguments, want 1",
		`str(j.maps_on(j))`:          "got job, want node",
	} {
		p, err := New("s", "def assign(node, cluster, now):\n    j = cluster.jobs(\"map\")[0]\n    return idle("+ask+")\n")
		if err != nil {
			t.Fatal(err)
		}
		r := schedulertest.NewRig(t, p, 2, scheduler.Capacity{Containers: 3})
		r.Submit(seen())
		for i := range int32(2) {
			r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: i}, 0, scheduler.NodeLocal, false))
		}
		r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1}, 0, time.Second, 0, 0))
		r.Send(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 2, Maps: 1}))
		got := p.Assign(7*time.Second, 0, r.View()).Reason.Say
		if err := p.Err(); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", ask, got, want)
		}
	}
}

// seen is a job that has something of all that may be asked: of its maps, the last has its input on the second node.
func seen() *scheduler.JobSpec {
	s := &scheduler.JobSpec{
		ID: 1, Name: "j", User: "ann", Queue: "q", Pool: "p", Priority: scheduler.High, Weight: 2, Deadline: 90 * time.Second,
		Maps: 4, Reduces: 2, Slowstart: 1, Input: scheduler.Bytes(70), Shuffle: scheduler.Bytes(50),
	}
	for range 3 {
		s.Splits.Add(10, 0)
	}
	s.Splits.Add(10, 1)
	return s
}

// TestJobsAsTheyAre: a job that a script has kept is, once it is listed again, as it is now.
func TestJobsAsTheyAre(t *testing.T) {
	p, err := New("s", `
def assign(node, cluster, now):
    jobs = cluster.jobs("map")
    if not jobs:
        return idle()
    first = state.setdefault("first", jobs[0])
    return run(first, "map", "%d wait" % first.pending_maps)
`)
	if err != nil {
		t.Fatal(err)
	}
	r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 3})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9})
	var said []string
	if _, err := r.Offer(0, 0, func(d scheduler.Decision) { said = append(said, d.Reason.Say) }); err != nil || p.Err() != nil || strings.Join(said, ", ") != "9 wait, 8 wait, 7 wait" {
		t.Errorf("%q, %v, %v", said, err, p.Err())
	}
}

// recorder asks a program as a process of its own would, and keeps the questions.
type recorder struct {
	*Program
	asked []Question
	told  []Answer
}

func (r *recorder) Ask(q *Question) (Answer, error) {
	q.Fill()
	a, err := r.Program.Ask(q)
	kept := *q
	for k := range kept.Jobs {
		kept.Jobs[k] = slices.Clone(kept.Jobs[k])
	}
	r.asked, r.told = append(r.asked, kept), append(r.told, a)
	return a, err
}

// TestQuestionsStandAlone: a question that has been filled can be asked again when the cluster has gone on, with the same answer, and
// each job that has ended is named in one question.
func TestQuestionsStandAlone(t *testing.T) {
	for name, text := range map[string]string{"key": shortest, "assign": theOldest} {
		program, err := Load(name, text)
		if err != nil {
			t.Fatal(err)
		}
		asker := &recorder{Program: program}
		p := Asking(name, program.Form(), asker)
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		ended := func(e scheduler.Event, job scheduler.JobID, want ...scheduler.JobID) {
			t.Helper()
			r.Send(e)
			r.Submit(&scheduler.JobSpec{ID: job, Maps: 1})
			asker.asked, asker.told = nil, nil
			r.Want(r.Serve(0), job)
			var got []scheduler.JobID
			for _, q := range asker.asked {
				got = append(got, q.Ended...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: told that %v have ended, want %v", name, got, want)
			}
			for i, q := range asker.asked {
				if a, err := program.Ask(&q); err != nil || a != asker.told[i] {
					t.Errorf("%s: asked again: %+v, %v; was %+v", name, a, err, asker.told[i])
				}
			}
			r.Finish(job, scheduler.Map, 0, 0)
		}
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1})
		r.Want(r.Serve(0), 1)
		r.Finish(1, scheduler.Map, 0, 0)
		ended(scheduler.JobFinished(1), 2, 1)
		ended(scheduler.JobFailed(2), 3, 2)
		ended(scheduler.JobVanished(3), 4, 3)
		if p.Err() != nil {
			t.Error(name, p.Err())
		}
	}
}

// TestMachinesAsTheyAre: a machine that a script has kept is the one that asks again, with what it has now.
func TestMachinesAsTheyAre(t *testing.T) {
	p, err := New("s", `
def assign(node, cluster, now):
    kept = state.setdefault(node.name, node)
    jobs = cluster.jobs("map")
    return run(jobs[0], "map", "%s: %d of %d" % (kept == node, kept.free, node.free)) if jobs else idle()
`)
	if err != nil {
		t.Fatal(err)
	}
	r := schedulertest.NewRig(t, p, 2, scheduler.Capacity{Containers: 2})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9})
	var said []string
	for n := range topology.NodeID(2) {
		if _, err := r.Offer(0, n, func(d scheduler.Decision) { said = append(said, d.Reason.Say) }); err != nil || p.Err() != nil {
			t.Fatal(err, p.Err())
		}
	}
	if got := strings.Join(said, ", "); got != "True: 2 of 2, True: 1 of 1, True: 2 of 2, True: 1 of 1" {
		t.Error(got)
	}
}

// TestReducesOfAScript: reduces that wait for maps give way to those of another job under a script, as under the other policies of
// a cluster.
func TestReducesOfAScript(t *testing.T) {
	p, err := New("s", shortest)
	if err != nil {
		t.Fatal(err)
	}
	r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 8})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 2, Reduces: 6, Slowstart: -1})
	for i := range int32(8) {
		k, index := scheduler.Map, i
		if i >= 2 {
			k, index = scheduler.Reduce, i-2
		}
		r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Kind: k, Index: index}, 0, scheduler.Anywhere, false))
	}
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 10})
	var got []scheduler.Kind
	if err := r.Kill(time.Minute, func(v scheduler.Victim) { got = append(got, v.Task.Kind) }); err != nil || !slices.Equal(got, slices.Repeat([]scheduler.Kind{scheduler.Reduce}, 6)) {
		t.Errorf("gave way: %v, %v", got, err)
	}
}

// TestWhereNoneMayStart: what assign chooses is refused with the names of kind, job and machine where the job is unknown or has no
// such task, and where the machine has no place for it.
func TestWhereNoneMayStart(t *testing.T) {
	for _, c := range []struct {
		answer Answer
		want   string
	}{
		{Answer{OK: true, Job: 1, Kind: scheduler.Map}, ""},
		{Answer{OK: true, Job: 2, Kind: scheduler.Map}, "s: assign chose a map of big for "},
		{Answer{OK: true, Job: 1, Kind: scheduler.Reduce}, "s: assign chose a reduce of j for "},
		{Answer{OK: true, Job: 1, Kind: scheduler.Driver}, "s: assign chose a driver of j for "},
		{Answer{OK: true, Job: 7, Kind: scheduler.Map}, "s: assign chose a map of j7 for "},
	} {
		p := Asking("s", Form{}, always(c.answer))
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2, MemoryMB: 1500})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 4, Reduces: 1, Slowstart: 1}, &scheduler.JobSpec{ID: 2, Name: "big", Maps: 1, MapDemand: scheduler.Demand{MemoryMB: 3000}})
		d := p.Assign(0, 0, r.View())
		if c.want == "" {
			if !d.OK || p.Err() != nil {
				t.Errorf("%+v: %+v, %v", c.answer, d, p.Err())
			}
			continue
		}
		if err := p.Err(); d.OK || d.Reason.Say != "the script has failed" || err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), "where none may start") {
			t.Errorf("%+v: %+v, %v", c.answer, d, err)
		}
	}
}

// always is an asker with one answer.
type always Answer

func (a always) Ask(*Question) (Answer, error) { return Answer(a), nil }
