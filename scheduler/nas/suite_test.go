package nas

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

// A map may wait out the patience of its sharer before each launch: 20 offers,
// at least one a second.
var waits20 = map[string]string{"map-skips": "20", "reduce-skips": "20"}

func TestSuite(t *testing.T) {
	slow := schedulertest.Promises{PerTask: time.Minute}
	quick := schedulertest.Promises{PerTask: time.Minute, Quick: true}
	t.Run("nas", func(t *testing.T) { schedulertest.Suite(t, schedulertest.Factory(t, &Info, waits20), slow) })
	t.Run("shufflewatcher", func(t *testing.T) { schedulertest.Suite(t, schedulertest.Factory(t, &WatcherInfo, waits20), slow) })
	for _, info := range []*scheduler.Info{&MTSInfo, &MTSCAInfo, &NoTTInfo, &NoMCTInfo, &NoBothInfo} {
		t.Run(info.Name, func(t *testing.T) { schedulertest.Suite(t, schedulertest.Factory(t, info, waits20), quick) })
	}
	for name, params := range map[string]map[string]string{
		"published skips": {},
		"by time":         {"by": "time", "ripe-first": "true", "key": "job", "reset": "any", "reduce-place": "prefer"},
		"options":         {"map-skips": "5", "key": "pool", "mts-fallback": "true", "delayed-first": "true", "load": "unfetched", "threshold-scale": "log", "sizes": "all", "look": "1"},
	} {
		t.Run(name, func(t *testing.T) {
			schedulertest.Suite(t, schedulertest.Factory(t, &Info, params), schedulertest.Promises{PerTask: 5 * time.Minute, Quick: true})
		})
	}
	t.Run("shufflewatcher by time", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &WatcherInfo, map[string]string{"by": "time", "key": "job", "ripe-first": "true"}), quick)
	})
	t.Run("no patience", func(t *testing.T) {
		free := map[string]string{"map-skips": "0", "reduce-skips": "0"}
		keeps := schedulertest.Promises{WorkConserving: true, HoldsReduces: true, Quick: true}
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, free), keeps)
		schedulertest.Suite(t, schedulertest.Factory(t, &WatcherInfo, free), keeps)
	})
}
