package schedulertest

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

func TestOldestPassesTheSuite(t *testing.T) { Suite(t, oldestFirst, Promises{WorkConserving: true}) }

// unlimited admits the oldest waiting job.
type unlimited struct{}

func (unlimited) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

func (unlimited) Admit(_ time.Duration, v *scheduler.View) scheduler.AdmitDecision {
	if v.Waiting().Len() == 0 {
		return scheduler.AdmitDecision{Reason: scheduler.Reason{Code: scheduler.NoWork, Say: "nobody waits"}}
	}
	return scheduler.AdmitDecision{Verdict: scheduler.Admit, Job: v.Waiting().At(0).ID(), Reason: scheduler.Reason{Code: scheduler.Chosen, Say: "no limit"}}
}

func TestUnlimitedPassesTheSuite(t *testing.T) {
	AdmissionSuite(t, func() scheduler.Admission { return unlimited{} }, nil, Promises{})
}
