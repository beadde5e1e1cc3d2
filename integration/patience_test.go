package integration

import (
	"os/exec"
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
// used without a flag.
func TestRunWaitsForTheMaster(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	p := startProcesses(t, 2)
	cmd, said := p.runBeside("sleep", "--maps", "2", "--reduces", "1", "--map-time", "1s", "--reduce-time", "1ms", "--output", "dfs:/one", "--progress", "plain")
	p.kill("master")
	time.Sleep(15 * time.Second) // the subject of the test: longer than the ten seconds of one call
	p.startMaster()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	p.wants(said.String(), "waits for the master")
	p.wants(said.String(), "Output: dfs:/one")
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
