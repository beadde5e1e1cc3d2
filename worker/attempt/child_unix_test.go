//go:build unix

package attempt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/rpc/rpctest"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
)

// TestMain makes this binary a program of users where a worker, or a test, starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv(ChildEnv) != "" {
		os.Exit(ChildOf(func(p *wire.Program) ([]mapreduce.Job, error) { return jobs.Parse(p.Builtin, p.Args) }))
	}
	os.Exit(m.Run())
}

// runChild starts a process with an order and returns what it says, what it prints, and its exit code.
func runChild(t *testing.T, order []byte) (said []Word, printed string, code int) {
	t.Helper()
	words, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer words.Close()
	cmd := exec.Command(os.Args[0])
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = bytes.NewReader(order), &out, &out, append(os.Environ(), ChildEnv+"=1")
	if err := errors.Join(Attach(cmd, theirs), cmd.Start(), theirs.Close()); err != nil {
		t.Fatal(err)
	}
	for sc := bufio.NewScanner(words); sc.Scan(); {
		var w Word
		if err := json.Unmarshal(sc.Bytes(), &w); err != nil {
			t.Errorf("%q: %v", sc.Text(), err)
		}
		said = append(said, w)
	}
	_ = cmd.Wait() // the code says it
	return said, out.String(), cmd.ProcessState.ExitCode()
}

// TestOrdersAreCarriedOut: a process says last how its attempt ended, for good where its program is none; what it was told and does not understand it
// prints, and says nothing. Who has a user of its own hears what that may open.
func TestOrdersAreCarriedOut(t *testing.T) {
	master, _ := rpctest.Serve(t, func(s *rpc.Server) {
		rpc.HandleQuick(s, api.StageInfo, func(c rpc.Caller, _ wire.StageRef) (wire.StageInfo, error) {
			if c.Node != "w1" {
				t.Errorf("the program calls as %+v", c)
			}
			return wire.StageInfo{}, wire.Errorf(wire.Invalid, "open /etc/shadow: permission denied")
		})
	})
	id := wire.AttemptID{Job: "job-1", Kind: wire.MapTask, Index: 2, Try: 7}
	grep := wire.Program{Builtin: "wordcount", Args: []string{"--input", "dfs:/in", "--output", "dfs:/out"}}
	for what, x := range map[string]struct {
		id        wire.AttemptID
		program   wire.Program
		sandboxed bool
		want      string // all of it
	}{
		"no program":       {id, wire.Program{Builtin: "juggling"}, false, "juggling"},
		"no stage":         {wire.AttemptID{Job: "job-1", Stage: 1, Kind: wire.MapTask}, grep, false, "stage 1 of a program that has 1"},
		"not for it":       {id, grep, false, "open /etc/shadow: permission denied"},
		"not for its user": {id, grep, true, "permission denied (on workers programs run as a user of their own: use dfs: paths, or files that everybody may read)"},
	} {
		o := Order{
			Launch: wire.Launch{ID: x.id, Spec: &wire.JobSpec{User: "ann", Program: x.program, Stages: 1}}, Master: master, Node: "w1",
			Scratch: t.TempDir(), Sandboxed: x.sandboxed, Memory: 64 << 20,
		}
		b, err := json.Marshal(&o)
		if err != nil {
			t.Fatal(err)
		}
		said, printed, code := runChild(t, b)
		if code != 0 || len(said) == 0 {
			t.Errorf("%s: code %d, %+v, %s", what, code, said, printed)
			continue
		}
		last := said[len(said)-1].Ended
		if last == nil || last.ID != x.id || last.OK || !last.Final || last.Lost || !strings.Contains(last.Error, x.want) || x.sandboxed != strings.Contains(last.Error, "on workers") {
			t.Errorf("%s: it says %+v", what, last)
		}
	}
	for what, order := range map[string]string{"nothing": "", "no order": "hello", "half an order": `{"launch":{`} {
		if said, printed, code := runChild(t, []byte(order)); code != 1 || len(said) != 0 || !strings.Contains(printed, "the worker's order is not understood") {
			t.Errorf("%s: code %d, %+v, %q", what, code, said, printed)
		}
	}
	b, err := json.Marshal(&Order{Launch: wire.Launch{ID: id, Spec: &wire.JobSpec{Program: grep}}, Credential: "no certificate", Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if said, printed, code := runChild(t, b); code != 1 || len(said) != 0 || printed == "" {
		t.Errorf("a credential that is none: code %d, %+v, %q", code, said, printed)
	}
}
