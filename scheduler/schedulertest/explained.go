package schedulertest

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Explained wraps a policy so that before every decision each waiting job is asked why it does not get more. Run it
// through [Suite]: every job must have a reason at any time, and asking must change nothing that the suite can see.
func Explained(t *testing.T, p scheduler.Policy) scheduler.Policy { return explained{p, t} }

type explained struct {
	scheduler.Policy
	t *testing.T
}

func (x explained) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	why := x.Policy.(scheduler.Explainer)
	for j := range v.Jobs().All() {
		if j.Phase() != scheduler.Ready || j.Pending(scheduler.Map)+j.Pending(scheduler.Reduce) == 0 {
			continue
		}
		r := why.Explain(now, j.ID(), v)
		if r.Code == scheduler.Unspecified || r.Code == scheduler.Chosen || r.Job != j.ID() || r.Text(v) == "" {
			x.t.Fatalf("at %v %v is explained by %+v", now, j.ID(), r)
		}
	}
	if r := why.Explain(now, 1<<20, v); r.Say == "" {
		x.t.Fatal("a job that is not there has no explanation")
	}
	return x.Policy.Assign(now, n, v)
}
