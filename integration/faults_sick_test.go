package integration

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
)

// rests says how a worker comes to take no work: it loses its disk and says so, or is taken for dead too often.
var rests = map[string]func(c *testcluster.Cluster, n *testcluster.Node){
	"sick": func(c *testcluster.Cluster, n *testcluster.Node) {
		c.Wait("its directory is gone", func() bool { return os.RemoveAll(n.Dir) == nil }) // it may write meanwhile
	},
	"excluded": func(c *testcluster.Cluster, n *testcluster.Node) {
		n.Stop()
		c.Wait("it counts as dead", func() bool { return stateOf(c, n) == "down" })
		n.Start()
	},
}

func stateOf(c *testcluster.Cluster, n *testcluster.Node) string {
	for _, s := range c.Nodes() {
		if s.Node == n.Name {
			return s.State
		}
	}
	return ""
}

// TestSickNodeHasNoRoom is FAULTS row 48 for jobs: one of four workers is sick, or excluded. Its containers count for
// nobody: drivers leave room for tasks on the others, twelve jobs at once all end, and nothing of them ran there. Who asks why a job
// waits is told of that node.
func TestSickNodeHasNoRoom(t *testing.T) {
	for state, rest := range rests {
		for _, admission := range []string{"unlimited", "marp"} {
			t.Run(state+" "+admission, func(t *testing.T) {
				t.Parallel()
				c := testcluster.Start(t, testcluster.Config{Workers: 4, Master: func(m *master.Config) { m.Admission, m.Jobs.Deaths = admission, 1 }})
				n := c.Workers[3]
				rest(c, n)
				c.Wait("the worker is "+state, func() bool { return stateOf(c, n) == state })
				twelveJobs(t, c, n.Name, state)
			})
		}
	}
}

// twelveJobs runs twelve jobs at once; while they run it is told why the last one waits.
func twelveJobs(t *testing.T, c *testcluster.Cluster, resting wire.NodeName, state string) {
	t.Helper()
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var ids []wire.JobID
	for i := range 12 {
		ids = append(ids, c.Submit(wire.JobSpec{}, "sleep", "--maps", "6", "--reduces", "2", "--map-time", "10ms", "--reduce-time", "10ms", "--output", fmt.Sprint("dfs:/out", i)))
	}
	why, err := cl.Why(t.Context(), ids[11])
	if err != nil || !strings.Contains(why, string(resting)+" ("+state+": ") {
		t.Errorf("why the last job waits: %q, %v", why, err)
	}
	for _, id := range ids {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Errorf("%+v", s)
		}
		c.Wait("the history has its end", func() bool {
			s, err := cl.Summary(t.Context(), id)
			return err == nil && s.Over()
		})
		ran := false
		if err := cl.Events(t.Context(), id, func(e *wire.PastEvent) { ran = ran || e.Node == resting }); err != nil || ran {
			t.Errorf("%s ran on %s, which is %s: %t, %v", id, resting, state, ran, err)
		}
	}
}
