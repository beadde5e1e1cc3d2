package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/millrace/millrace/topology"
)

// ErrPolicy marks a decision that no correct policy makes: a task that is not
// pending, a node without room. The decision is not carried out.
var ErrPolicy = errors.New("policy error")

// An Engine keeps a State, a Policy and an Admission in step: every accepted
// event is applied once and shown to both. Simulator and master drive policies
// through it and through nothing else. It does not act: what it decides is
// handed to a function of the caller.
type Engine struct {
	state     *State
	policy    Policy
	killer    Killer // the policy, if it is one
	admission Admission
	due       [2]time.Duration // next Tick of admission and of policy
	held      []Event          // plans that the admission holds back, oldest first
}

// NewEngine joins the three. A nil admission admits every job at once.
func NewEngine(s *State, p Policy, a Admission) *Engine {
	g := &Engine{state: s, admission: a}
	g.setPolicy(p)
	return g
}

// View returns the state's read-only face.
func (g *Engine) View() *View { return &g.state.view }

// Policy returns the policy.
func (g *Engine) Policy() Policy { return g.policy }

// Admission returns the admission policy; nil admits every job.
func (g *Engine) Admission() Admission { return g.admission }

// SetPolicy replaces the policy while jobs run. The new one is shown every unfinished job and running attempt as if it
// had just arrived.
func (g *Engine) SetPolicy(now time.Duration, p Policy) {
	g.setPolicy(p)
	g.due[1] = 0
	Replay(now, &g.state.view, p.Observe)
}

func (g *Engine) setPolicy(p Policy) {
	g.policy = p
	g.killer, _ = p.(Killer)
}

// Replay shows the present state as a series of events: nodes, jobs in order of
// submission, then running attempts.
func Replay(now time.Duration, v *View, observe func(time.Duration, Event, *View)) {
	for n := range v.s.nodes {
		if nd := &v.s.nodes[n]; nd.state != NodeIsDown {
			observe(now, NodeUp(topology.NodeID(n), nd.cap), v)
		}
	}
	for _, j := range v.s.live.list {
		observe(now, JobSubmitted(j.spec), v)
		if j.phase >= Admitted {
			observe(now, JobAdmitted(j.id), v)
		}
		if j.phase >= Ready && j.spec.HasDriver {
			observe(now, JobReady(j.id, nil), v)
		}
		for k := range j.tasks {
			for a := range v.Attempts(j, Kind(k)) {
				observe(now, Launched(a.Task, a.Node, a.Locality, a.Second), v)
			}
		}
	}
}

// SetAdmission replaces the admission policy, as SetPolicy does the policy.
func (g *Engine) SetAdmission(now time.Duration, a Admission) {
	g.admission, g.due[0] = a, 0
	if a != nil {
		Replay(now, &g.state.view, a.Observe)
	}
}

// Feed applies one event and shows it to the policies. An error means that
// State refused it and nobody saw it. Before an event that ends a job, the
// job's running attempts are fed as killed, so that a policy that counts
// attempts sees every one of them end.
func (g *Engine) Feed(now time.Duration, e Event) error {
	if e.Kind == EvJobFinished || e.Kind == EvJobFailed || e.Kind == EvJobVanished {
		g.stop(now, e.Job)
	}
	if e.Kind == EvJobReady && e.Spec != nil && !e.Flag {
		if d, judged := g.judge(now, e); judged && d.Verdict != Admit {
			g.held = append(g.held, e)
			return nil
		}
	}
	if err := g.state.apply(now, &e); err != nil {
		return err
	}
	g.observe(now, &e)
	return nil
}

// stop feeds every running attempt of the job as killed.
func (g *Engine) stop(now time.Duration, id JobID) {
	j := g.state.jobs[id]
	if j == nil || j.phase == Ended {
		return
	}
	for k := range j.tasks {
		for j.tasks[k].head >= 0 {
			a := &g.state.attempts.all[j.tasks[k].head]
			e := TaskKilled(a.Task, a.Node)
			if g.state.apply(now, &e) == nil {
				g.observe(now, &e)
			}
		}
	}
}

func (g *Engine) observe(now time.Duration, e *Event) {
	if g.admission != nil {
		g.admission.Observe(now, *e, &g.state.view)
	}
	g.policy.Observe(now, *e, &g.state.view)
}

// Admit asks the admission policy until it holds, feeds JobAdmitted or, for a
// rejected job, JobFailed, and calls each with every verdict but Hold. It
// returns the reason for holding.
func (g *Engine) Admit(now time.Duration, each func(AdmitDecision)) (Reason, error) {
	g.release(now, each)
	for {
		d := g.nextAdmission(now)
		if d.Verdict == Hold {
			return d.Reason, nil
		}
		e := JobAdmitted(d.Job)
		if d.Verdict == Reject {
			e = JobFailed(d.Job)
		}
		if j := g.state.jobs[d.Job]; j == nil || j.phase != Waiting {
			return d.Reason, fmt.Errorf("admission of %v, which does not wait: %w", d.Job, ErrPolicy)
		}
		if err := g.Feed(now, e); err != nil {
			return d.Reason, err
		}
		if each != nil {
			each(d)
		}
	}
}

func (g *Engine) nextAdmission(now time.Duration) AdmitDecision {
	if g.admission != nil {
		return g.admission.Admit(now, &g.state.view)
	}
	if w := g.state.waiting.list; len(w) > 0 {
		return AdmitDecision{Verdict: Admit, Job: w[0].id, Reason: Reason{Code: Chosen, Say: "{job} is admitted: no limit", Job: w[0].id}}
	}
	return AdmitDecision{Reason: Reason{Code: NoWork, Say: "no job waits for admission"}}
}

// Offer is one heartbeat of node n, followed by Give.
func (g *Engine) Offer(now time.Duration, n topology.NodeID, each func(Decision)) (Reason, error) {
	if err := g.Feed(now, Heartbeat(n)); err != nil {
		return Reason{}, err
	}
	return g.Give(now, n, 0, each)
}

// Give fills the room of node n: first pending drivers, by priority, then whatever the policy names, one at a time,
// each seen by the next. It launches at most that many; 0 means as many as fit. It calls each with every launch, which
// has already been applied and observed; the caller carries it out. Give returns the policy's reason for stopping. A
// decision that breaks a rule wraps ErrPolicy and ends the round.
func (g *Engine) Give(now time.Duration, n topology.NodeID, most int, each func(Decision)) (Reason, error) {
	v := &g.state.view
	if s := v.NodeState(n); s != NodeIsReady {
		return Reason{Code: NoRoom, Say: [...]string{"{node} is down", "{node} takes no work"}[min(s, NodeDrains)], Node: n}, nil
	}
	defer func() { g.state.nodes[n].offered = true }()
	for launched := 0; ; launched++ {
		if most > 0 && launched == most {
			return Reason{Code: NoRoom, Say: "{node} has got what one report may get", Node: n}, nil
		}
		d, found := g.driverFor(n)
		if !found {
			d = g.policy.Assign(now, n, v)
		}
		if !d.OK {
			return d.Reason, nil
		}
		if err := g.Launch(now, n, &d); err != nil {
			return d.Reason, err
		}
		if each != nil {
			each(d)
		}
	}
}

// Launch applies one decision for node n and fills in its locality. A decision
// that no correct policy makes wraps ErrPolicy and is not applied.
func (g *Engine) Launch(now time.Duration, n topology.NodeID, d *Decision) error {
	if err := g.check(n, d); err != nil {
		return err
	}
	return g.Feed(now, Launched(d.Task, n, d.Locality, d.Second))
}

// DriversWait reports whether a driver is pending.
func (g *Engine) DriversWait() bool { return len(g.state.drivers.list) > 0 }

// check refuses what a correct policy never asks for, and fills in locality.
func (g *Engine) check(n topology.NodeID, d *Decision) error {
	v, t := &g.state.view, d.Task
	j := v.Job(t.Job)
	bad := func(why string) error { return fmt.Errorf("%v on node %d: %s: %w", t, n, why, ErrPolicy) }
	switch {
	case j == nil || j.phase == Ended:
		return bad("no such job")
	case t.Kind >= NumKinds || !j.tasks[t.Kind].has(t.Index):
		return bad("no such task")
	case j.phase != Ready && t.Kind != Driver:
		return bad("the job is " + j.phase.String())
	case v.NodeState(n) != NodeIsReady:
		return bad("the node is " + v.NodeState(n).String())
	case !v.Fits(n, j, t.Kind):
		return bad("the node has no room for it")
	}
	switch state := j.tasks[t.Kind].state[t.Index]; {
	case d.Second && state != TaskRunning, !d.Second && state != TaskPending:
		return bad("the task is " + state.String())
	case d.Second && g.state.findAttempt(j, t, n) >= 0:
		return bad("an attempt of it runs there already")
	}
	d.Locality = v.LocalityOf(j, t, n)
	return nil
}
