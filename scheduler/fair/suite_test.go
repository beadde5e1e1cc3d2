package fair

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler/schedulertest"
)

func TestSuite(t *testing.T) {
	keeps := schedulertest.Promises{WorkConserving: true, Quick: true}
	t.Run("default", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, nil), schedulertest.Promises{WorkConserving: true})
	})
	for name, params := range map[string]map[string]string{
		"by user":        {"key": "user", "ties": "served"},
		"by pool":        {"key": "pool", "inside": "fifo", "weights": "a=3,b=0.5", "min-maps": "a=2", "min-reduces": "b=1"},
		"by memory":      {"measure": "memory"},
		"dominant queue": {"measure": "dominant", "key": "queue"},
	} {
		t.Run(name, func(t *testing.T) { schedulertest.Suite(t, schedulertest.Factory(t, &Info, params), keeps) })
	}
	t.Run("usual", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, Info.UsualParams(nil)), schedulertest.Promises{})
	})
	t.Run("usual by pool", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, Info.UsualParams(map[string]string{"key": "pool", "inside": "fifo", "weights": "a=3"})), schedulertest.Promises{Quick: true})
	})
	t.Run("usual delay", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &DelayInfo, DelayInfo.LiveParams(nil)), schedulertest.Promises{PerTask: 10 * time.Second, Quick: true})
	})
	t.Run("hold", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, map[string]string{"hold-reduces": "true", "slowstart": "0.2"}), schedulertest.Promises{WorkConserving: true, HoldsReduces: true})
	})
	t.Run("delay by skips", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &DelayInfo, map[string]string{"skips": "20", "rack-skips": "5"}), schedulertest.Promises{PerTask: time.Minute})
	})
	t.Run("delay by time", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &DelayInfo, map[string]string{"by": "time", "key": "job", "reset": "any"}), schedulertest.Promises{PerTask: 10 * time.Second})
	})
	t.Run("no patience", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &DelayInfo, map[string]string{"skips": "0"}), keeps)
	})
}
