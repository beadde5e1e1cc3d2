package script

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// The limits of a script.
const (
	MaxSteps = 1_000_000 // of a call
	MaxText  = 64 << 10  // of the script
	maxSay   = 300       // of a reason
)

// A Program is a script that can be asked.
type Program struct {
	thread      *starlark.Thread
	key, assign starlark.Callable
	form        Form
	jobs        map[scheduler.JobID]*job
	nodes       map[topology.NodeID]*node
	calls       uint64
	asked       *Question // during a call
}

var _ Asker = (*Program)(nil)

// Load reads a script. The name is used in errors.
func Load(name, text string) (*Program, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("%s: a script has at most %d bytes, not %d", name, MaxText, len(text))
	}
	p := &Program{jobs: map[scheduler.JobID]*job{}, nodes: map[topology.NodeID]*node{}}
	p.thread = &starlark.Thread{Name: name, Print: func(*starlark.Thread, string) {}}
	p.thread.SetMaxExecutionSteps(MaxSteps)
	p.thread.OnMaxSteps = func(t *starlark.Thread) {
		t.Cancel(fmt.Sprintf("too many steps: a call may take %d; loop over less, or keep in state what need not be computed again", MaxSteps))
	}
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{Set: true, GlobalReassign: true}, p.thread, name, text, starlark.StringDict{
		"run": starlark.NewBuiltin("run", run), "idle": starlark.NewBuiltin("idle", idle), "state": starlark.NewDict(0),
		"range": starlark.NewBuiltin("range", boundedRange),
	})
	if err != nil {
		return nil, explain(name, err)
	}
	p.key, _ = globals["key"].(starlark.Callable)
	p.assign, _ = globals["assign"].(starlark.Callable)
	if (p.key == nil) == (p.assign == nil) {
		return nil, fmt.Errorf("%s: define either key(job, node, now) or assign(node, cluster, now)", name)
	}
	local := strings.Contains(text, "maps_") || strings.Contains(text, "getattr")
	p.form = Form{Key: p.key != nil, Local: local}
	return p, nil
}

// boundedRange is range limited to as many numbers as a call may take steps: functions like list and max count no steps
// for the numbers that they read.
func boundedRange(t *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v, err := starlark.Call(t, starlark.Universe["range"], args, kwargs)
	if err != nil {
		return nil, err
	}
	if n := starlark.Len(v); n > MaxSteps {
		return nil, fmt.Errorf("range of %d numbers: at most %d", n, MaxSteps)
	}
	return v, nil
}

// explain puts the position of a mistake first.
func explain(name string, err error) error {
	if e, ok := errors.AsType[*starlark.EvalError](err); ok {
		for i := range e.CallStack {
			if f := e.CallStack.At(i); f.Pos.IsValid() && f.Pos.Filename() == name {
				return fmt.Errorf("%s:%d: in %s: %w", name, f.Pos.Line, f.Name, err)
			}
		}
		return fmt.Errorf("%s: %w", name, err)
	}
	return err // the parser gives the position
}

// Form returns how the script wants to be asked.
func (p *Program) Form() Form { return p.form }

// Ask implements Asker.
func (p *Program) Ask(q *Question) (Answer, error) {
	p.asked, p.calls = q, p.calls+1
	defer func() { p.asked = nil }()
	for _, id := range q.Ended {
		delete(p.jobs, id)
	}
	if p.key != nil {
		return p.first(q)
	}
	got, err := p.call(p.assign, p.node(&q.Node), &cluster{p}, starlark.Float(q.Now.Seconds()))
	if err != nil {
		return Answer{}, err
	}
	d, ok := got.(*decision)
	if !ok {
		return Answer{}, fmt.Errorf("%s: assign returned %s, want run(job, kind, why) or idle(why)", p.thread.Name, got.Type())
	}
	if d.job == nil {
		return Answer{Say: d.say}, nil
	}
	return Answer{OK: true, Job: d.job.f.ID, Kind: d.kind, Say: d.say}, nil
}

// first returns the job with the smallest key.
func (p *Program) first(q *Question) (Answer, error) {
	var best *job
	var least starlark.Value
	n, now := p.node(&q.Node), starlark.Float(q.Now.Seconds())
	list := q.jobs(q.Kind)
	for i := range list {
		j := p.job(&list[i])
		got, err := p.call(p.key, j, n, now)
		if err != nil {
			return Answer{}, err
		}
		if got == starlark.None {
			return Answer{}, fmt.Errorf("%s: key returned None for %s: return a number, a string or a tuple of them", p.thread.Name, j.f.Name)
		}
		smaller := best == nil
		if !smaller {
			if smaller, err = starlark.Compare(syntax.LT, got, least); err != nil {
				return Answer{}, fmt.Errorf("%s: keys of %s and %s: %w", p.thread.Name, j.f.Name, best.f.Name, err)
			}
		}
		if smaller {
			best, least = j, got
		}
	}
	if best == nil {
		return Answer{}, nil
	}
	return Answer{OK: true, Job: best.f.ID, Kind: q.Kind, Say: clip(plain(least.String()))}, nil
}

// call calls a function of the script with a new budget of steps.
func (p *Program) call(f starlark.Callable, args ...starlark.Value) (starlark.Value, error) {
	p.thread.SetMaxExecutionSteps(p.thread.ExecutionSteps() + MaxSteps)
	got, err := starlark.Call(p.thread, f, args, nil)
	if err != nil {
		return nil, explain(p.thread.Name, err)
	}
	return got, nil
}

// job returns the script's value of a job, always the same one, so that scripts can keep it.
func (p *Program) job(f *Job) *job {
	mine := p.jobs[f.ID]
	if mine == nil {
		mine = &job{p: p}
		p.jobs[f.ID] = mine
	}
	mine.f, mine.listed = *f, p.calls
	return mine
}

func (p *Program) node(f *Node) *node {
	mine := p.nodes[f.ID]
	if mine == nil {
		mine = &node{}
		p.nodes[f.ID] = mine
	}
	mine.f = *f
	return mine
}
