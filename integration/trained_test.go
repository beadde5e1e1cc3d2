package integration

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/worker"
)

// classifier is one for which jobs of more than eight maps are large.
func classifier(t *testing.T) string {
	t.Helper()
	var samples []hybrid.Sample
	for maps := range 40 {
		samples = append(samples, hybrid.Sample{Maps: maps + 1, Small: maps < 8})
	}
	cfg := hybrid.DefaultTrainConfig()
	c, _, err := hybrid.Train(rand.New(rand.NewPCG(1, 3)), samples, cfg)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestHybridUsesWhatWasTrained: a job of 24 maps, which the rule calls small, runs on the weak machine where the master has a
// classifier that calls it large; by a parameter it is the rule's again. One that cannot be read is refused.
func TestHybridUsesWhatWasTrained(t *testing.T) {
	t.Parallel()
	text := classifier(t)
	var log decisions
	var dir string
	c := testcluster.Start(t, testcluster.Config{
		Workers: 2,
		Master: func(m *master.Config) {
			m.Policy, m.Admission, m.Jobs.Decisions, m.Jobs.SecondAttempts.Off = "hybrid", "unlimited", log.add, true
			m.PolicyParams = map[string]string{"steal": "false"}
			if dir = m.Dir; os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, master.TrainedFile), []byte(text), 0o644) != nil {
				t.Error("the classifier cannot be written")
			}
		},
		Worker: func(w *worker.Config) {
			if w.Machine = "scale-out"; w.Node == "w1" {
				w.Machine = "scale-up"
			}
		},
	})
	ran := func() (nodes []topology.NodeID) {
		_, before := log.launches(scheduler.Map)
		if s := c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps", "24", "--reduces", "0", "--map-time", "10ms", "--output", "dfs:/"+string(rune('a'+len(before))))); s.State != "SUCCEEDED" {
			t.Fatalf("%+v", s)
		}
		_, all := log.launches(scheduler.Map)
		nodes = slices.Clone(all[len(before):])
		slices.Sort(nodes)
		return slices.Compact(nodes)
	}
	set := func(params map[string]string) error {
		_, err := api.SchedulerSet.Call(t.Context(), c.Client, c.Addr, wire.Choice{Name: "hybrid", Params: params})
		return err
	}
	learnt := ran()
	if err := set(map[string]string{"steal": "false", "model": ""}); err != nil {
		t.Fatal(err)
	}
	if byRule := ran(); len(learnt) != 1 || len(byRule) != 1 || learnt[0] == byRule[0] {
		t.Errorf("maps ran on machines %v with what was learnt, on %v by the rule", learnt, byRule)
	}
	if err := os.WriteFile(filepath.Join(dir, master.TrainedFile), []byte(text[:len(text)/2]), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := set(nil); err == nil || !strings.Contains(err.Error(), "train anew") {
		t.Errorf("half a classifier: %v", err)
	}
}
