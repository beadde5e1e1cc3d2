package master

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/program"
	"github.com/millrace/millrace/internal/wire"
)

// TestNeedsAreForgotten: however many executables are shipped, the master remembers a bounded number.
func TestNeedsAreForgotten(t *testing.T) {
	var c needed
	n := program.Needs{Platform: "linux/amd64"}
	for i := range 3 * maxNeeded {
		c.put(fmt.Sprint(i), n)
		if got, ok := c.get(fmt.Sprint(i)); !ok || got != n || len(c.all) > maxNeeded {
			t.Fatalf("after %d: %v, %t, %d remembered", i, got, ok, len(c.all))
		}
	}
	if _, ok := c.get("0"); ok {
		t.Error("the first of thousands is remembered")
	}
}

// TestCommandsNeedAShell: where no worker has a shell, a job that runs commands is refused before it waits for anything. One
// worker with a shell is enough.
func TestCommandsNeedAShell(t *testing.T) {
	m := served(t, func(c *Config) {
		c.Program = func(p *wire.Program) (Program, error) {
			return Program{Stages: 1, Output: "dfs:/ann/out", Shell: p.Builtin == "streaming"}, nil
		}
	})
	home(t, m, "ann")
	job := wire.JobSpec{Name: "counts", Stages: 1, Program: wire.Program{Builtin: "streaming"}}
	bare := newHand(t, m, "bare")
	bare.report.Lacks = []string{program.Shell}
	bare.say()
	_, err := call(t, m, ann, api.JobSubmit, job)
	refusal(t, "commands without a shell", err, wire.Invalid, "which no worker has")
	job.Program.Builtin = "wordcount"
	submitted(t, m, ann, job)
	newHand(t, m, "whole").say()
	job.Program.Builtin = "streaming"
	submitted(t, m, ann, job)
}
