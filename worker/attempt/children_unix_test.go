//go:build unix

package attempt_test

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker"
)

// TestAttemptsInProcesses: maps, reduces and the driver of a job, each in a process of its own, do what is done inside of a worker, and the worker hears
// what they have sent.
func TestAttemptsInProcesses(t *testing.T) {
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]*secure.Key{"key": key, "no key": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testcluster.Start(t, testcluster.Config{Workers: 2, Key: k, Worker: func(w *worker.Config) {
				w.Child = func(*wire.Program) []string { return []string{"-test.run=^$"} }
			}})
			in, want := text(7, 2000)
			c.Put("/in", in)
			id := c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out", "--split-bytes", "3000", "--reducers", "2")
			if s := c.Finish(id); s.State != "SUCCEEDED" {
				t.Fatalf("%s: %s", s.State, s.Error)
			}
			got := output(c, "/out")
			if slices.Sort(got); !slices.Equal(got, counted(want)) {
				t.Errorf("%d words, want %d", len(got), len(want))
			}
		})
	}
}
