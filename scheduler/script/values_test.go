package script

import (
	"maps"
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

// TestValuesOfAScript: what a script may do with what it is given, and what it is told where it may not.
func TestValuesOfAScript(t *testing.T) {
	for body, want := range map[string]string{
		`idle(node.rack)`: "r0",
		`idle("%s %s %s" % (node, cluster, cluster.jobs("map")[0]))`:           "node n0 cluster job j",
		`idle("yes" if node and cluster and cluster.jobs("map")[0] else "no")`: "yes",
		`idle("%s" % {node: 1}[node])`:                                         "1",
		`idle(type(idle()) + " " + type(cluster))`:                             "decision cluster",
		`idle("yes" if run(cluster.jobs("map")[0], "map") else "no")`:          "yes",
		`idle("yes" if idle() else "no")`:                                      "no",
		`idle(str(idle()))`:                                                    "decision",
		`idle(",".join(dir(node)))`:                                            "class_name,congested,free,name,rack,running",
		`idle()`:                                                               "the script leaves n0 as it is",
		`run(cluster.jobs("map")[0], "map")`:                                   "the script chose j",
		`idle("x" * 1000)`:                                                     strings.Repeat("x", maxSay) + "…",
		`idle("x" * 300)`:                                                      strings.Repeat("x", maxSay),
		`idle("x" * 299 + "ä")`:                                                strings.Repeat("x", 299) + "…",
		`idle(str({idle(): 1}))`:                                               "error: a decision is no key",
		`idle(node.colour)`:                                                    "error: node has no .colour",
		`idle(cluster.colour)`:                                                 "error: cluster has no .colour",
		`idle(1)`:                                                              "error: idle: for parameter why: got int, want string",
		`run("j", "map")`:                                                      "error: run: for parameter job: got string, want job",
		`run(cluster.jobs("map")[0])`:                                          "error: run: missing argument for kind",
		`run(cluster.jobs("map")[0], "driver")`:                                `error: kind "driver": write "map" or "reduce"`,
	} {
		p, err := New("s", "def assign(node, cluster, now):\n    return "+body+"\n")
		if err != nil {
			t.Fatal(err)
		}
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "j", Maps: 4})
		got := p.Assign(0, 0, r.View()).Reason.Text(r.View())
		if err := p.Err(); err != nil {
			got = "error: " + err.Error()
		}
		what, isError := strings.CutPrefix(want, "error: ")
		if isError != strings.HasPrefix(got, "error: ") || isError && !strings.Contains(got, what) || !isError && got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestKeysThatCannotBeCompared: keys of two jobs that have no order are told of with the names of both.
func TestKeysThatCannotBeCompared(t *testing.T) {
	p, err := New("s", "def key(job, node, now):\n    return job.name if job.id == 1 else 7\n")
	if err != nil {
		t.Fatal(err)
	}
	r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
	r.Submit(&scheduler.JobSpec{ID: 1, Name: "a", Maps: 1}, &scheduler.JobSpec{ID: 2, Name: "b", Maps: 1})
	r.Want(r.Serve(0))
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "s: keys of b and a: ") {
		t.Error(err)
	}
}

// TestClusterAfterItsCall: a cluster that a script has kept says nothing when its call is over.
func TestClusterAfterItsCall(t *testing.T) {
	c := &cluster{&Program{}}
	if v, err := c.Attr("free"); v != nil || err == nil || !strings.Contains(err.Error(), "during assign only") {
		t.Errorf("%v, %v", v, err)
	}
}

// TestParams: the parameters of a script say again what it was made of.
func TestParams(t *testing.T) {
	params := Params("mine", shortest)
	if name, text, err := Text(params, "unnamed"); name != "mine" || text != shortest || err != nil {
		t.Errorf("%q, %q, %v", name, text, err)
	}
	params = maps.Clone(params)
	delete(params, "name")
	if name, _, err := Text(params, "unnamed"); name != "unnamed" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if name, _, err := Text(map[string]string{"code": shortest, "name": strings.Repeat("n", 1000)}, ""); len(name) > maxSay+4 || err != nil {
		t.Errorf("a name of %d bytes, %v", len(name), err)
	}
}

// TestKeyOfNobody: who answers for a script may choose only of those that were asked about.
func TestKeyOfNobody(t *testing.T) {
	for _, a := range []Answer{{OK: true, Job: 9}, {OK: true, Job: 2}, {}} {
		p := Asking("s", Form{Key: true}, always(a))
		r := schedulertest.NewRig(t, p, 1, scheduler.Capacity{Containers: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Name: "a", Maps: 1}, &scheduler.JobSpec{ID: 2, Name: "b", Reduces: 1, Maps: 1, MapDemand: scheduler.Demand{Slots: 3}})
		r.Want(r.Serve(0))
		if err := p.Err(); err == nil || !strings.Contains(err.Error(), "which was not asked about") {
			t.Errorf("%+v: %v", a, err)
		}
	}
}
