package master

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/scripthost"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/script"
)

// TestMain is also the process of a script.
func TestMain(m *testing.M) {
	if os.Getenv("SCRIPT_HOST") == "" {
		os.Exit(m.Run())
	}
	if scripthost.Serve(os.Stdin, os.Stdout, func(string) { os.Exit(1) }) != nil {
		os.Exit(1)
	}
}

// TestScriptOfNobody: who asks for a script and goes away before the loop has it leaves no process behind, and the policy stays as it was, also
// when the loop comes to it later.
func TestScriptOfNobody(t *testing.T) {
	m := openReal(t, t.TempDir())
	defer closeReal(t, m)
	m.ctx, m.cancel = context.WithCancel(t.Context())
	m.calls, m.policy = make(chan func(time.Duration)), wire.Choice{Name: "fair"}
	defer func() { m.cancel(); m.wg.Wait() }()
	var process *exec.Cmd
	m.cfg.ScriptHost = func() (*exec.Cmd, error) {
		process = exec.Command(os.Args[0])
		process.Env = []string{"SCRIPT_HOST=1"}
		return process, nil
	}
	ctx, goAway := context.WithCancel(t.Context())
	answer := make(chan error, 1)
	go func() {
		_, err := m.setScript(ctx, rpc.Caller{}, wire.Choice{Name: scheduler.ScriptName, Params: script.Params("mine", "def key(job, node, now):\n    return 1\n")})
		answer <- err
	}()
	late := <-m.calls
	goAway()
	if err := <-answer; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if process.ProcessState == nil {
		t.Error("the process of the script lives on")
	}
	late(0)
	if m.script.host != nil || m.policy.Name != "fair" || m.jobs.Script() != nil {
		t.Errorf("%s decides, and a script that nobody waits for is kept: %+v", m.policy.Name, m.jobs.Script())
	}
}

// TestScriptThatNothingReplaces: where the script has failed and the usual policy cannot be made, nothing starts, and everybody sees why, until an
// administrator chooses another policy.
func TestScriptThatNothingReplaces(t *testing.T) {
	var process *exec.Cmd
	m := served(t, func(c *Config) {
		c.Policy = "hybrid"
		c.ScriptHost = func() (*exec.Cmd, error) {
			process = exec.Command(os.Args[0])
			process.Env = []string{"SCRIPT_HOST=1"}
			return process, nil
		}
	})
	must(t, m, admin, api.SchedulerSet, scriptOf(goodScript))
	if err := os.WriteFile(filepath.Join(m.cfg.Dir, TrainedFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	h := newHand(t, m, "w1")
	id := submitted(t, m, ann, sleepJob("j"))
	h.plan(id, 2, 1) // there is something to ask the script about
	var notes string
	eventually(t, "the notes say what is wrong", func() bool {
		h.say()
		notes = strings.Join(must(t, m, ann, api.SchedulerGet, struct{}{}).Notes, " ")
		return strings.Contains(notes, "nothing starts")
	})
	for _, words := range []string{"the script has failed", "hybrid cannot take its place", "train anew"} {
		if !strings.Contains(notes, words) {
			t.Errorf("%q does not say %q", notes, words)
		}
	}
	if h.say(); len(h.running) != 1 {
		t.Errorf("without a policy more than the driver runs: %v", h.running)
	}
	must(t, m, admin, api.SchedulerSet, wire.Choice{Name: "fifo"})
	if p := must(t, m, ann, api.SchedulerGet, struct{}{}); p.Policy.Name != "fifo" || len(p.Notes) != 0 {
		t.Errorf("after another was chosen: %+v", p)
	}
	h.of(id, wire.MapTask, 2)
}

// TestScriptWithoutAText: a journal that names a script and has no text of it does not keep the master from starting; it says so.
func TestScriptWithoutAText(t *testing.T) {
	m := served(t, scripts)
	_, err := ask(t.Context(), m, func(now time.Duration) (none, error) {
		m.jobs.KeepScript(now, &wire.Choice{Name: scheduler.ScriptName, Params: map[string]string{"name": "mine"}})
		return none{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	m = again(t, m)
	if p := must(t, m, ann, api.SchedulerGet, struct{}{}); p.Policy.Name != "fifo" || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "not the script") {
		t.Errorf("%+v", p)
	}
}

// TestReplacedScriptEnds: the process of a script ends when another policy takes its place, and when the master stops.
func TestReplacedScriptEnds(t *testing.T) {
	m := served(t, scripts)
	host := func() *scripthost.Host {
		t.Helper()
		h, err := ask(t.Context(), m, func(time.Duration) (*scripthost.Host, error) { return m.script.host, nil })
		if err != nil || h == nil {
			t.Fatalf("no script decides: %v", err)
		}
		return h
	}
	for what, end := range map[string]func(){
		"another script": func() { must(t, m, admin, api.SchedulerSet, scriptOf(goodScript)) },
		"a policy":       func() { must(t, m, admin, api.SchedulerSet, wire.Choice{Name: "fair"}) },
	} {
		must(t, m, admin, api.SchedulerSet, scriptOf(goodScript))
		h := host()
		end()
		select {
		case <-h.Closed():
		case <-time.After(time.Minute):
			t.Errorf("%s takes its place, and the process of the script lives on", what)
		}
	}
	must(t, m, admin, api.SchedulerSet, scriptOf(goodScript))
	last := host()
	m = again(t, m)
	select {
	case <-last.Closed():
	default:
		t.Error("the master has stopped, and the process of the script lives on")
	}
	if host(); m.policy.Name != scheduler.ScriptName {
		t.Errorf("after a restart %s decides", m.policy.Name)
	}
}

// TestReplacedPoliciesReplay: the decision log of a cluster whose policies were replaced while jobs ran replays, and tells of each.
func TestReplacedPoliciesReplay(t *testing.T) {
	m := served(t)
	h := newHand(t, m, "w1")
	h.succeed(submitted(t, m, ann, sleepJob("a")))
	for _, name := range []string{"fair", "marp"} {
		must(t, m, admin, api.SchedulerSet, wire.Choice{Name: name})
		h.succeed(submitted(t, m, ann, sleepJob("b")))
	}
	var log bytes.Buffer
	export(t, m, &log)
	if v, err := drive.Verify(&log, "log", byName); err != nil || v.Rounds == 0 {
		t.Errorf("%+v, %v", v, err)
	}
	var told []string
	for _, d := range must(t, m, ann, api.SchedulerLog, wire.DecisionsRequest{}).Decisions {
		if d.Do == "policy" {
			told = append(told, d.Why)
		}
	}
	all := strings.Join(told, "; ")
	if len(told) != 4 || !strings.HasPrefix(told[0], "fifo") || !strings.HasPrefix(told[1], "unlimited") || !strings.HasPrefix(told[2], "fair") || !strings.HasPrefix(told[3], "marp") {
		t.Errorf("%s", all)
	}
}
