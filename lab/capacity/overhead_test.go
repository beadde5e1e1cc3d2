package capacity

import (
	"testing"

	"github.com/millrace/millrace/sim"
)

// TestOverhead: an overhead makes the map of a small job longer by so much, and none of a long one.
func TestOverhead(t *testing.T) {
	alone := func(seconds float64, typ int) float64 { // execution of the first job of a type, on an empty cluster
		o := capBase()
		o.overhead = seconds
		cfg, jobs, err := capGroups[3].config(capSettings[settingIndex("b")], o, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if capTypeOf(j) == typ {
				j.Spec.ID, j.Spec.Submit = 0, 0
				res, err := sim.Run(cfg, []*sim.Job{j})
				if err != nil {
					t.Fatal(err)
				}
				return res.Jobs[0].Execution().Seconds()
			}
		}
		t.Fatalf("no job of type %d", typ)
		return 0
	}
	if more := alone(10, 4) - alone(0, 4); more < 8 || more > 13 { // one map; devices have noise
		t.Errorf("a job of one map takes %.1f s more, want about 10", more)
	}
	if more := alone(10, 0) - alone(0, 0); more != 0 {
		t.Errorf("a long job takes %.1f s more", more)
	}
}
