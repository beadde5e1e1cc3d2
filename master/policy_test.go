package master

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/script"
)

// scripts makes a master run scripts in processes of their own.
func scripts(c *Config) {
	c.ScriptHost = func() (*exec.Cmd, error) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"SCRIPT_HOST=1"}
		return cmd, nil
	}
}

func scriptOf(text string) wire.Choice {
	return wire.Choice{Name: scheduler.ScriptName, Params: script.Params("mine", text)}
}

const goodScript = "def key(job, node, now):\n    return 1\n"

// TestPoliciesAreReplaced: administrators choose another policy while the cluster runs; what is no policy, or has wrong parameters, changes
// nothing. The next master has the usual ones again.
func TestPoliciesAreReplaced(t *testing.T) {
	m := served(t, withKey(t))
	now := func() string {
		t.Helper()
		p := must(t, m, ann, api.SchedulerGet, struct{}{})
		return p.Policy.Name + " " + p.Admission.Name
	}
	for what, x := range map[string]struct {
		choice wire.Choice
		words  string
	}{
		"what is no policy":                 {wire.Choice{Name: "fiar"}, "fair"},
		"a wrong parameter":                 {wire.Choice{Name: "fair", Params: map[string]string{"colour": "red"}}, "colour"},
		"a wrong parameter of an admission": {wire.Choice{Name: "marp", Params: map[string]string{"colour": "red"}}, "colour"},
		"a script where there are none":     {scriptOf(goodScript), "runs no scripts"},
		"a script without a text":           {wire.Choice{Name: scheduler.ScriptName}, ""},
	} {
		_, err := call(t, m, admin, api.SchedulerSet, x.choice)
		refusal(t, what, err, wire.Invalid, x.words)
	}
	_, err := call(t, m, ann, api.SchedulerSet, wire.Choice{Name: "fair"})
	refusal(t, "a policy that a user chooses", err, wire.Denied, "administrators")
	if got := now(); got != "fifo unlimited" {
		t.Errorf("after refusals %s decide", got)
	}
	must(t, m, admin, api.SchedulerSet, wire.Choice{Name: "fair"})
	must(t, m, admin, api.SchedulerSet, wire.Choice{Name: "marp"})
	if got := now(); got != "fair marp" {
		t.Errorf("%s decide", got)
	}
	id := submitted(t, m, ann, sleepJob("j"))
	newHand(t, m, "w1").succeed(id) // under the new ones
	inHistory(t, m, id)
	if under := must(t, m, ann, api.HistoryJob, wire.JobRequest{Job: id}).Under; under == nil || under.Policy.Name != "fair" || under.Admission.Name != "marp" {
		t.Errorf("the job came under %+v", under)
	}
	if m = again(t, m); now() != "fifo unlimited" {
		t.Errorf("after a restart %s decide", now())
	}
}

// TestScriptDecides: a script decides, also for the next master, until another policy takes its place. A master that cannot start it says so.
func TestScriptDecides(t *testing.T) {
	m := served(t, scripts)
	must(t, m, admin, api.SchedulerSet, scriptOf(goodScript))
	newHand(t, m, "w1").succeed(submitted(t, m, ann, sleepJob("j")))
	_, err := call(t, m, admin, api.SchedulerSet, scriptOf("def key(job, node, now):\n    return nonsense\n"))
	refusal(t, "a script that cannot work", err, wire.Invalid, "stays as it was", "nonsense")
	m = again(t, m)
	if p := must(t, m, ann, api.SchedulerGet, struct{}{}); p.Policy.Name != scheduler.ScriptName || p.Policy.Params[wire.CodeParam] != goodScript {
		t.Errorf("after a restart %+v decides", p.Policy)
	}
	m = again(t, m, func(c *Config) {
		c.ScriptHost = func() (*exec.Cmd, error) { return nil, errors.New("no more processes") }
	})
	if p := must(t, m, ann, api.SchedulerGet, struct{}{}); p.Policy.Name != "fifo" || !strings.Contains(strings.Join(p.Notes, " "), "no more processes") {
		t.Errorf("where the script cannot be started %+v decides: %q", p.Policy, p.Notes)
	}
	m = again(t, m, scripts)
	must(t, m, admin, api.SchedulerSet, wire.Choice{Name: "fair"})
	m = again(t, m)
	if p := must(t, m, ann, api.SchedulerGet, struct{}{}); p.Policy.Name != "fifo" || len(p.Notes) != 0 {
		t.Errorf("a script that was replaced is back: %+v", p)
	}
}

// TestScriptThatFails: the usual policy takes the place of a script whose process ends, jobs go on, and everybody sees why.
func TestScriptThatFails(t *testing.T) {
	var process *exec.Cmd
	m := served(t, func(c *Config) {
		scripts(c)
		start := c.ScriptHost
		c.ScriptHost = func() (cmd *exec.Cmd, err error) {
			process, err = start()
			return process, err
		}
	})
	must(t, m, admin, api.SchedulerSet, scriptOf(goodScript))
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	newHand(t, m, "w1").succeed(submitted(t, m, ann, sleepJob("j")))
	s := must(t, m, ann, api.SchedulerStatus, struct{}{})
	if s.Policy.Name != "fifo" || s.Broken == 0 || !strings.Contains(s.LastBroken, "the script has failed") || !strings.Contains(strings.Join(s.Notes, " "), "fifo has taken the place") {
		t.Errorf("%+v", s)
	}
	if m = again(t, m); must(t, m, ann, api.SchedulerGet, struct{}{}).Policy.Name != "fifo" {
		t.Error("a script that failed is back")
	}
}

// TestTrainedClassifier: hybrid takes the classifier from the master's directory, unless it is given one. A file that is none, or too
// large, is refused by its name, at the start and later.
func TestTrainedClassifier(t *testing.T) {
	m := served(t)
	file := filepath.Join(m.cfg.Dir, TrainedFile)
	set := func(params map[string]string) error {
		_, err := call(t, m, admin, api.SchedulerSet, wire.Choice{Name: "hybrid", Params: params})
		return err
	}
	if err := set(nil); err != nil {
		t.Fatalf("without a classifier: %v", err)
	}
	for what, x := range map[string]struct{ text, words string }{
		"no classifier":        {"{", "train anew"},
		"one that is too long": {strings.Repeat(" ", MaxTrained+1), "more than"},
	} {
		if err := os.WriteFile(file, []byte(x.text), 0o600); err != nil {
			t.Fatal(err)
		}
		refusal(t, what, set(nil), wire.Invalid, file, x.words)
		if err := set(map[string]string{"model": "builtin"}); err != nil && strings.Contains(err.Error(), file) {
			t.Errorf("%s, and another is given: %v", what, err)
		}
		cfg := m.cfg
		cfg.Policy = "hybrid"
		if _, err := (&Master{cfg: cfg}).choose("hybrid", nil); err == nil || !strings.Contains(err.Error(), x.words) {
			t.Errorf("%s at the start: %v", what, err)
		}
	}
}

// TestTrainedClassifierOutOfReach: a classifier that is there and cannot be opened is refused like one that is none.
func TestTrainedClassifierOutOfReach(t *testing.T) {
	m := served(t)
	file := filepath.Join(m.cfg.Dir, TrainedFile)
	if err := os.Symlink(TrainedFile, file); err != nil { // to itself
		t.Fatal(err)
	}
	_, err := call(t, m, admin, api.SchedulerSet, wire.Choice{Name: "hybrid"})
	refusal(t, "a classifier that cannot be opened", err, wire.Invalid, file, "train anew")
}

// TestDecisionsAreTold: in pages of any size, of all jobs or of one.
func TestDecisionsAreTold(t *testing.T) {
	m := served(t)
	h := newHand(t, m, "w1")
	first, second := submitted(t, m, ann, sleepJob("a")), submitted(t, m, bob, sleepJob("b"))
	h.succeed(first)
	h.succeed(second)
	all := must(t, m, ann, api.SchedulerLog, wire.DecisionsRequest{})
	var paged []wire.Decision
	for from := uint64(0); from < all.Next; {
		page := must(t, m, ann, api.SchedulerLog, wire.DecisionsRequest{From: from, Limit: 2})
		if len(page.Decisions) > 2 || page.Next <= from {
			t.Fatalf("from %d: %+v", from, page)
		}
		paged, from = append(paged, page.Decisions...), page.Next
	}
	if len(paged) != len(all.Decisions) || len(paged) < 8 { // two jobs of a driver, two maps and a reduce
		t.Errorf("%d decisions in pages, %d at once", len(paged), len(all.Decisions))
	}
	of := must(t, m, ann, api.SchedulerLog, wire.DecisionsRequest{Job: second})
	for _, d := range of.Decisions {
		if d.Job != second {
			t.Errorf("asked for %s, told %+v", second, d)
		}
	}
	if n := len(of.Decisions); n == 0 || n >= len(all.Decisions) {
		t.Errorf("%d decisions about %s, of %d", n, second, len(all.Decisions))
	}
}

// TestAnnouncements: users announce jobs of theirs that recur, and take them back; nobody does so for another, and on a cluster with a
// key only administrators have all planned anew.
func TestAnnouncements(t *testing.T) {
	m := served(t, withKey(t), func(c *Config) {
		c.Program, c.Queues = describedJob, map[string]Queue{"default": {Submit: []string{"ann", "bob"}}, "night": {Submit: []string{"bob"}}}
	})
	good := withSpec(copyJob("dfs:/not/yet", "dfs:/out"), func(s *wire.JobSpec) { s.Recurring, s.User = true, "bob" })
	for what, x := range map[string]struct {
		change func(s *wire.JobSpec)
		kind   wire.Kind
		words  string
	}{
		"a job that does not recur": {func(s *wire.JobSpec) { s.Recurring = false }, wire.Invalid, "--recurring"},
		"a job without a name":      {func(s *wire.JobSpec) { s.Name = "" }, wire.Invalid, "--name"},
		"a queue of others":         {func(s *wire.JobSpec) { s.Queue = "night" }, wire.Denied, "night"},
		"more than fits":            {func(s *wire.JobSpec) { s.Inputs = []string{strings.Repeat("x", maxSpec)} }, wire.TooLarge, "side file"},
		"a path of a worker's disk": {func(s *wire.JobSpec) { s.Program.Args = []string{"/etc/passwd", "dfs:/out"} }, wire.Denied, "/etc/passwd"},
		"what nobody knows":         {func(s *wire.JobSpec) { s.Program.Builtin = "sleep" }, wire.Invalid, "no such job"},
		"too many stages":           {func(s *wire.JobSpec) { s.Stages = 2 }, wire.Invalid, "a chain of 1"},
	} {
		_, err := call(t, m, ann, api.SchedulerPlan, wire.PlanRequest{Jobs: []wire.JobSpec{good, withSpec(good, x.change)}})
		refusal(t, what, err, x.kind, x.words)
	}
	if p := must(t, m, ann, api.SchedulerPlan, wire.PlanRequest{}); len(p.Plans) != 0 {
		t.Fatalf("refused, and kept: %+v", p)
	}
	p := must(t, m, ann, api.SchedulerPlan, wire.PlanRequest{Jobs: []wire.JobSpec{good}})
	if len(p.Plans) != 1 || p.Plans[0].User != "ann" || p.Plans[0].Name != "copy" || p.Planner {
		t.Fatalf("%+v", p)
	}
	_, err := call(t, m, bob, api.SchedulerPlan, wire.PlanRequest{Drop: "copy"})
	refusal(t, "what another has announced", err, wire.NotFound, "copy")
	_, err = call(t, m, ann, api.SchedulerPlan, wire.PlanRequest{Again: true})
	refusal(t, "a new plan of all", err, wire.Denied, "administrators")
	must(t, m, admin, api.SchedulerPlan, wire.PlanRequest{Again: true})
	m = again(t, m)
	if p := must(t, m, ann, api.SchedulerPlan, wire.PlanRequest{}); len(p.Plans) != 1 {
		t.Errorf("after a restart: %+v", p)
	}
	if p := must(t, m, ann, api.SchedulerPlan, wire.PlanRequest{Drop: "copy"}); len(p.Plans) != 0 {
		t.Errorf("taken back: %+v", p)
	}
}

// TestForecasts: what is known of jobs of a name is of the caller's own, unless another user is named.
func TestForecasts(t *testing.T) {
	m := served(t)
	newHand(t, m, "w1").succeed(submitted(t, m, ann, sleepJob("nightly")))
	for c, r := range map[string]wire.ForecastRequest{"ann": {Name: "nightly"}, "bob": {Name: "nightly", User: "ann"}} {
		caller := ann
		caller.User = c
		if f := must(t, m, caller, api.SchedulerForecast, r); f.User != "ann" || len(f.Stages) != 1 || f.Stages[0].Maps.Mean != 2 {
			t.Errorf("%s: %+v", c, f)
		}
	}
	_, err := call(t, m, bob, api.SchedulerForecast, wire.ForecastRequest{Name: "nightly"})
	refusal(t, "a job that bob never ran", err, wire.NotFound, "nightly", "bob")
}

// TestLoadIsTold: how busy the cluster was, in the cluster's own time.
func TestLoadIsTold(t *testing.T) {
	m := served(t, patient)
	h := newHand(t, m, "w1")
	h.report.Fresh = true
	h.say()
	id := submitted(t, m, ann, sleepJob("j"))
	eventually(t, "a sample has the job", func() bool {
		l := must(t, m, ann, api.ClusterLoad, struct{}{})
		for _, s := range l.Samples {
			if s.At > l.Now || l.Every != loadEvery.Milliseconds() {
				t.Fatalf("%+v", l)
			}
			if s.Room == 4 && len(s.Queues) == 1 && s.Queues[0].Waiting == 1 {
				return true
			}
		}
		return false
	})
	must(t, m, ann, api.JobKill, wire.JobRequest{Job: id})
}
