package script

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
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
