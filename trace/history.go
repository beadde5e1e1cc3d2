package trace

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// HistoryVersion is the version of the history format that is written.
const HistoryVersion = 6

// A History is what happened on a cluster, real or simulated: jobs and, where they are
// known, the attempts of their tasks. Its format is described in
// docs/formats/history.md. Times count from the start of the history.
type History struct {
	Origin   Origin
	Jobs     []PastJob     // in order of submission
	Attempts []PastAttempt // in order of their end
}

// An Origin says where a history comes from. Empty fields are unknown.
type Origin struct {
	Source    string `json:"source,omitempty"` // "sim", "cluster" or "swim"
	Policy    string `json:"policy,omitempty"`
	Admission string `json:"admission,omitempty"`
	Nodes     int    `json:"nodes,omitempty"`
	Racks     int    `json:"racks,omitempty"`
	Room      int    `json:"room,omitempty"` // containers or slots of the whole cluster
	// Periods say which policies it had when, in order; Policy and Admission are those of the last.
	Periods  []Period  `json:"periods,omitempty"`
	Second   *Rule     `json:"second,omitempty"`   // of second attempts; of a cluster, as the last job found it
	Machines []Machine `json:"machines,omitempty"` // one by one, in order; Nodes of them
	Links    []Link    `json:"links,omitempty"`    // of the racks whose rates are known
	Optical  *Optical  `json:"optical,omitempty"`  // the optical switch between the racks, if there is one
}

// A Period begins with the first job that came under other policies than the job before it.
type Period struct {
	From            time.Duration     `json:"from_ns"`
	Policy          string            `json:"policy"`
	Params          map[string]string `json:"params,omitempty"`
	Admission       string            `json:"admission,omitempty"`
	AdmissionParams map[string]string `json:"admission_params,omitempty"`
}

// A Rule says when slow tasks got a second attempt.
type Rule struct {
	Name   string            `json:"name"` // late, lag or none
	Params map[string]string `json:"params,omitempty"`
}

// A Machine is a node of the cluster.
type Machine struct {
	Name  string  `json:"name"`
	Rack  string  `json:"rack"`
	Class string  `json:"class,omitempty"`
	Speed float64 `json:"speed,omitempty"` // relative to the others: at 0.5 tasks took twice as long; 0 means 1
	Room  int     `json:"room"`            // containers or slots
	NIC   float64 `json:"nic,omitempty"`   // of its card, bytes a second; 0: not known
}

// A Link joins a rack and the core.
type Link struct {
	Rack string  `json:"rack"`
	Up   float64 `json:"up"`             // bytes a second
	Down float64 `json:"down,omitempty"` // 0: as Up
}

// An Optical is a switch that joins each rack with one other at a time.
type Optical struct {
	Rate      float64       `json:"rate"` // of a circuit, bytes a second
	Interval  time.Duration `json:"interval_ns"`
	Dark      time.Duration `json:"dark_ns,omitempty"`
	Threshold int64         `json:"threshold,omitempty"` // bytes between two racks above which they go by a circuit
}

// A JobState says how a job ended.
type JobState string

// The states. A job that only a trace tells of has none.
const (
	JobDone     JobState = "done"
	JobFailed   JobState = "failed"
	JobRejected JobState = "rejected"
)

// A PastJob is a job of a history.
type PastJob struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	User  string `json:"user,omitempty"`
	Queue string `json:"queue,omitempty"`
	Pool  string `json:"pool,omitempty"`
	// Priority is -2, very low, to 2, very high; Weight is the share beside others, 0 means 1.
	Priority int     `json:"priority,omitempty"`
	Weight   float64 `json:"weight,omitempty"`
	// Recurring jobs are known before they come: policies that plan have planned them.
	Recurring bool `json:"recurring,omitempty"`
	// Slowstart and ReduceCost are as the job said; 0 means that it did not.
	Slowstart  float64 `json:"slowstart,omitempty"`
	ReduceCost float64 `json:"reduce_cost,omitempty"`
	// Expect is what the policies were told of the job, by which they go rather than by what it turned out to be; nil:
	// the history does not say.
	Expect *Expected `json:"expect,omitempty"`

	Submit   time.Duration `json:"submit_ns"`
	Admitted time.Duration `json:"admitted_ns,omitempty"`
	Start    time.Duration `json:"start_ns,omitempty"` // of the first task
	End      time.Duration `json:"end_ns,omitempty"`
	Deadline time.Duration `json:"deadline_ns,omitempty"` // the instant of its goal
	State    JobState      `json:"state,omitempty"`

	Maps    int32 `json:"maps,omitempty"`
	Reduces int32 `json:"reduces,omitempty"`

	InputBytes   int64 `json:"input_bytes,omitempty"`
	ShuffleBytes int64 `json:"shuffle_bytes,omitempty"`
	OutputBytes  int64 `json:"output_bytes,omitempty"`
}

// Expected is what was known of a job when its tasks became known; 0 means unknown. The times are for one task.
type Expected struct {
	InputBytes   int64         `json:"input_bytes,omitempty"`
	ShuffleBytes int64         `json:"shuffle_bytes,omitempty"`
	OutputBytes  int64         `json:"output_bytes,omitempty"`
	MapTime      time.Duration `json:"map_time_ns,omitempty"`
	ReduceTime   time.Duration `json:"reduce_time_ns,omitempty"`
}

// A PastAttempt is one try of a task.
type PastAttempt struct {
	Job      string        `json:"job"`
	Kind     string        `json:"kind"` // "map" or "reduce"
	Index    int32         `json:"index"`
	Node     string        `json:"node"`
	Start    time.Duration `json:"start_ns"`
	End      time.Duration `json:"end_ns"`
	Locality string        `json:"locality,omitempty"` // "node", "rack" or "remote"; maps only
	// Lost says that the attempt ended without a result.
	Lost bool `json:"lost,omitempty"`
}

// Trace returns the jobs as a trace.
func (h *History) Trace() []Job {
	out := make([]Job, len(h.Jobs))
	for i, j := range h.Jobs {
		out[i] = Job{ID: j.ID, Submit: j.Submit, InputBytes: j.InputBytes, ShuffleBytes: j.ShuffleBytes, OutputBytes: j.OutputBytes}
	}
	return out
}

// HistoryOf returns a trace as a history without attempts.
func HistoryOf(jobs []Job) *History {
	h := &History{Origin: Origin{Source: "swim"}}
	for _, j := range jobs {
		h.Jobs = append(h.Jobs, PastJob{ID: j.ID, Submit: j.Submit, InputBytes: j.InputBytes, ShuffleBytes: j.ShuffleBytes, OutputBytes: j.OutputBytes})
	}
	return h
}

// sort sorts jobs and attempts into their order.
func (h *History) sort() {
	slices.SortStableFunc(h.Jobs, func(a, b PastJob) int { return cmp.Compare(a.Submit, b.Submit) })
	slices.SortStableFunc(h.Attempts, func(a, b PastAttempt) int {
		return cmp.Or(cmp.Compare(a.End, b.End), cmp.Compare(a.Start, b.Start))
	})
}

const (
	maxTasks = 1 << 28
	maxTime  = 1_000_000_000 * time.Second
)

// maxOrigin bounds the lists of an origin, maxRate a rate in bytes a second, minSpeed, and one over it, the speeds of machines.
const (
	minSpeed  = 1e-3
	maxOrigin = 1_000_000
	maxRate   = 1e15
)

func (o *Origin) validate() error {
	if o.Nodes < 0 || o.Racks < 0 || o.Room < 0 {
		return fmt.Errorf("a number of the origin is negative")
	}
	if len(o.Periods) > maxOrigin || len(o.Machines) > maxOrigin || len(o.Links) > maxOrigin {
		return fmt.Errorf("the origin has %d periods, %d machines and %d links: at most %d of each", len(o.Periods), len(o.Machines), len(o.Links), maxOrigin)
	}
	if o.Second != nil && o.Second.Name == "" {
		return fmt.Errorf("the rule of second attempts has no name")
	}
	last := time.Duration(0)
	for _, p := range o.Periods {
		if p.Policy == "" || p.From < last || p.From > maxTime {
			return fmt.Errorf("a period from %d ns on under %q: periods have a policy and are in order", int64(p.From), p.Policy)
		}
		last = p.From
	}
	for _, m := range o.Machines {
		if m.Name == "" || m.Room < 0 || m.Room > maxTasks || !(m.NIC >= 0 && m.NIC <= maxRate) {
			return fmt.Errorf("machine %q with room %d and a card of %g bytes a second: must have a name, and none may be negative", m.Name, m.Room, m.NIC)
		}
	}
	for _, m := range o.Machines {
		if m.Speed != 0 && !(m.Speed >= minSpeed && m.Speed <= 1/minSpeed) {
			return fmt.Errorf("machine %q has a speed of %g: must be %g to %g", m.Name, m.Speed, minSpeed, 1/minSpeed)
		}
	}
	for _, l := range o.Links {
		if !(l.Up > 0 && l.Up <= maxRate) || !(l.Down >= 0 && l.Down <= maxRate) {
			return fmt.Errorf("the link of rack %q has %g and %g bytes a second: must be above 0", l.Rack, l.Up, l.Down)
		}
	}
	if s := o.Optical; s != nil && (!(s.Rate > 0 && s.Rate <= maxRate) || s.Interval < 1 || s.Interval > maxTime || s.Dark < 0 || s.Dark >= s.Interval || s.Threshold < 0) {
		return fmt.Errorf("an optical switch of %g bytes a second, matched every %v with %v dark: a circuit has a rate, and the dark time is shorter than the interval", s.Rate, s.Interval, s.Dark)
	}
	return nil
}

func (j *PastJob) validate() error {
	switch {
	case j.Priority < -2 || j.Priority > 2 || !(j.Weight >= 0 && j.Weight <= 1e6):
		return fmt.Errorf("job %q: priority %d and weight %g are not in -2..2 and 0..1e6", j.ID, j.Priority, j.Weight)
	case !(j.Slowstart <= 1) || !(j.ReduceCost >= 0 && j.ReduceCost <= 1e6):
		return fmt.Errorf("job %q: slow start %g and reduce cost %g are not at most 1 and in 0..1e6", j.ID, j.Slowstart, j.ReduceCost)
	case j.ID == "":
		return fmt.Errorf("the job has no id")
	case j.Maps < 0 || j.Reduces < 0 || j.Maps > maxTasks || j.Reduces > maxTasks:
		return fmt.Errorf("job %q has %d maps and %d reduces, must be in 0..2^28", j.ID, j.Maps, j.Reduces)
	case j.State != "" && j.State != JobDone && j.State != JobFailed && j.State != JobRejected:
		return fmt.Errorf("job %q: state %q is none of done, failed, rejected", j.ID, j.State)
	case j.End != 0 && j.End < j.Submit:
		return fmt.Errorf("job %q ends at %v, before it is submitted at %v", j.ID, j.End, j.Submit)
	}
	e := Expected{}
	if j.Expect != nil {
		e = *j.Expect
	}
	for _, t := range []time.Duration{j.Submit, j.Admitted, j.Start, j.End, j.Deadline, e.MapTime, e.ReduceTime} {
		if t < 0 || t > maxTime {
			return fmt.Errorf("job %q: a time of %d ns is not in 0..1e18", j.ID, int64(t))
		}
	}
	for _, b := range []int64{j.InputBytes, j.ShuffleBytes, j.OutputBytes, e.InputBytes, e.ShuffleBytes, e.OutputBytes} {
		if b < 0 || b > maxBytes {
			return fmt.Errorf("job %q: %d bytes are not in 0..2^60", j.ID, b)
		}
	}
	return nil
}

func (a *PastAttempt) validate() error {
	switch {
	case a.Job == "":
		return fmt.Errorf("the attempt has no job")
	case a.Kind != "map" && a.Kind != "reduce":
		return fmt.Errorf("attempt of %q: kind %q is neither map nor reduce", a.Job, a.Kind)
	case a.Index < 0 || a.Index >= maxTasks:
		return fmt.Errorf("attempt of %q: index %d is not in 0..2^28", a.Job, a.Index)
	case a.Start < 0 || a.End < a.Start || a.End > maxTime:
		return fmt.Errorf("attempt of %q: from %d to %d ns is no time", a.Job, int64(a.Start), int64(a.End))
	case a.Locality != "" && a.Locality != "node" && a.Locality != "rack" && a.Locality != "remote":
		return fmt.Errorf("attempt of %q: locality %q is none of node, rack, remote", a.Job, a.Locality)
	}
	return nil
}
