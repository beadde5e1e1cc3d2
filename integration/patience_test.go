package integration

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
)

// runBeside starts millrace run against the cluster and waits until it has said the job's id.
func (p *processes) runBeside(args ...string) (cmd *exec.Cmd, said *sharedLog) {
	p.t.Helper()
	said = &sharedLog{}
	cmd = exec.Command(millrace, append([]string{"run"}, args...)...)
	cmd.Env = append(cmd.Environ(), "MILLRACE_MASTER="+p.addr, "MILLRACE_USER=ann")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.wait("the run says its job's id", func() bool { return strings.Contains(said.String(), "job-") })
	return cmd, said
}

// TestRunWaitsForTheMaster is row 92: a master that is away for longer than a call is repeated does not end a run, which says
// what it waits for; one that stays away does, with exit code 3 and the way to go on. The master named by MILLRACE_MASTER is
// used without a flag. The time without a master counts in how long the job took, and does not move when it came.
func TestRunWaitsForTheMaster(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	p := startProcesses(t, 2)
	cmd, said := p.runBeside("sleep", "--maps", "2", "--reduces", "1", "--map-time", "1s", "--reduce-time", "1ms", "--output", "dfs:/one", "--progress", "plain")
	before, _ := p.cli(0, "job", "ls")
	p.kill("master")
	time.Sleep(15 * time.Second) // the subject of the test: longer than the ten seconds of one call
	p.startMaster()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	p.wants(said.String(), "waits for the master")
	p.wants(said.String(), "Output: dfs:/one")
	after, _ := p.cli(0, "job", "ls")
	if was, is := cameAt(t, before), cameAt(t, after); is.Sub(was).Abs() > 2*time.Second {
		t.Errorf("the job came at %v, and, with the next master, at %v", was, is)
	}
	if s, err := p.cl.Status(t.Context(), "job-1"); err != nil || s.Ended-s.Submitted < 15_000 {
		t.Errorf("the job took %d ms, %v", s.Ended-s.Submitted, err)
	}
	cmd, said = p.runBeside("sleep", "--maps", "2", "--reduces", "1", "--map-time", "1s", "--reduce-time", "1ms", "--output", "dfs:/two", "--progress", "plain", "--patience", "2s")
	p.kill("master")
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d\n%s", code, said)
	}
	p.wants(said.String(), "goes on by itself (millrace job watch job-2")
	p.startMaster()
	if _, errOut := p.cli(0, "job", "watch", "job-2", "--progress", "none"); !strings.Contains(errOut, "dfs:/two") {
		t.Errorf("job watch: %s", errOut)
	}
}

// cameAt finds when a job came in what job ls has printed.
func cameAt(t *testing.T, list string) time.Time {
	t.Helper()
	at, err := time.ParseInLocation(time.DateTime, regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`).FindString(list), time.Local)
	if err != nil {
		t.Fatalf("%v\n%s", err, list)
	}
	return at
}
