package admission

import "github.com/millrace/millrace/scheduler"

const (
	sayRiskMB         = "{job} waits: drivers and reduces of {c} jobs and its own could hold {a} of {b} MB and leave no room for a map"
	sayRiskContainers = "{job} waits: drivers and reduces of {c} jobs and its own could hold {a} of {b} containers and leave no room for a map"
)

// riskySay has what is said instead when the job is admitted all the same.
var riskySay = map[string]string{
	sayRiskMB:         "{job} is admitted, but drivers and reduces of {c} jobs and its own could hold {a} of {b} MB and leave no room for a map",
	sayRiskContainers: "{job} is admitted, but drivers and reduces of {c} jobs and its own could hold {a} of {b} containers and leave no room for a map",
}

// risk finds out whether one more job makes the slow-start deadlock possible:
// drivers and reduces of all running jobs placed before their maps, and no room
// for a map of j beside them (2.3). The only job is never at risk: what it does
// to itself is up to the policy. Nor is a cluster in which maps have slots of
// their own and nothing else is counted.
func (g *gate) risk(j *scheduler.Job, v *scheduler.View) (why scheduler.Reason, found bool) {
	size, memory := g.queue(v)
	if g.books.jobs == 0 || j.Spec().Maps == 0 || !memory && v.Total().Slots[scheduler.Driver] == 0 {
		return why, false
	}
	stuck := g.books.sum
	stuck.add(stuckRoom(j), 1)
	if stuck.in(memory)+roomOf(j, scheduler.Map).in(memory) <= size {
		return why, false
	}
	return scheduler.Reason{
		Code: scheduler.ForAdmission, Say: pick(memory, sayRiskMB, sayRiskContainers),
		Job: j.ID(), A: stuck.in(memory), B: size, C: int64(g.books.jobs),
	}, true
}
