package admission

import (
	"time"

	"github.com/millrace/millrace/scheduler"
)

const (
	sayRiskMB         = "{job} waits: drivers and reduces of {c} jobs and its own could hold {a} of {b} MB and leave no room for a map"
	sayRiskContainers = "{job} waits: drivers and reduces of {c} jobs and its own could hold {a} of {b} containers and leave no room for a map"
)

// riskySay maps the reason for holding a job back to what is said if it is admitted all the same.
var riskySay = map[string]string{
	sayRiskMB:         "{job} is admitted, but drivers and reduces of {c} jobs and its own could hold {a} of {b} MB and leave no room for a map",
	sayRiskContainers: "{job} is admitted, but drivers and reduces of {c} jobs and its own could hold {a} of {b} containers and leave no room for a map",
}

// Judge implements scheduler.Judge: it decides whether the reduces that a driver has found make the deadlock possible.
// While a plan waits, only its job's driver holds anything. If all others wait as well, the job counts as the only one,
// so that not all wait for ever.
func (g *gate) Judge(_ time.Duration, j *scheduler.Job, s *scheduler.JobSpec, v *scheduler.View) scheduler.AdmitDecision {
	risk, found := g.risk(j, s, v)
	if !found || !g.limits.AvoidDeadlock {
		return scheduler.AdmitDecision{Verdict: scheduler.Admit, Job: j.ID()}
	}
	g.books.delay(j.Slot(), true)
	g.books.set(j.Slot(), true, driverRoom(j))
	return scheduler.AdmitDecision{Verdict: scheduler.Hold, Job: j.ID(), Reason: risk}
}

// risk finds out whether one more job makes the slow-start deadlock possible: drivers and reduces of all running jobs
// placed before their maps, and no room for a map of j beside them (spec/marp 2.3). The only job is never at risk: its
// own reduces are up to the policy. Nor is a cluster at risk in which maps have slots of their own and nothing else is
// counted.
func (g *gate) risk(j *scheduler.Job, s *scheduler.JobSpec, v *scheduler.View) (why scheduler.Reason, found bool) {
	size, memory := g.queue(v)
	others, stuck := g.books.jobs-g.books.idle, g.books.sum
	if g.books.has(j) { // its plan counts already
		stuck.add(g.books.held[j.Slot()], -1)
		if !g.books.late[j.Slot()] {
			others--
		}
	}
	if others == 0 || s.Maps == 0 || !memory && v.Total().Slots[scheduler.Driver] == 0 {
		return why, false
	}
	stuck.add(stuckRoom(j, s.Reduces), 1)
	if stuck.in(memory)+roomOf(j, scheduler.Map).in(memory) <= size {
		return why, false
	}
	return scheduler.Reason{
		Code: scheduler.ForAdmission, Say: pick(memory, sayRiskMB, sayRiskContainers),
		Job: j.ID(), A: stuck.in(memory), B: size, C: int64(others),
	}, true
}
