package master

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/scripthost"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
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
