package deadline

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

// Every waiting job has a reason at any time, and asking changes nothing that
// the suite could see.
func TestExplain(t *testing.T) {
	for _, i := range []*scheduler.Info{&MinInfo, &MaxInfo} {
		inner := schedulertest.Factory(t, i, nil)
		schedulertest.Suite(t, func() scheduler.Policy { return schedulertest.Explained(t, inner()) }, schedulertest.Promises{Quick: true})
	}
}
