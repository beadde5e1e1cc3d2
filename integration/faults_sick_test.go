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

// TestSickNodeHasNoRoom is FAULTS row 48 for jobs: one of four workers has lost its disk and says so. Its containers count for
// nobody: drivers leave room for tasks on the others, and twelve jobs at once all end. Who asks why a job waits is told
// of the sick node.
func TestSickNodeHasNoRoom(t *testing.T) {
	for _, admission := range []string{"unlimited", "marp"} {
		t.Run(admission, func(t *testing.T) {
			t.Parallel()
			c := testcluster.Start(t, testcluster.Config{Workers: 4, Master: func(m *master.Config) { m.Admission = admission }})
			sick := c.Workers[3]
			c.Wait("its directory is gone", func() bool { return os.RemoveAll(sick.Dir) == nil }) // it may write meanwhile
			c.Wait("the worker is sick", func() bool {
				for _, n := range c.Nodes() {
					if n.Node == sick.Name && n.State == "sick" {
						return true
					}
				}
				return false
			})
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
			if err != nil || !strings.Contains(why, string(sick.Name)+" (sick: ") {
				t.Errorf("why the last job waits: %q, %v", why, err)
			}
			for _, id := range ids {
				if s := c.Finish(id); s.State != "SUCCEEDED" {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}
