package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/topology"
)

// A Code is the class of a Reason, for counting and for tests.
type Code uint8

// The classes of reason.
const (
	Unspecified  Code = iota
	Chosen            // the task was assigned
	NoWork            // nothing is pending for this node
	NoRoom            // the node has no room for what is pending
	Behind            // others come first
	AtLimit           // a user, queue, pool or partition holds all it may
	ForLocality       // waits for a nearer node
	ForSlowstart      // reduces wait for more maps
	ForAdmission      // the job is not admitted yet
	ForDriver         // the job's driver does not run yet
	ForNetwork        // waits for an uncongested network
	ForPlan           // a plan keeps the place for another job
	NotNeeded         // the job is ahead of its goal
	Denied            // refused for good
	numCodes
)

var codeNames = [numCodes]string{
	"unspecified", "chosen", "no-work", "no-room", "behind", "at-limit", "locality", "slowstart", "admission", "driver",
	"network", "plan", "not-needed", "denied",
}

// String returns the class's name.
func (c Code) String() string { return codeNames[min(c, numCodes-1)] }

// A Reason says why a policy decided as it did. It is a small value that costs
// no allocation to make; Text turns it into a sentence. Say is a constant with
// places in braces:
//
//	{job} {other} {node} {rack} {group} {kind} {a} {b} {c}   and, for numbers,
//	{a:bytes} {a:time} {a:milli} {a:jobs are}
//
// for example "{job} waits: {group} holds {a} of {b} slots". A and B with
// :milli are thousandths, so that fractions need no floats.
type Reason struct {
	Code       Code
	Kind       Kind
	Say        string
	Job, Other JobID
	Node       topology.NodeID
	Rack       topology.RackID
	Group      *Group
	A, B, C    int64

	_ even
}

// Text returns the reason as a sentence, with names taken from v. A nil View
// gives plain ids.
func (r Reason) Text(v *View) string {
	return r.TextWith(v, func(id JobID) string { return jobName(id, v) })
}

// TextWith is Text with other names for jobs, for callers whose users know them by something else.
func (r Reason) TextWith(v *View, job func(JobID) string) string {
	if r.Say == "" {
		return r.Code.String()
	}
	var b strings.Builder
	for rest := r.Say; rest != ""; {
		open := strings.IndexByte(rest, '{')
		if open < 0 {
			b.WriteString(rest)
			break
		}
		end := strings.IndexByte(rest[open:], '}')
		if end < 0 {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:open])
		b.WriteString(r.place(rest[open+1:open+end], v, job))
		rest = rest[open+end+1:]
	}
	return b.String()
}

func (r Reason) place(name string, v *View, job func(JobID) string) string {
	name, unit, _ := strings.Cut(name, ":")
	switch name {
	case "job":
		return job(r.Job)
	case "other":
		return job(r.Other)
	case "kind":
		return r.Kind.String()
	case "group":
		return groupName(r.Group)
	case "node":
		if v != nil && v.s.topo.Has(r.Node) {
			return v.s.topo.Node(r.Node).Name
		}
		return fmt.Sprintf("node %d", r.Node)
	case "rack":
		if v != nil && v.s.topo.HasRack(r.Rack) {
			return v.s.topo.Rack(r.Rack).Name
		}
		return fmt.Sprintf("rack %d", r.Rack)
	case "a":
		return number(r.A, unit)
	case "b":
		return number(r.B, unit)
	case "c":
		return number(r.C, unit)
	}
	return "{" + name + "}"
}

func jobName(id JobID, v *View) string {
	if v != nil {
		if j := v.s.jobs[id]; j != nil && j.spec.Name != "" {
			return j.spec.Name
		}
	}
	return id.String()
}

func groupName(g *Group) string {
	switch {
	case g == nil:
		return "nobody"
	case g.kind == MemberGroup:
		return fmt.Sprintf("user %s of queue %s", g.name, g.queue.name)
	}
	return fmt.Sprintf("%v %s", g.kind, g.name)
}

func number(n int64, unit string) string {
	switch unit {
	case "bytes":
		return bytesText(n)
	case "time":
		return time.Duration(n).Round(time.Millisecond).String()
	case "jobs are":
		if n == 1 {
			return "1 job is"
		}
		return fmt.Sprint(n, " jobs are")
	case "milli":
		return fmt.Sprintf("%g", float64(n)/1000)
	}
	return fmt.Sprint(n)
}

func bytesText(n int64) string {
	const unit = 1024
	f, i := float64(n), 0
	for ; (f >= unit || f <= -unit) && i < 5; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.4g%s", f, [...]string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}[i])
}
