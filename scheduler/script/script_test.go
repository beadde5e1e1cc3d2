package script

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

const shortest = "def key(job, node, now):\n    return job.pending_maps\n"

// theOldest decides everything itself, as fifo does.
const theOldest = `
def assign(node, cluster, now):
    for kind in ("map", "reduce"):
        for job in cluster.jobs(kind):
            return run(job, kind, "{job} is oldest")
    return idle("no job has work for {node}")
`

// TestSuite holds scripts of both forms to what every policy promises.
func TestSuite(t *testing.T) {
	for name, text := range map[string]string{"key": shortest, "assign": theOldest} {
		t.Run(name, func(t *testing.T) {
			schedulertest.Suite(t, func() scheduler.Policy {
				p, err := New(name, text)
				if err != nil {
					t.Fatal(err)
				}
				return p
			}, schedulertest.Promises{HoldsReduces: true, Quick: true})
		})
	}
}

// TestMistakes: what is wrong is said with its line, and nothing is decided from then on.
func TestMistakes(t *testing.T) {
	assign := func(body string) string { return "def assign(node, cluster, now):\n    " + body + "\n" }
	for text, want := range map[string]string{
		"def key(job, node, now):\n    return job.nothing\n":                      "s:2: in key: job has no .nothing",
		"def key(job, node, now):\n    for i in range(1 << 40):\n        i = i\n": "s:2: in key: ",
		"def key(job):\n    return 1\n":                                           "key",
		"def key(job, node, now):\n    return None\n":                             "key returned None for j",
		"def key(job, node, now):\n    return node\n":                             "", // one job: there is nothing to compare
		assign("return 7"): "assign returned int, want run(job, kind, why)",
		assign(`return run(cluster.jobs("map")[0], "red")`):    `kind "red"`,
		assign("cluster.free = 7"):                             "can't assign to .free",
		assign("node.name = 'x'"):                              "can't assign to .name",
		assign(`return run(cluster.jobs("map")[0], "reduce")`): "where none may start",
		assign("return idle(1 // 0)"):                          "division by zero",
		assign("return assign(node, cluster, now)"):            "recursively",
	} {
		p, err := New("s", text)
		if err != nil {
			t.Fatal(err)
		}
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 4, Reduces: 1})
		r.Serve(0)
		if err := p.Err(); want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if got := r.Serve(0); want != "" && len(got) > 0 {
			t.Errorf("%q: decided %v after its mistake", text, got)
		}
	}
	for text, want := range map[string]string{
		"def key(":                      "s:1",
		"x = 1":                         "define either",
		shortest + theOldest:            "define either",
		"load('x', 'y')":                "load",
		"open('/etc/passwd')":           "undefined: open",
		"x = [i for i in range(1<<40)]": "range of 1099511627776 numbers: at most 1000000",
		"x = max(range(1<<40))":         "at most 1000000",
		"def f():\n    for i in range(1000000):\n        i = i + 1\nf()\nkey = f": "too many steps: a call may take 1000000; loop over less",
		strings.Repeat("#", MaxText+1):                                            "at most",
		"def f(): f()\nf()\nkey = f":                                              "recursively",
	} {
		if _, err := New("s", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// TestStateIsKept: a script may remember, in the dictionary that it is given for that.
func TestStateIsKept(t *testing.T) {
	p, err := New("s", `
def assign(node, cluster, now):
    state["calls"] = state.get("calls", 0) + 1
    for job in cluster.jobs("map"):
        return run(job, "map", "call %d" % state["calls"])
    return idle()
`)
	if err != nil {
		t.Fatal(err)
	}
	r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 3})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9})
	var said []string
	if _, err := r.Offer(0, 0, func(d scheduler.Decision) { said = append(said, d.Reason.Say) }); err != nil || p.Err() != nil || strings.Join(said, ", ") != "call 1, call 2, call 3" {
		t.Errorf("%q, %v, %v", said, err, p.Err())
	}
}

// TestKept: a job that a script has kept shows what it had when it was listed last, and nothing that must be asked anew; jobs that have
// ended are forgotten.
func TestKept(t *testing.T) {
	p, err := New("s", `
def assign(node, cluster, now):
    jobs = cluster.jobs("map")
    if not jobs:
        return run(state["kept"], "map") if now > 9 else idle("%s had %d, now %s" % (state["kept"].name, state["kept"].pending_maps, state["kept"].maps_on if now > 5 else "?"))
    state["kept"] = jobs[0]
    return run(jobs[0], "map", "%d" % jobs[0].maps_on(node))
`)
	if err != nil {
		t.Fatal(err)
	}
	r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 3})
	r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 2})
	why, err := r.Offer(0, 0, nil)
	if err != nil || p.Err() != nil || why.Say != "j had 1, now ?" {
		t.Errorf("%q, %v, %v", why.Say, err, p.Err())
	}
	if _, err = r.Offer(10*time.Second, 0, nil); err != nil || p.Err() == nil || !strings.Contains(p.Err().Error(), "where none may start") {
		t.Errorf("a job that has nothing to start: %v, %v", err, p.Err())
	}
	for text, want := range map[string]string{
		`state["n"] = state.get("n", node); return run(cluster.jobs("map")[0], "map", str(cluster.jobs("map")[0].maps_on(state["n"])))`:                                "",
		`state["j"] = state.get("j") or cluster.jobs("map")[0]; return idle(str(state["j"].maps_on(node))) if state.get("again") else state.update(again=1) or idle()`: "maps_on is known of the jobs and the machine of this call",
	} {
		p, err := New("s", "def assign(node, cluster, now):\n    "+text+"\n")
		if err != nil {
			t.Fatal(err)
		}
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 1})
		r.Serve(0)
		r.Serve(0)
		if got := p.Err(); want == "" && got != nil && !strings.Contains(got.Error(), "out of range") || want != "" && (got == nil || !strings.Contains(got.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, got, want)
		}
	}
	asked := p.asks.(*Program)
	p.Observe(0, scheduler.JobFinished(1), nil)
	if _, err := asked.Ask(&Question{Ended: p.ended}); err != nil || len(asked.jobs) != 0 {
		t.Errorf("%d jobs are remembered, %v", len(asked.jobs), err)
	}
}

// FuzzScript: no text stops the policy otherwise than with an error.
func FuzzScript(f *testing.F) {
	f.Add(shortest)
	f.Add(theOldest)
	f.Add("def key(job, node, now):\n    return {job: [node.free, job.maps_on(node)]}")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "range") || strings.ContainsAny(text, "*+%") || strings.Contains(text, "join") || strings.Contains(text, "replace") || len(text) > 1000 {
			return // may take memory, which is bounded outside
		}
		p, err := New("s", text)
		if err != nil {
			return
		}
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "{j}", Maps: 2})
		r.Serve(0)
	})
}

func BenchmarkDecisions(b *testing.B) {
	for name, text := range map[string]string{"key": shortest, "assign": theOldest} {
		b.Run(name, func(b *testing.B) {
			schedulertest.BenchDecisions(b, func() scheduler.Policy {
				p, err := New(name, text)
				if err != nil {
					b.Fatal(err)
				}
				return p
			}, schedulertest.Size{Nodes: 40, Jobs: 20, Tasks: 40_000})
		})
	}
}

// TestExample: the script that the documentation and the playground begin with is one.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../play/assets/example.star")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New("example", string(text)); err != nil {
		t.Error(err)
	}
}
