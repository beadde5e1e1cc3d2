package integration

import (
	"fmt"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

// TestChangesWhileJobsRun: the policy is replaced and a node drained in the middle of jobs, which all
// end well; the drained node gets nothing more.
func TestChangesWhileJobsRun(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 4})
	cl, err := client.New(client.Config{Master: c.Addr, User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	var ids []wire.JobID
	for i := range 4 {
		ids = append(ids, c.Submit(wire.JobSpec{}, "sleep", "--maps", "30", "--reduces", "2", "--map-time", "20ms", "--reduce-time", "5ms", "--output", fmt.Sprint("dfs:/out", i)))
	}
	c.Wait("some maps are done", func() bool { return c.Status(ids[0]).Maps.Done > 2 })
	for _, name := range []string{"fbq", "delay", "cbtwat", "fifo", "unlimited"} {
		if err := cl.SetPolicy(t.Context(), wire.Choice{Name: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := cl.SetPolicy(t.Context(), wire.Choice{Name: "nonsense"}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a policy that does not exist: %v", err)
	}
	if err := cl.Drain(t.Context(), "w4", false); err != nil {
		t.Fatal(err)
	}
	c.Wait("the node drains", func() bool {
		for _, n := range c.Nodes() {
			if n.Node == "w4" {
				return n.State == "draining" && n.Running == 0
			}
		}
		return false
	})
	for _, id := range ids {
		if s := c.Finish(id); s.State != "SUCCEEDED" {
			t.Errorf("%+v", s)
		}
	}
	p, err := cl.Policies(t.Context())
	if err != nil || p.Policy.Name != "fifo" || p.Admission.Name != "unlimited" {
		t.Errorf("in use: %+v, %v", p, err)
	}
	if err := cl.Drain(t.Context(), "w4", true); err != nil {
		t.Fatal(err)
	}
	c.Wait("the node is back", func() bool {
		for _, n := range c.Nodes() {
			if n.Node == "w4" {
				return n.State == "up"
			}
		}
		return false
	})
	if err := cl.Drain(t.Context(), "w99", false); wire.KindOf(err) != wire.NotFound {
		t.Errorf("a node that does not exist: %v", err)
	}
}
