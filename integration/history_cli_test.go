package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/trace"
)

// cli runs the command against the cluster, as ann, and wants that exit code.
func (p *processes) cli(code int, args ...string) (stdout, stderr string) {
	p.t.Helper()
	cmd := exec.Command(millrace, args...)
	cmd.Env = append(cmd.Environ(), "MILLRACE_MASTER="+p.addr, "MILLRACE_USER=ann")
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	got := 0
	if err := cmd.Run(); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			p.t.Fatal(err)
		}
		got = exit.ExitCode()
	}
	if got != code {
		p.t.Errorf("%v: exit code %d, want %d\n%s%s", args, got, code, &out, &errOut)
	}
	return out.String(), errOut.String()
}

func (p *processes) wants(text, what string) {
	p.t.Helper()
	if !strings.Contains(text, what) {
		p.t.Errorf("%q is not in\n%s", what, text)
	}
}

// decided wants to be told what was decided about the first job, and that the simulator decides the same; of a log in which
// one decision is another it wants the line.
func (p *processes) decided() {
	p.t.Helper()
	out, _ := p.cli(0, "scheduler", "log", "--job", "job-1")
	p.wants(out, "start   job-1: job-1 is admitted")
	p.wants(out, "launch  job-1 map 4 on ")
	if strings.Contains(out, "job-2 ") {
		p.t.Errorf("decisions about another job:\n%s", out)
	}
	out, _ = p.cli(0, "scheduler", "log")
	p.wants(out, "fbq limits=30 is in place")
	file := filepath.Join(p.t.TempDir(), "decisions.jsonl")
	p.cli(0, "scheduler", "log", "--export", file)
	out, _ = p.cli(0, "scheduler", "verify", file)
	p.wants(out, "the simulator decides the same")
	p.cli(0, "play", file, "--out", file+".html")
	if page, err := os.ReadFile(file + ".html"); err != nil || !bytes.Contains(page, []byte(`id="data"`)) {
		p.t.Errorf("the player's page has %d bytes, %v", len(page), err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	wrong := bytes.Replace(b, []byte(`"Steps":[{"Do":0`), []byte(`"Steps":[{"Do":1`), 1)
	if err := os.WriteFile(file, wrong, 0o600); err != nil {
		p.t.Fatal(err)
	}
	_, text := p.cli(1, "scheduler", "verify", file)
	p.wants(text, "decisions.jsonl:")
	p.wants(text, "the log says stop")
}

// recalled wants a new master to tell all that the one before told of its decisions about the first job, but who else was eligible.
func (p *processes) recalled(before string) {
	p.t.Helper()
	out, note := p.cli(0, "scheduler", "log", "--job", "job-1")
	for line := range strings.Lines(before) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "; also eligible")
		p.wants(out, line)
	}
	if n := strings.Count(before, "\n"); n < 8 || strings.Count(out, "\n") != n { // a start, a driver, five maps and a reduce
		p.t.Errorf("%d decisions, then\n%s", n, out)
	}
	p.wants(note, "from the job's history")
	out, _ = p.cli(0, "scheduler", "log", "--job", "job-1", "--json")
	var d wire.Decision
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&d); err != nil || d.Job != "job-1" || d.Why == "" {
		p.t.Errorf("%v: %s", err, out)
	}
	_, note = p.cli(1, "scheduler", "log", "--job", "job-77")
	p.wants(note, "job-77")
}

// exported wants a history to say which policies ran when, on which machines, and how urgent the first job was.
func (p *processes) exported(file string) {
	p.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		p.t.Fatal(err)
	}
	defer f.Close()
	h, err := trace.ReadHistory(f, file)
	if err != nil {
		p.t.Fatal(err)
	}
	at := h.Origin
	if n := len(at.Periods); n != 2 || at.Periods[0].Policy != "fair" || at.Periods[0].Admission != "marp" || at.Periods[0].AdmissionParams["marp"] != "0.5" ||
		at.Periods[1].Policy != "fbq" || at.Periods[1].Params["limits"] != "30" || at.Periods[1].From <= 0 {
		p.t.Errorf("periods %+v", at.Periods)
	}
	if at.Second == nil || at.Second.Name != "late" || at.Second.Params["after"] != "2s" {
		p.t.Errorf("second attempts %+v", at.Second)
	}
	if len(at.Machines) != 2 || at.Machines[0].Name == "" || at.Machines[0].Room < 1 || h.Jobs[0].Priority != 1 {
		p.t.Errorf("machines %+v, job %+v", at.Machines, h.Jobs[0])
	}
}

// TestJobCommands: what people see of the past: lists, the story of a job, an export that the simulator replays, and logs of
// attempts inside the worker and in processes of their own; after the master was killed it is all there.
func TestJobCommands(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 2)
	p.put("/in", []byte("a b c\nPOISON d\ne f\n"))
	p.cli(0, "run", "sleep", "--maps", "5", "--reduces", "1", "--map-time", "3ms", "--reduce-time", "1ms", "--output", "dfs:/out", "--priority", "high", "--master", p.addr, "--progress", "none")
	out, errs := p.cli(1, "job", "kill", "job-9", "job-1") // the second is looked at, too
	p.wants(out, "job-1 had ended before: SUCCEEDED")
	p.wants(errs, "job-9")
	p.cli(0, "scheduler", "set", "fbq", "--param", "limits=30")
	p.program(testprog, "-mode", "panic", "-input", "dfs:/in", "-output", "dfs:/out2")
	// What is not in the journal is written a moment after the job has ended.
	p.wait("the history has the last try", func() bool {
		list, err := p.cl.Attempts(t.Context(), wire.AttemptsRequest{Job: "job-2"})
		return err == nil && len(list) == 5 && !slices.ContainsFunc(list, func(a wire.PastAttempt) bool { return a.How == "" })
	})
	p.decided()
	decisions, _ := p.cli(0, "scheduler", "log", "--job", "job-1")
	p.kill("master")
	p.startMaster()
	// The second command waits for the master.
	p.wait("the history is there", func() bool {
		out, _ := p.cli(0, "job", "history", "--json")
		var jobs []struct{ State string }
		return json.Unmarshal([]byte(out), &jobs) == nil && len(jobs) == 2 && jobs[0].State == "FAILED" && jobs[1].State == "SUCCEEDED"
	})
	p.recalled(decisions)
	out, _ = p.cli(0, "job", "history", "--state", "succeeded", "--since", "1h")
	p.wants(out, "job-1")
	p.wants(out, "sleep")
	out, _ = p.cli(0, "job", "history", "job-2")
	p.wants(out, "failed attempts")
	p.wants(out, "a poisoned record")
	out, _ = p.cli(0, "job", "history", "job-1", "--json")
	var story struct {
		Maps, Attempts int
		Phases         []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &story); err != nil || story.Maps != 5 || len(story.Phases) < 4 {
		t.Errorf("%v: %s", err, out)
	}

	file := filepath.Join(t.TempDir(), "past.jsonl")
	p.wait("the machines, which the export names, have told the new master of themselves", func() bool {
		nodes, err := p.cl.Nodes(t.Context())
		return err == nil && len(nodes) == 2 && !slices.ContainsFunc(nodes, func(n wire.NodeStatus) bool { return n.State != "up" })
	})
	p.cli(0, "job", "history", "--export", file)
	p.exported(file)
	out, _ = p.cli(0, "sim", "run", "--trace", file, "--policy", "fifo,fair", "--nodes", "2", "--racks", "1", "--json")
	var replay struct {
		Policies map[string]struct{ Jobs int }
	}
	if err := json.Unmarshal([]byte(out), &replay); err != nil || replay.Policies["fair"].Jobs < 1 {
		t.Errorf("%v: %s", err, out)
	}

	out, _ = p.cli(0, "whatif", file, "--policy", "fair,delay", "--nodes", "2", "--racks", "2", "--containers", "3", "--json")
	var past struct {
		Ran      string
		Jobs     int
		LeftOut  int `json:"left_out"`
		Policies map[string]struct{ Metrics struct{ Jobs int } }
	}
	if err := json.Unmarshal([]byte(out), &past); err != nil || past.Ran != "fair, then fbq" || past.Jobs != 1 || past.LeftOut != 1 || past.Policies["delay"].Metrics.Jobs != 1 {
		t.Errorf("%v: %s", err, out)
	}

	out, _ = p.cli(0, "job", "logs", "job-1", "--task", "map:2", "--tail", "1")
	p.wants(out, "map 2 is done")
	if strings.Count(out, "\n") != 1 {
		t.Errorf("more than the last line:\n%s", out)
	}
	out, _ = p.cli(0, "job", "logs", "job-1", "--task", "reduce:0", "--follow")
	p.wants(out, "reduce 0 is done")
	out, _ = p.cli(0, "job", "logs", "job-2")
	p.wants(out, "a poisoned record")
	p.wants(out, "try 4")
	out, _ = p.cli(0, "job", "logs", "job-2", "--json")
	var logs []struct{ Task, Log string }
	if err := json.Unmarshal([]byte(out), &logs); err != nil || len(logs) < 4 {
		t.Errorf("%v: %s", err, out)
	}
	for _, bad := range []struct {
		code int
		args []string
		want string
	}{
		{2, []string{"logs", "job-1", "--task", "nonsense"}, "map:N"},
		{2, []string{"logs", "job-1", "--follow"}, "--task"},
		{2, []string{"history", "--since", "yesterday"}, "--since"},
		{2, []string{"history", "--state", "tired"}, "--state"},
		{1, []string{"logs", "job-1", "--task", "map:99"}, "no such attempt"},
		{1, []string{"logs", "job-77"}, "job-77"},
		{1, []string{"history", "job-77"}, "job-77"},
	} {
		_, text := p.cli(bad.code, append([]string{"job"}, bad.args...)...)
		p.wants(text, bad.want)
	}
}
