package script

import (
	"errors"
	"fmt"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/keyed"
	"github.com/millrace/millrace/topology"
)

// What a script may use.
const (
	MaxSteps = 1_000_000 // of a call
	MaxText  = 64 << 10  // of the script
	maxSay   = 300       // of a reason
)

// A Policy asks a script. What is wrong with the script shows in [Policy.Err]; from then on nothing is decided.
type Policy struct {
	thread      *starlark.Thread
	key, assign starlark.Callable
	line        keyed.Line
	jobs        map[scheduler.JobID]*job
	nodes       []*node
	view        *scheduler.View // during a call
	err         error
}

var (
	_ scheduler.Policy = (*Policy)(nil)
	_ scheduler.Killer = (*Policy)(nil)
)

// New reads a script. The name is used in errors. Reduces follow maps as under the other policies of a cluster.
func New(name, text string) (*Policy, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("%s: a script has at most %d bytes, not %d", name, MaxText, len(text))
	}
	p := &Policy{jobs: map[scheduler.JobID]*job{}, line: keyed.Line{Rule: scheduler.DefaultReduceRule()}}
	p.line.Rule.Ramp = 0.5
	p.thread = &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	p.thread.SetMaxExecutionSteps(MaxSteps)
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{Set: true, GlobalReassign: true}, p.thread, name, text, starlark.StringDict{
		"run": starlark.NewBuiltin("run", run), "idle": starlark.NewBuiltin("idle", idle), "state": starlark.NewDict(0),
	})
	if err != nil {
		return nil, explain(name, err)
	}
	p.key, _ = globals["key"].(starlark.Callable)
	p.assign, _ = globals["assign"].(starlark.Callable)
	if (p.key == nil) == (p.assign == nil) {
		return nil, fmt.Errorf("%s: define either key(job, node, now) or assign(node, cluster, now)", name)
	}
	return p, nil
}

// explain puts the place of a mistake first.
func explain(name string, err error) error {
	if e, ok := errors.AsType[*starlark.EvalError](err); ok {
		for i := range e.CallStack {
			if f := e.CallStack.At(i); f.Pos.IsValid() && f.Pos.Filename() == name {
				return fmt.Errorf("%s:%d: in %s: %w", name, f.Pos.Line, f.Name, err)
			}
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return err // the parser says where
}

// Err returns what was first wrong with the script.
func (p *Policy) Err() error { return p.err }

// Observe implements scheduler.Policy.
func (p *Policy) Observe(_ time.Duration, e scheduler.Event, _ *scheduler.View) {
	switch e.Kind {
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		delete(p.jobs, e.Job)
	}
}

// Assign implements scheduler.Policy.
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	if p.err != nil {
		return scheduler.Idle(scheduler.Reason{Code: scheduler.Denied, Say: "the script has failed"})
	}
	p.view = v
	if p.key != nil {
		return p.best(now, n)
	}
	got, err := p.call(p.assign, p.node(n), &cluster{p, n}, starlark.Float(now.Seconds()))
	if err != nil {
		return p.fail(err)
	}
	d, ok := got.(*decision)
	if !ok {
		return p.fail(fmt.Errorf("%s: assign returned %s, want run(job, kind, why) or idle(why)", p.thread.Name, got.Type()))
	}
	return p.take(n, d)
}

// take turns what the script decided into a decision, if that can be.
func (p *Policy) take(n topology.NodeID, d *decision) scheduler.Decision {
	why := scheduler.Reason{Code: scheduler.Behind, Say: d.say, Node: n}
	if d.job == nil {
		return scheduler.Idle(why)
	}
	v, j := p.view, d.job.j
	why.Code, why.Job, why.Kind = scheduler.Chosen, j.ID(), d.kind
	if v.Job(j.ID()) != j || !p.line.Rule.Eligible(j, d.kind) || !v.HasRoom(n, d.kind) || !v.Fits(n, j, d.kind) {
		return p.fail(fmt.Errorf("%s: assign chose a %v of %s for %s, where none may start: choose from cluster.jobs(%q)", p.thread.Name, d.kind, d.job.name(), p.node(n).name(), d.kind))
	}
	t, near, _ := v.PickTask(j, n, d.kind)
	return scheduler.Run(t, near, why)
}

// best serves the job with the smallest key.
func (p *Policy) best(now time.Duration, n topology.NodeID) scheduler.Decision {
	d, err := p.line.Serve(n, p.view, func(k scheduler.Kind) (*scheduler.Job, string, error) {
		first, least, err := p.first(now, n, k)
		if err != nil || first == nil {
			return nil, "", err
		}
		return first.j, clip(plain(least.String())), nil
	})
	if err != nil {
		return p.fail(err)
	}
	return d
}

// first is the job with the smallest key of those with a task that may start here.
func (p *Policy) first(now time.Duration, n topology.NodeID, k scheduler.Kind) (best *job, least starlark.Value, err error) {
	for _, j := range p.candidates(n, k) {
		got, err := p.call(p.key, j, p.node(n), starlark.Float(now.Seconds()))
		if err != nil {
			return nil, nil, err
		}
		if got == starlark.None {
			return nil, nil, fmt.Errorf("%s: key returned None for %s: return a number, a string or a tuple of them", p.thread.Name, j.name())
		}
		smaller := best == nil
		if !smaller {
			if smaller, err = starlark.Compare(syntax.LT, got, least); err != nil {
				return nil, nil, fmt.Errorf("%s: keys of %s and %s: %w", p.thread.Name, j.name(), best.name(), err)
			}
		}
		if smaller {
			best, least = j, got
		}
	}
	return best, least, nil
}

// candidates are the jobs with a task of a kind that may start on a node, oldest first.
func (p *Policy) candidates(n topology.NodeID, k scheduler.Kind) (out []*job) {
	for j := range p.line.Candidates(n, k, p.view) {
		out = append(out, p.job(j))
	}
	return out
}

// Kill implements scheduler.Killer: reduces that wait give way to maps.
func (p *Policy) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	return p.line.Kill(now, v)
}

// call calls a function of the script with a new budget of steps.
func (p *Policy) call(f starlark.Callable, args ...starlark.Value) (starlark.Value, error) {
	p.thread.SetMaxExecutionSteps(p.thread.ExecutionSteps() + MaxSteps)
	got, err := starlark.Call(p.thread, f, args, nil)
	if err != nil {
		return nil, explain(p.thread.Name, err)
	}
	return got, nil
}

func (p *Policy) fail(err error) scheduler.Decision {
	p.err = err
	return scheduler.Idle(scheduler.Reason{Code: scheduler.Denied, Say: "the script has failed"})
}

func (p *Policy) job(j *scheduler.Job) *job {
	mine := p.jobs[j.ID()]
	if mine == nil {
		mine = &job{p: p, j: j}
		p.jobs[j.ID()] = mine
	}
	return mine
}

func (p *Policy) node(n topology.NodeID) *node {
	for len(p.nodes) <= int(n) {
		p.nodes = append(p.nodes, &node{p: p, n: topology.NodeID(len(p.nodes))})
	}
	return p.nodes[n]
}
