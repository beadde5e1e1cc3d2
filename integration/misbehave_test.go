package integration

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
)

// report is what a program prints with -json.
type report struct {
	State    string
	Error    string
	Counters map[string]int64
}

func (p *processes) program(path string, args ...string) report {
	p.t.Helper()
	cmd := exec.Command(path, append([]string{"-master", p.addr, "-json"}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	_ = cmd.Run() // the report says how it went
	var r report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		p.t.Fatalf("%s %v: %v\n%s%s", path, args, err, &out, &errOut)
	}
	return r
}

// TestMisbehavingPrograms is FAULTS rows 6, 7 and 14, and more: a program that panics, hangs, hoards
// memory, floods its log, exits or leaves children behind hurts only its own job, which says why.
func TestMisbehavingPrograms(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	p := startProcesses(t, 2, "--task-timeout", "2s", "--memory", "64MiB")
	p.put("/in", []byte("a b c\nPOISON d\ne f\n"))
	pids := map[string]int{}
	for name, cmd := range p.run {
		pids[name] = cmd.Process.Pid
	}
	for _, tt := range []struct {
		mode, want string
		attempts   int
		ok         bool
	}{
		{"panic", "a poisoned record", 4, false},
		{"exit", "exit status 3", 4, false},
		{"hog", "memory limit", 4, false},
		{"hang", "timeout", 4, false},
		{"flood", "", 1, true},
		{"fork", "", 1, true},
	} {
		begin := time.Now()
		r := p.program(testprog, "-mode", tt.mode, "-input", "dfs:/in", "-output", "dfs:/out-"+tt.mode)
		jobs, err := p.cl.Jobs(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if (r.State == "SUCCEEDED") != tt.ok || !strings.Contains(r.Error, tt.want) {
			t.Errorf("%s: %s, %q, want %q", tt.mode, r.State, r.Error, tt.want)
		}
		want := tt.attempts + 1 // the driver
		if tt.ok {
			want++ // the reduce
		}
		if jobs[0].Attempts != want {
			t.Errorf("%s: %d attempts, want %d", tt.mode, jobs[0].Attempts, want)
		}
		t.Logf("%s: %s after %s", tt.mode, r.State, time.Since(begin).Round(10*time.Millisecond))
	}
	if r := p.program(program(t, "wordcount"), "-input", "dfs:/in", "-output", "dfs:/good"); r.State != "SUCCEEDED" {
		t.Errorf("a good job afterwards: %+v", r)
	}
	for name, cmd := range p.run {
		if cmd.Process.Pid != pids[name] || cmd.ProcessState != nil {
			t.Errorf("%s did not survive", name)
		}
	}
	p.checkClean()
}

// checkClean looks for what misbehaving programs left behind.
func (p *processes) checkClean() {
	p.t.Helper()
	list, err := p.cl.DFS().ListAll(p.t.Context(), "/")
	if err != nil {
		p.t.Fatal(err)
	}
	for _, e := range list {
		if strings.Contains(e.Path, "millrace-") {
			p.t.Errorf("%s was left in the block store", e.Path)
		}
	}
	logs, err := filepath.Glob(filepath.Join(p.dir, "w*", "logs", "*", "*.log"))
	if err != nil || len(logs) == 0 {
		p.t.Errorf("no logs of attempts: %v", err)
	}
	for _, l := range logs {
		if info, err := os.Stat(l); err == nil && info.Size() > 2<<20 {
			p.t.Errorf("%s has %d bytes", l, info.Size())
		}
	}
	out, _ := exec.Command("pgrep", "-f", "sleep 987654").Output() // nothing found is an error of pgrep's
	if len(bytes.TrimSpace(out)) > 0 {
		p.t.Errorf("processes left behind: %s", out)
	}
}
