package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// TestMoreJobsThanRoom: three times as many jobs as there are containers are submitted at once. Each has a driver, which holds a
// container until its job ends; all end all the same, also after half of the cluster has gone for good.
func TestMoreJobsThanRoom(t *testing.T) {
	t.Parallel()
	for _, admission := range []string{"", "unlimited"} {
		t.Run("admission "+admission, func(t *testing.T) {
			t.Parallel()
			c := testcluster.Start(t, testcluster.Config{
				Workers: 2,
				Master: func(cfg *master.Config) {
					if admission != "" {
						cfg.Admission = admission
					}
				},
				Worker: func(cfg *worker.Config) { cfg.Capacity = wire.Capacity{Containers: 2} },
			})
			var ids []wire.JobID
			for i := range 12 {
				ids = append(ids, c.Submit(wire.JobSpec{}, "sleep", "--maps", "4", "--reduces", "1", "--map-time", "30ms", "--reduce-time", "5ms", "--output", fmt.Sprint("dfs:/out", i)))
			}
			why, err := api.JobWhy.Call(t.Context(), c.Client, c.Addr, wire.JobRequest{Job: ids[11]})
			if err != nil || !strings.HasPrefix(why.Text, string(ids[11])+" waits for ") {
				t.Errorf("why: %q, %v", why.Text, err)
			}
			c.Wait("some jobs are done", func() bool { return c.Status(ids[2]).State == "SUCCEEDED" })
			c.Workers[1].Stop()
			for _, id := range ids {
				if s := c.Finish(id); s.State != "SUCCEEDED" {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}
