package fifo

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/schedulertest"
)

func TestSuite(t *testing.T) {
	schedulertest.Suite(t, func() scheduler.Policy { return New(scheduler.DefaultReduceRule()) }, schedulertest.Promises{WorkConserving: true})
}

func TestSuiteUsual(t *testing.T) {
	rule := scheduler.DefaultReduceRule()
	rule.Ramp = 0.5
	schedulertest.Suite(t, func() scheduler.Policy { return New(rule) }, schedulertest.Promises{})
}
