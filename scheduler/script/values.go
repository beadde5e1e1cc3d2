package script

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/millrace/millrace/scheduler"
)

// Scripts can read the values they are given, but not change them. The values show what a Question had.

// job is a job as a script sees it.
type job struct {
	p      *Program
	f      Job
	listed uint64 // the call that last listed it
}

// node is a machine as a script sees it.
type node struct{ f Node }

// cluster is what assign chooses from.
type cluster struct{ p *Program }

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

// jobAttrs are what a script may ask of a job.
var jobAttrs = map[string]func(f *Job) starlark.Value{
	"id":              func(f *Job) starlark.Value { return count(int32(f.ID)) },
	"name":            func(f *Job) starlark.Value { return starlark.String(f.Name) },
	"user":            func(f *Job) starlark.Value { return starlark.String(f.User) },
	"queue":           func(f *Job) starlark.Value { return starlark.String(f.Queue) },
	"pool":            func(f *Job) starlark.Value { return starlark.String(f.Pool) },
	"priority":        func(f *Job) starlark.Value { return count(f.Priority) },
	"weight":          func(f *Job) starlark.Value { return starlark.Float(f.Weight) },
	"submitted":       func(f *Job) starlark.Value { return starlark.Float(f.Submitted) },
	"deadline":        func(f *Job) starlark.Value { return starlark.Float(f.Deadline) },
	"maps":            func(f *Job) starlark.Value { return count(f.Total[scheduler.Map]) },
	"reduces":         func(f *Job) starlark.Value { return count(f.Total[scheduler.Reduce]) },
	"pending_maps":    func(f *Job) starlark.Value { return count(f.Pending[scheduler.Map]) },
	"pending_reduces": func(f *Job) starlark.Value { return count(f.Pending[scheduler.Reduce]) },
	"running_maps":    func(f *Job) starlark.Value { return count(f.Running[scheduler.Map]) },
	"running_reduces": func(f *Job) starlark.Value { return count(f.Running[scheduler.Reduce]) },
	"done_maps":       func(f *Job) starlark.Value { return count(f.Done[scheduler.Map]) },
	"done_reduces":    func(f *Job) starlark.Value { return count(f.Done[scheduler.Reduce]) },
	"held":            func(f *Job) starlark.Value { return count(f.Held) },
	"input_bytes":     func(f *Job) starlark.Value { return starlark.MakeInt64(f.Input) },
	"shuffle_bytes":   func(f *Job) starlark.Value { return starlark.MakeInt64(f.Shuffle) },
}

func count(n int32) starlark.Value { return starlark.MakeInt(int(n)) }

// String implements starlark.Value.
func (j *job) String() string { return "job " + j.f.Name }

// Type implements starlark.Value.
func (j *job) Type() string { return "job" }

// Freeze implements starlark.Value: there is nothing to change.
func (j *job) Freeze() {}

// Truth implements starlark.Value.
func (j *job) Truth() starlark.Bool { return true }

// Hash implements starlark.Value, so that scripts can keep jobs in dictionaries.
func (j *job) Hash() (uint32, error) { return uint32(j.f.ID), nil }

// CompareSameType implements starlark.Comparable: a job has one value.
func (j *job) CompareSameType(op syntax.Token, other starlark.Value, _ int) (bool, error) {
	switch same := j == other.(*job); op {
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
		return of(&j.f), nil
	}
	switch name {
	case "maps_on", "maps_near":
		return starlark.NewBuiltin(name, j.local), nil
	}
	return nil, nil
}

// local counts the waiting maps with input on the node that asks, or in its rack.
func (j *job) local(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var n *node
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &n); err != nil {
		return nil, err
	}
	if q := j.p.asked; q == nil || j.listed != j.p.calls || n.f.ID != q.Node.ID {
		return nil, fmt.Errorf("%s is known of the jobs and the machine of this call, not of those that were kept: job %s, machine %s", b.Name(), j.f.Name, n.f.Name)
	}
	if b.Name() == "maps_on" {
		return count(j.f.On), nil
	}
	return count(j.f.Near), nil
}

// AttrNames implements starlark.HasAttrs.
func (j *job) AttrNames() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(jobAttrs)), "maps_on", "maps_near")))
}

// String implements starlark.Value.
func (n *node) String() string { return "node " + n.f.Name }

// Type implements starlark.Value.
func (n *node) Type() string { return "node" }

// Freeze implements starlark.Value.
func (n *node) Freeze() {}

// Truth implements starlark.Value.
func (n *node) Truth() starlark.Bool { return true }

// Hash implements starlark.Value.
func (n *node) Hash() (uint32, error) { return uint32(n.f.ID), nil }

// Attr implements starlark.HasAttrs.
func (n *node) Attr(name string) (starlark.Value, error) {
	switch name {
	case "name":
		return starlark.String(n.f.Name), nil
	case "rack":
		return starlark.String(n.f.Rack), nil
	case "class_name": // class is a word of the language
		return starlark.String(n.f.Class), nil
	case "running":
		return count(n.f.Running), nil
	case "free":
		return count(n.f.Free), nil
	case "congested":
		return starlark.Bool(n.f.Congested), nil
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs.
func (n *node) AttrNames() []string {
	return []string{"class_name", "congested", "free", "name", "rack", "running"}
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
	if c.p.asked == nil {
		return nil, fmt.Errorf("the cluster is known during assign only")
	}
	switch q := c.p.asked; name {
	case "jobs":
		return starlark.NewBuiltin(name, c.jobs), nil
	case "containers":
		return count(q.Cluster.Containers), nil
	case "free":
		return count(q.Cluster.Free), nil
	case "waiting":
		return starlark.MakeInt(q.Cluster.Waiting), nil
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs.
func (c *cluster) AttrNames() []string { return []string{"containers", "free", "jobs", "waiting"} }

// jobs returns those with a task of a kind that may start on the node that asks.
func (c *cluster) jobs(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	if err := starlark.UnpackPositionalArgs(b.Name(), args, kwargs, 1, &name); err != nil {
		return nil, err
	}
	k, err := kindOf(name)
	if err != nil {
		return nil, err
	}
	list := c.p.asked.jobs(k)
	out := make([]starlark.Value, len(list))
	for i := range list {
		out[i] = c.p.job(&list[i])
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

// plain replaces braces in data, which a Reason would take for places.
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
