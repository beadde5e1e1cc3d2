package keyed_test

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
	"github.com/millrace/millrace/scheduler/keyed"
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
	decisions := 0
	for seed := range uint64(100) {
		s := examine.Draw(seed, seed%2 == 1)
		a, err := examine.Run(s, inGo, nil, examine.Promises{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := examine.Run(s, asScript, nil, examine.Promises{})
		if err != nil {
			t.Fatal(err)
		}
		if i := examine.Differ(a, b); i >= 0 {
			t.Fatalf("seed %d: decision %d differs:\n%s\n%s", seed, i, a[i:min(i+1, len(a))], b[i:min(i+1, len(b))])
		}
		decisions += len(a)
	}
	if decisions < 5000 {
		t.Errorf("only %d decisions were compared", decisions)
	}
}
