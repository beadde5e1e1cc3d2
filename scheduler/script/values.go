package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// The values that a script is given can be read and not changed. Each is a window on the View, open during a call.

// job is a job as a script sees it.
type job struct {
	p *Policy
	j *scheduler.Job
}

// node is a machine as a script sees it.
type node struct {
	p *Policy
	n topology.NodeID
}

// cluster is what assign chooses from.
type cluster struct {
	p *Policy
	n topology.NodeID
}

// decision is what run and idle return.
type decision struct {
	job  *job
	kind scheduler.Kind
	say  string
}

var (
	_ starlark.HasAttrs   = (*job)(nil)
	_ starlark.Comparable = (*job)(nil)
	_ starlark.HasAttrs   = (*node)(nil)
	_ starlark.HasAttrs   = (*cluster)(nil)
)

func (j *job) name() string  { return j.j.Spec().Name }
func (n *node) name() string { return n.p.view.Topology().Node(n.n).Name }

// jobAttrs are what a script may ask of a job.
var jobAttrs = map[string]func(j *scheduler.Job) starlark.Value{
	"id":              func(j *scheduler.Job) starlark.Value { return starlark.MakeInt(int(j.ID())) },
	"name":            func(j *scheduler.Job) starlark.Value { return starlark.String(j.Spec().Name) },
	"user":            func(j *scheduler.Job) starlark.Value { return starlark.String(j.Spec().User) },
	"queue":           func(j *scheduler.Job) starlark.Value { return starlark.String(j.Spec().Queue) },
	"pool":            func(j *scheduler.Job) starlark.Value { return starlark.String(j.Spec().Pool) },
	"priority":        func(j *scheduler.Job) starlark.Value { return starlark.MakeInt(int(j.Priority())) },
	"weight":          func(j *scheduler.Job) starlark.Value { return starlark.Float(j.Weight()) },
	"submitted":       func(j *scheduler.Job) starlark.Value { return starlark.Float(j.Submitted().Seconds()) },
	"deadline":        func(j *scheduler.Job) starlark.Value { return starlark.Float(j.Spec().Deadline.Seconds()) },
	"maps":            func(j *scheduler.Job) starlark.Value { return count(j.Total(scheduler.Map)) },
	"reduces":         func(j *scheduler.Job) starlark.Value { return count(j.Total(scheduler.Reduce)) },
	"pending_maps":    func(j *scheduler.Job) starlark.Value { return count(j.Pending(scheduler.Map)) },
	"pending_reduces": func(j *scheduler.Job) starlark.Value { return count(j.Pending(scheduler.Reduce)) },
	"running_maps":    func(j *scheduler.Job) starlark.Value { return count(j.Running(scheduler.Map)) },
	"running_reduces": func(j *scheduler.Job) starlark.Value { return count(j.Running(scheduler.Reduce)) },
	"done_maps":       func(j *scheduler.Job) starlark.Value { return count(j.Done(scheduler.Map)) },
	"done_reduces":    func(j *scheduler.Job) starlark.Value { return count(j.Done(scheduler.Reduce)) },
	"held":            func(j *scheduler.Job) starlark.Value { return count(j.Held()) },
	"input_bytes":     func(j *scheduler.Job) starlark.Value { return starlark.MakeInt64(j.Spec().Input.Bytes) },
	"shuffle_bytes":   func(j *scheduler.Job) starlark.Value { return starlark.MakeInt64(j.Spec().Shuffle.Bytes) },
}

func count(n int32) starlark.Value { return starlark.MakeInt(int(n)) }

// String implements starlark.Value.
func (j *job) String() string { return "job " + j.name() }

// Type implements starlark.Value.
func (j *job) Type() string { return "job" }

// Freeze implements starlark.Value: there is nothing to change.
func (j *job) Freeze() {}

// Truth implements starlark.Value.
func (j *job) Truth() starlark.Bool { return true }

// Hash implements starlark.Value, so that scripts can keep jobs in dictionaries.
func (j *job) Hash() (uint32, error) { return uint32(j.j.ID()), nil }

// CompareSameType implements starlark.Comparable: two values of one job are equal.
func (j *job) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	switch same := j.j == other.(*job).j; op {
	case syntax.EQL:
		return same, nil
	case syntax.NEQ:
		return !same, nil
	}
	return false, fmt.Errorf("jobs have no order: compare what they have")
}

// Attr implements starlark.HasAttrs.
func (j *job) Attr(name string) (starlark.Value, error) {
	if of, ok := jobAttrs[name]; ok {
		return of(j.j), nil
	}
	switch name {
	case "maps_on", "maps_near":
		return starlark.NewBuiltin(name, j.local), nil
	}
	return nil, nil
}

// local counts the maps that wait with input on a node, or in its rack.
func (j *job) local(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var n *node
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &n); err != nil {
		return nil, err
	}
	v := j.p.view
	if b.Name() == "maps_on" {
		return count(v.LocalOn(j.j, n.n)), nil
	}
	return count(v.LocalIn(j.j, v.RackOf(n.n))), nil
}

// AttrNames implements starlark.HasAttrs.
func (j *job) AttrNames() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(jobAttrs)), "maps_on", "maps_near")))
}

// String implements starlark.Value.
func (n *node) String() string { return "node " + n.name() }

// Type implements starlark.Value.
func (n *node) Type() string { return "node" }

// Freeze implements starlark.Value.
func (n *node) Freeze() {}

// Truth implements starlark.Value.
func (n *node) Truth() starlark.Bool { return true }

// Hash implements starlark.Value.
func (n *node) Hash() (uint32, error) { return uint32(n.n), nil }

// Attr implements starlark.HasAttrs.
func (n *node) Attr(name string) (starlark.Value, error) {
	v := n.p.view
	rack := v.RackOf(n.n)
	switch name {
	case "name":
		return starlark.String(n.name()), nil
	case "rack":
		return starlark.String(v.Topology().Rack(rack).Name), nil
	case "class":
		return starlark.String(v.Topology().Node(n.n).Class), nil
	case "running":
		return count(v.Used(n.n).Work()), nil
	case "free":
		return count(v.FreeSlots(n.n, scheduler.Map)), nil
	case "congested":
		return starlark.Bool(v.Net(rack).Congested), nil
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs.
func (n *node) AttrNames() []string {
	return []string{"class", "congested", "free", "name", "rack", "running"}
}

// String implements starlark.Value.
func (c *cluster) String() string { return "cluster" }

// Type implements starlark.Value.
func (c *cluster) Type() string { return "cluster" }

// Freeze implements starlark.Value.
func (c *cluster) Freeze() {}

// Truth implements starlark.Value.
func (c *cluster) Truth() starlark.Bool { return true }

// Hash implements starlark.Value.
func (c *cluster) Hash() (uint32, error) { return 0, fmt.Errorf("the cluster is no key") }

// Attr implements starlark.HasAttrs.
func (c *cluster) Attr(name string) (starlark.Value, error) {
	switch v := c.p.view; name {
	case "jobs":
		return starlark.NewBuiltin(name, c.jobs), nil
	case "containers":
		return count(v.Total().Slots[scheduler.Map]), nil
	case "free":
		return count(v.Free()), nil
	case "waiting":
		return starlark.MakeInt(v.Waiting().Len()), nil
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs.
func (c *cluster) AttrNames() []string { return []string{"containers", "free", "jobs", "waiting"} }

// jobs lists those with a task of a kind that may start on the node that asks.
func (c *cluster) jobs(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &name); err != nil {
		return nil, err
	}
	k, err := kindOf(name)
	if err != nil {
		return nil, err
	}
	var out []starlark.Value
	if c.p.view.HasRoom(c.n, k) {
		for _, j := range c.p.candidates(c.n, k) {
			out = append(out, j)
		}
	}
	return starlark.NewList(out), nil
}

func kindOf(name string) (scheduler.Kind, error) {
	switch name {
	case "map":
		return scheduler.Map, nil
	case "reduce":
		return scheduler.Reduce, nil
	}
	return 0, fmt.Errorf("kind %q: write \"map\" or \"reduce\"", name)
}

// run is the decision to start a task of a job.
func run(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var j *job
	var kind, why string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "job", &j, "kind", &kind, "why?", &why); err != nil {
		return nil, err
	}
	k, err := kindOf(kind)
	if why == "" {
		why = "the script chose {job}"
	}
	return &decision{j, k, clip(why)}, err
}

// idle is the decision to leave the node as it is.
func idle(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	why := "the script leaves {node} as it is"
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "why?", &why); err != nil {
		return nil, err
	}
	return &decision{say: clip(why)}, nil
}

// clip bounds what a script says.
func clip(s string) string {
	if len(s) <= maxSay {
		return s
	}
	return strings.ToValidUTF8(s[:maxSay], "") + "…"
}

// plain keeps braces of data from being read as places of a sentence.
func plain(s string) string { return strings.NewReplacer("{", "(", "}", ")").Replace(s) }

// String implements starlark.Value.
func (d *decision) String() string { return "decision" }

// Type implements starlark.Value.
func (d *decision) Type() string { return "decision" }

// Freeze implements starlark.Value.
func (d *decision) Freeze() {}

// Truth implements starlark.Value.
func (d *decision) Truth() starlark.Bool { return d.job != nil }

// Hash implements starlark.Value.
func (d *decision) Hash() (uint32, error) { return 0, fmt.Errorf("a decision is no key") }
