package deadline

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

func TestSuite(t *testing.T) {
	options := map[string]string{"reduce-mode": "staged", "tail-reserve": "max", "undead-key": "relative", "clamp-delta": "false"}
	for _, tc := range []struct {
		name   string
		info   *scheduler.Info
		params map[string]string
		keeps  schedulertest.Promises
	}{
		{"max", &MaxInfo, nil, schedulertest.Promises{WorkConserving: true}},
		{"max with options", &MaxInfo, options, schedulertest.Promises{WorkConserving: true, Quick: true}},
		{"min", &MinInfo, nil, schedulertest.Promises{}},
		{"min with options", &MinInfo, options, schedulertest.Promises{Quick: true}},
	} {
		t.Run(tc.name, func(t *testing.T) { schedulertest.Suite(t, schedulertest.Factory(t, tc.info, tc.params), tc.keeps) })
	}
}

func TestScenarios(t *testing.T) { schedulertest.Scenarios(t, "testdata", &MinInfo, &MaxInfo) }
