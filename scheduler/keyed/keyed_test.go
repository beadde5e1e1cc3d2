package keyed_test

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/keyed"
	"github.com/millrace/millrace/scheduler/schedulertest"
	"github.com/millrace/millrace/scheduler/script"
	"github.com/millrace/millrace/topology"
)

// One idea in Go and as a script: the same decisions for the same reasons, with and without faults.
func TestGoAndScriptDecideAlike(t *testing.T) {
	info := keyed.Info("shortest", "fewest maps left first", func(_ time.Duration, j *scheduler.Job, _ topology.NodeID, _ *scheduler.View) int64 {
		return int64(j.Pending(scheduler.Map))
	})
	inGo := func() scheduler.Policy {
		p, err := info.Make(info.UsualParams(nil))
		if err != nil {
			t.Fatal(err)
		}
		return p.(scheduler.Policy)
	}
	asScript := func() scheduler.Policy {
		p, err := script.New("shortest", "def key(job, node, now):\n    return job.pending_maps\n")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	schedulertest.Alike(t, 100, 5000, inGo, asScript)
}
