package worker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker"
)

// TestChildren: commands of users run in processes of their own, with and without a key of the cluster. What is silent or too large is ended, and the
// job says why; what does not want to end is.
func TestChildren(t *testing.T) {
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	type command struct {
		name, mapper string
		memory       int64
		says         string // why it fails; empty: it does not
	}
	good := command{"good", "cat", 0, ""}
	for name, x := range map[string]struct {
		key      *secure.Key
		timeout  time.Duration
		commands []command
	}{
		"key": {key, time.Hour, []command{good}},
		"no key": {nil, time.Hour, []command{
			good,
			{"fails", "echo a bad day >&2; exit 3", 0, "a bad day"},
			{"large", "x=$(head -c 300000000 /dev/zero | tr '\\0' x); cat; sleep 600", 128, "memory limit: "},
		}},
		"silent": {nil, time.Second, []command{{"silent", "sleep 600", 0, "no sign of life"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testcluster.Start(t, testcluster.Config{Workers: 1, Key: x.key, Worker: func(w *worker.Config) {
				w.Child = func(*wire.Program) []string { return []string{"-test.run=^$"} }
				w.TaskTimeout = x.timeout
			}})
			c.Put("/in", "b\na\nb\n")
			for _, k := range x.commands {
				s := c.Finish(c.Submit(wire.JobSpec{Name: k.name, Attempts: 1, MemoryMB: k.memory}, streaming(k.mapper, "dfs:/"+k.name)...))
				if (s.State == "SUCCEEDED") != (k.says == "") || !strings.Contains(s.Error, k.says) {
					t.Errorf("%s: %s %s", k.name, s.State, s.Error)
				}
				if k.says != "" {
					continue
				}
				if got := strings.Join(strings.Fields(output(c, "/"+k.name)), " "); got != "1 a 2 b" {
					t.Errorf("%s: %q", k.name, got)
				}
			}
			if x.timeout > time.Minute {
				killDeaf(t, c)
			}
		})
	}
}

// streaming are the words of a job that counts what a mapper writes.
func streaming(mapper, out string) []string {
	return []string{"streaming", "--mapper", mapper, "--reducer", "uniq -c", "--input", "dfs:/in", "--output", out}
}

// killDeaf ends a job whose command does not listen to signals.
func killDeaf(t *testing.T, c *testcluster.Cluster) {
	t.Helper()
	id := c.Submit(wire.JobSpec{}, streaming("trap '' TERM; sleep 600", "dfs:/never")...)
	c.Wait("it runs", func() bool {
		s := c.Status(id)
		if s.State.Ended() {
			t.Fatalf("the job has ended: %s %s", s.State, s.Error)
		}
		return s.Maps.Running == 1
	})
	if _, err := api.JobKill.Call(t.Context(), c.Client, c.Addr, wire.JobRequest{Job: id}); err != nil {
		t.Fatal(err)
	}
	c.Wait("it is ended", c.Workers[0].Worker.Idle)
}
