package jobpacker

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

func TestSuite(t *testing.T) {
	t.Run("jobpacker", func(t *testing.T) {
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, nil), schedulertest.Promises{})
	})
	for name, tc := range map[string]struct {
		info   *scheduler.Info
		params map[string]string
	}{
		"corral":        {&CorralInfo, nil},
		"corral, live":  {&CorralInfo, CorralInfo.LiveParams(nil)},
		"live":          {&Info, Info.LiveParams(nil)},
		"adhoc-agg":     {&AdhocAggInfo, map[string]string{"threshold": "100MB", "adhoc-heavy": "1MB"}},
		"small pairs":   {&Info, map[string]string{"threshold": "10MB", "over-provision": "1", "shuffle-model": "printed", "adhoc-heavy-max-wait": "5s"}},
		"hold, at once": {&Info, map[string]string{"slowstart": "0", "hold-reduces": "true", "reduce-share": "1"}},
	} {
		t.Run(name, func(t *testing.T) {
			schedulertest.Suite(t, schedulertest.Factory(t, tc.info, tc.params), schedulertest.Promises{Quick: name != "corral"})
		})
	}
	t.Run("no plans", func(t *testing.T) { // then it is fair, and leaves nothing idle but for heavy jobs
		params := map[string]string{"plan-arrivals": "false", "adhoc-heavy-max-wait": "0s", "slowstart": "-1"}
		schedulertest.Suite(t, schedulertest.Factory(t, &Info, params), schedulertest.Promises{Quick: true, WorkConserving: true})
	})
}

func TestScenarios(t *testing.T) {
	schedulertest.Scenarios(t, "testdata", &Info, &CorralInfo, &AdhocAggInfo)
}

func BenchmarkDecisions10kNodes1kJobs1MTasks(b *testing.B) {
	b.Run("jobpacker", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &Info, nil), schedulertest.Big)
	})
	b.Run("heavy", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &Info, map[string]string{"threshold": "10MB"}), schedulertest.Big)
	})
	b.Run("adhoc", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &Info, map[string]string{"plan-arrivals": "false"}), schedulertest.Big)
	})
	b.Run("corral", func(b *testing.B) {
		schedulertest.BenchDecisions(b, schedulertest.Factory(b, &CorralInfo, nil), schedulertest.Big)
	})
}
