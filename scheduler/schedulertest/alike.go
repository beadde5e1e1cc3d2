package schedulertest

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/examine"
)

// Alike checks that two policies make the same decisions for the same reasons in random situations, every second of
// them with faults, and that they make at least least decisions.
func Alike(t *testing.T, situations uint64, least int, one, other func() scheduler.Policy) {
	t.Helper()
	decisions := 0
	for seed := range situations {
		s := examine.Draw(seed, seed%2 == 1)
		var logs [2][]string
		for i, make := range []func() scheduler.Policy{one, other} {
			log, err := examine.Run(s, make, nil, examine.Promises{})
			if err != nil {
				t.Fatal(err)
			}
			logs[i] = log
		}
		a, b := logs[0], logs[1]
		if i := examine.Differ(a, b); i >= 0 {
			t.Fatalf("seed %d: decision %d differs:\n%s\n%s", seed, i, a[i:min(i+1, len(a))], b[i:min(i+1, len(b))])
		}
		decisions += len(a)
	}
	if decisions < least {
		t.Errorf("only %d decisions were compared", decisions)
	}
}
