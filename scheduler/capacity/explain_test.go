package capacity

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

// Every waiting job has a reason at any time, and asking changes nothing that
// the suite could see.
func TestExplain(t *testing.T) {
	for _, name := range []string{"caps", "nested", "rack wait"} {
		inner := schedulertest.Factory(t, &Info, variants[name])
		schedulertest.Suite(t, func() scheduler.Policy { return schedulertest.Explained(t, inner()) }, schedulertest.Promises{PerTask: time.Minute, Quick: true})
	}
}
