package script

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/keyed"
	"github.com/millrace/millrace/topology"
)

// A Policy asks a script. If the script fails, [Policy.Err] says why and the policy decides nothing more.
type Policy struct {
	name  string
	form  Form
	asks  Asker
	line  keyed.Line
	found [2][]Job // memory of the questions
	ended []scheduler.JobID
	view  *scheduler.View // during a call
	err   error
}

var (
	_ scheduler.Policy = (*Policy)(nil)
	_ scheduler.Killer = (*Policy)(nil)
)

// New reads a script. The name is used in errors. Reduces follow maps as under the other policies of a cluster.
func New(name, text string) (*Policy, error) {
	p, err := Load(name, text)
	if err != nil {
		return nil, err
	}
	return Asking(name, p.Form(), p), nil
}

// Asking returns the policy of a script that is loaded elsewhere.
func Asking(name string, form Form, a Asker) *Policy {
	p := &Policy{name: name, form: form, asks: a, line: keyed.Line{Rule: scheduler.DefaultReduceRule()}}
	p.line.Rule.Ramp = 0.5
	return p
}

// Params returns the parameters of a policy that a script makes, as logs, histories and the wire have them.
func Params(name, text string) map[string]string {
	return map[string]string{"name": name, "code": text}
}

// Text parses such parameters. A script without a name gets the name unnamed.
func Text(params map[string]string, unnamed string) (name, text string, err error) {
	name, text = unnamed, params["code"]
	for k, v := range params {
		switch k {
		case "code":
		case "name":
			name = clip(v)
		default:
			return "", "", fmt.Errorf("policy script: no parameter %q: it has code, the text of the script, and name", k)
		}
	}
	if text == "" {
		return "", "", errors.New("policy script: give its text as the parameter code, or name a file that ends in .star as the policy")
	}
	return name, text, nil
}

// Make makes the policy of such parameters.
func Make(params map[string]string, unnamed string) (*Policy, error) {
	name, text, err := Text(params, unnamed)
	if err != nil {
		return nil, err
	}
	return New(name, text)
}

// Err returns the first error of the script.
func (p *Policy) Err() error { return p.err }

// Observe implements scheduler.Policy.
func (p *Policy) Observe(_ time.Duration, e scheduler.Event, _ *scheduler.View) {
	switch e.Kind {
	case scheduler.EvJobFinished, scheduler.EvJobFailed, scheduler.EvJobVanished:
		p.ended = append(p.ended, e.Job)
	}
}

// Assign implements scheduler.Policy.
func (p *Policy) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	if p.err != nil {
		return p.failed()
	}
	p.view = v
	d, err := p.decide(now, n)
	p.view = nil
	if err != nil {
		p.err = err
		return p.failed()
	}
	return d
}

func (p *Policy) failed() scheduler.Decision {
	return scheduler.Idle(scheduler.Reason{Code: scheduler.Denied, Say: "the script has failed"})
}

func (p *Policy) decide(now time.Duration, n topology.NodeID) (scheduler.Decision, error) {
	q := &Question{Now: now, Node: p.describeNode(n)}
	if p.form.Key {
		return p.line.Serve(n, p.view, func(k scheduler.Kind) (*scheduler.Job, string, error) { return p.best(q, k) })
	}
	v := p.view
	q.Cluster = Cluster{Containers: v.Total().Slots[scheduler.Map], Free: v.Free(), Waiting: v.Waiting().Len()}
	q.list = func(k scheduler.Kind) []Job {
		if !v.HasRoom(n, k) {
			return nil
		}
		return p.candidates(n, k)
	}
	a, err := p.ask(q)
	if err != nil {
		return scheduler.Decision{}, err
	}
	return p.take(n, &a)
}

func (p *Policy) ask(q *Question) (Answer, error) {
	q.Ended, p.ended = p.ended, nil
	return p.asks.Ask(q)
}

// best serves the job with the smallest key.
func (p *Policy) best(q *Question, k scheduler.Kind) (*scheduler.Job, string, error) {
	q.Jobs, q.Kind = [2][]Job{}, k
	if q.Jobs[k] = p.candidates(q.Node.ID, k); len(q.Jobs[k]) == 0 {
		return nil, "", nil
	}
	a, err := p.ask(q)
	if err != nil {
		return nil, "", err
	}
	if !a.OK || !slices.ContainsFunc(q.Jobs[k], func(j Job) bool { return j.ID == a.Job }) {
		return nil, "", fmt.Errorf("%s: the smallest key is of %v, which was not asked about", p.name, a.Job)
	}
	return p.view.Job(a.Job), clip(plain(a.Say)), nil
}

// take turns the script's answer into a decision, if it is possible.
func (p *Policy) take(n topology.NodeID, a *Answer) (scheduler.Decision, error) {
	why := scheduler.Reason{Code: scheduler.Behind, Say: clip(a.Say), Node: n}
	if !a.OK {
		return scheduler.Idle(why), nil
	}
	v, j := p.view, p.view.Job(a.Job)
	why.Code, why.Job, why.Kind = scheduler.Chosen, a.Job, a.Kind
	if j == nil || a.Kind >= scheduler.Driver || !p.line.Rule.Eligible(j, a.Kind) || !v.HasRoom(n, a.Kind) || !v.Fits(n, j, a.Kind) {
		name := fmt.Sprint(a.Job)
		if j != nil {
			name = j.Spec().Name
		}
		return scheduler.Decision{}, fmt.Errorf("%s: assign chose a %v of %s for %s, where none may start: choose from cluster.jobs(%q)",
			p.name, a.Kind, name, v.Topology().Node(n).Name, a.Kind)
	}
	t, near, _ := v.PickTask(j, n, a.Kind)
	return scheduler.Run(t, near, why), nil
}

// candidates returns the jobs with a task of a kind that may start on a node, oldest first. The next call overwrites
// them.
func (p *Policy) candidates(n topology.NodeID, k scheduler.Kind) []Job {
	list := p.found[k][:0]
	for j := range p.line.Candidates(n, k, p.view) {
		list = append(list, Job{})
		p.describe(&list[len(list)-1], j, n)
	}
	p.found[k] = list
	return list
}

// Kill implements scheduler.Killer: reduces that wait give way to maps.
func (p *Policy) Kill(now time.Duration, v *scheduler.View) (scheduler.Victim, bool) {
	return p.line.Kill(now, v)
}
