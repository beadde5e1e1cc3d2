package integration

import (
	"math"
	"slices"
	"testing"

	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
)

// TestDeadlineFiguresAreShown: under deadline-min the cluster shows how many slots nobody needs (spec/deadline 3.6, eq. 4), and a job with a
// goal what it needs and when it will be done.
func TestDeadlineFiguresAreShown(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) { m.Policy, m.Admission = "deadline-min", "unlimited" }})
	if got := figure(t, c, "surplus-maps"); got != 6 {
		t.Errorf("an idle cluster of 6 containers has %g too many", got)
	}
	id := c.Submit(wire.JobSpec{Deadline: 600_000}, "sleep", "--maps=2000", "--reduces=1", "--map-time=20ms", "--output=dfs:/out")
	want := []string{"need-maps", "need-reduces", "forecast", "late"}
	c.Wait("the job's figures are there", func() bool { return len(c.Status(id).Figures) == len(want) })
	var names []string
	for _, f := range c.Status(id).Figures {
		names = append(names, f.Name)
		if f.Job != id || math.IsNaN(f.Value) || f.Name == "need-maps" && f.Value <= 0 || f.Name == "late" && f.Value >= 0 {
			t.Errorf("%+v of a job with ten minutes for some seconds of work", f)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("figures %v, want %v", names, want)
	}
	if got := figure(t, c, "surplus-maps"); got >= 6 {
		t.Errorf("with a job, %g of 6 containers are too many", got)
	}
}

// TestChainKeepsItsAdmission: under a MARP for one job, the stages of a chain run one after the other though another job
// has waited since before the second began.
func TestChainKeepsItsAdmission(t *testing.T) {
	t.Parallel()
	var log decisions
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) {
		m.Policy, m.Admission, m.AdmissionParams = "fifo", "marp", map[string]string{"marp": "0"} // one at a time, whatever happens
		m.Jobs.Decisions = log.add
	}})
	writeWords(t, c)
	chain := c.Submit(wire.JobSpec{}, "topk", "--input=dfs:/in/words", "--output=dfs:/chain")
	other := c.Submit(wire.JobSpec{}, "sleep", "--maps=1", "--reduces=0", "--map-time=1ms", "--output=dfs:/other")
	first, second := c.Finish(chain), c.Finish(other)
	if first.State != "SUCCEEDED" || second.State != "SUCCEEDED" || first.Stages < 2 {
		t.Fatalf("%+v, %+v", first, second)
	}
	if second.Ended < first.Ended {
		t.Errorf("the other job ended at %d ms, before the chain at %d: the second stage queued again", second.Ended, first.Ended)
	}
}
