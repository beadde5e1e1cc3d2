package admission

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

// Unlimited admits every job at once.
type Unlimited struct{}

var _ scheduler.Admission = Unlimited{}

// Observe implements scheduler.Admission.
func (Unlimited) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

// Admit implements scheduler.Admission.
func (Unlimited) Admit(_ time.Duration, v *scheduler.View) scheduler.AdmitDecision {
	waiting := v.Waiting()
	if waiting.Len() == 0 {
		return hold(scheduler.Reason{Code: scheduler.NoWork, Say: "no job waits for admission"})
	}
	id := waiting.At(0).ID()
	return scheduler.AdmitDecision{
		Verdict: scheduler.Admit, Job: id,
		Reason: scheduler.Reason{Code: scheduler.Chosen, Say: "{job} is admitted: there is no limit", Job: id},
	}
}
