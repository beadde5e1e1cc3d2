package admission

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// gate is the admission test of spec/marp 2.3 around a MARP that arrives late.
type gate struct {
	limits Limits
	delay  delayFactor
	books  books
}

func newGate(limits Limits, marp float64, random *rand.Rand) *gate {
	g := &gate{limits: limits}
	g.delay = delayFactor{limits: &g.limits, random: random, now: marp, last: marp}
	return g
}

// MARP returns the value in use at now; a recently written one may still be on its way.
func (g *gate) MARP(now time.Duration) float64 { return g.delay.value(now) }

// Figures implements scheduler.Figurer: the limit in use, how many drivers hold a part of it, and what they hold and may hold.
func (g *gate) Figures(now time.Duration, v *scheduler.View) []scheduler.Figure {
	_, memory := g.queue(v)
	unit := pick(memory, "driver-mb", "driver-containers")
	held, need := g.used(v), int64(0)
	if first, waiting := ahead(nil, v); waiting > 0 {
		need = driverRoom(first).in(memory)
	} else if g.books.jobs > 0 {
		need = held / int64(g.books.jobs)
	}
	show := func(name string, x float64) scheduler.Figure {
		return scheduler.Figure{Name: name, Job: scheduler.NoJob, Value: x}
	}
	return []scheduler.Figure{
		show("marp", g.MARP(now)), show("drivers", float64(g.books.jobs)),
		show(unit, float64(held)), show(unit+"-allowed", math.Floor(g.limit(now, need, v)+slack)),
	}
}

// used returns what drivers hold, or will hold as soon as they start.
func (g *gate) used(v *scheduler.View) int64 {
	_, memory := g.queue(v)
	promised := v.Promised()
	return room{mb: promised.MemoryMB, slots: int64(promised.Slots[scheduler.Driver])}.in(memory)
}

// limit returns what drivers of a size may hold: MARP * queue (spec/marp 2.3).
func (g *gate) limit(now time.Duration, need int64, v *scheduler.View) float64 {
	size, _ := g.queue(v)
	return min(g.delay.value(now)*float64(max(size, int64(g.limits.LeastDrivers)*need)), float64(size))
}

// queue returns the room of which MARP is a part, and its unit.
func (g *gate) queue(v *scheduler.View) (size int64, memory bool) {
	t := v.Total()
	if g.limits.Measure == "memory" || g.limits.Measure == "auto" && t.MemoryMB > 0 {
		return t.MemoryMB, true
	}
	return int64(t.Places()), false
}

// Admit implements scheduler.Admission: the first waiting job whose driver fits under the limit. It skips a job that no
// node can hold, which would hold up the others for ever.
func (g *gate) Admit(now time.Duration, v *scheduler.View) scheduler.AdmitDecision {
	waiting := v.Waiting()
	if waiting.Len() == 0 {
		return hold(scheduler.Reason{Code: scheduler.NoWork, Say: "no job waits for admission"})
	}
	var first scheduler.Reason
	for i := range waiting.Len() {
		j := waiting.At(i)
		why, never := v.TooLarge(j)
		if !never {
			var ok bool
			if ok, why = g.judge(now, j, v); ok {
				return scheduler.AdmitDecision{Verdict: scheduler.Admit, Job: j.ID(), Reason: why}
			}
		}
		if i == 0 {
			first = why
		}
		if !never && !g.limits.Overtake {
			break
		}
	}
	return hold(first)
}

func hold(why scheduler.Reason) scheduler.AdmitDecision {
	return scheduler.AdmitDecision{Verdict: scheduler.Hold, Reason: why}
}

// judge tests one waiting job and says why.
func (g *gate) judge(now time.Duration, j *scheduler.Job, v *scheduler.View) (ok bool, why scheduler.Reason) {
	if g.limits.AlwaysAdmitOne && g.books.jobs == 0 {
		return true, scheduler.Reason{Code: scheduler.Chosen, Say: "{job} is admitted: no other job runs", Job: j.ID()}
	}
	if ok, why = g.underLimit(now, j, v); !ok {
		return false, why
	}
	risk, found := g.risk(j, j.Spec(), v)
	switch {
	case !found:
		return true, why
	case g.limits.AvoidDeadlock:
		return false, risk
	}
	risk.Code, risk.Say = scheduler.Chosen, riskySay[risk.Say]
	return true, risk
}

// underLimit reports whether amUsed + am <= MARP * queue (spec/marp 2.3).
func (g *gate) underLimit(now time.Duration, j *scheduler.Job, v *scheduler.View) (bool, scheduler.Reason) {
	_, memory := g.queue(v)
	used, marp, need := g.used(v), g.delay.value(now), driverRoom(j).in(memory)
	limit := g.limit(now, need, v)
	r := scheduler.Reason{Code: scheduler.Chosen, Job: j.ID(), A: used + need, B: int64(limit + slack), C: int64(r0(marp * 1000))}
	if need == 0 || float64(used+need) <= limit+slack {
		r.Say = pick(memory, "{job} is admitted: drivers hold {a} MB of the {b} MB that MARP {c:milli} allows", "{job} is admitted: drivers hold {a} of the {b} containers that MARP {c:milli} allows")
		return true, r
	}
	r.Code = scheduler.ForAdmission
	r.Say = pick(memory, "{job} waits: with its driver drivers would hold {a} MB, above the {b} MB that MARP {c:milli} allows", "{job} waits: with its driver drivers would hold {a} containers, above the {b} that MARP {c:milli} allows")
	if float64(need) > limit+slack {
		r.A = need
		r.Say = pick(memory, "{job} cannot start: its driver needs {a} MB, MARP {c:milli} allows {b} MB in all", "{job} cannot start: its driver needs {a} containers, MARP {c:milli} allows {b} in all")
	}
	return false, r
}

func pick(memory bool, mb, containers string) string {
	if memory {
		return mb
	}
	return containers
}
