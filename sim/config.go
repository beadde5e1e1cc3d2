package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// Config describes a cluster, how it is scheduled, and how it reports.
type Config struct {
	Topology *topology.Topology
	// Capacity is the room of every node; Capacities, by node, replaces it.
	Capacity   scheduler.Capacity
	Capacities []scheduler.Capacity
	// Speeds, by node, are relative to the speed for which the times of tasks are given: at 0.5 they take twice as
	// long. Nil means 1. The model of devices has speeds of its own.
	Speeds []float64

	Policy    scheduler.Policy
	Admission scheduler.Admission // nil admits every job at once
	State     scheduler.Config    // defaults of slow start and demands

	// DriverStart is the time from the launch of a job's driver to its first
	// task. Only jobs with a driver have it.
	DriverStart time.Duration
	// BreakDeadlocks stops a reduce that waits for maps which can never run
	// (spec/marp 2.3).
	BreakDeadlocks bool
	// Refill gives the room that a broken deadlock frees to a map at once, as the master does. It must be on if reduces
	// may hold every container: a reduce would take the room again.
	Refill bool

	Model Model
	// Monitor watches the racks' links if the model has a network. Its zero value means the published one
	// (spec/nas 3.3).
	Monitor netmon.Config
	Input
	Reports
	Script
	Views
	// Seconds is the rule of second attempts; nil starts none. They need a model that is a
	// Meter.
	Seconds drive.Rule
	Seed    uint64

	// Stop, if set, is called now and then; an error from it ends the run.
	Stop func() error
	// Patience is how long nothing may run while jobs wait before the run counts as stalled. 0 means an hour.
	Patience time.Duration
}

// Reports is how nodes report and are given work.
type Reports struct {
	// Heartbeat is the period in which nodes report and are given work. 0 means
	// at once: a node asks the moment it has room and there is work
	// (spec/slowdown 2.5). The first report of each node comes at a random time
	// within the first period (spec/capacity 2.3).
	Heartbeat time.Duration
	// AskAgain, if Heartbeat is 0, is how often nodes with room ask although nothing has happened: policies that wait
	// for a time need it. The master does so ten times a second. Heartbeats then come once a second, as on a live
	// cluster, not with each offer, and drivers are spread over the nodes.
	AskAgain time.Duration
	// OutOfBand adds a report when an attempt ends (spec/deadline 6.13).
	OutOfBand bool
	// ReportLate makes the end of an attempt known only at the node's next
	// report (spec/nas 2.6).
	ReportLate bool
	// PerHeartbeat is how many containers one report may be given; 0 means as many
	// as fit (spec/marp 6: one).
	PerHeartbeat int
	// ReportEvery is the period of processor and progress reports, if the model is a Gauge. 0 means a second.
	ReportEvery time.Duration
	// AllHeartbeats also simulates reports that change nothing: of a full node, and of all nodes while no task waits.
	// It changes only the number of events.
	AllHeartbeats bool
}

// Input is where the input of jobs lies.
type Input struct {
	// Placement, if set, places the input of jobs anew before the run. Jobs with
	// Spec.Recurring are announced to a policy that plans, and placed where it wants
	// them (spec/jobpacker 3.9). Copies is how many replicas a block has; 0 means 3.
	Placement placement.Policy
	Copies    int
	// PlanHorizon announces recurring jobs that many before they arrive, in windows;
	// 0 announces all at the start.
	PlanHorizon time.Duration
}

// Script is what happens to the cluster while it works.
type Script struct {
	Faults []Fault // in any order
	// Changes are settings that an operator writes; each counts after a reload, which
	// takes a random time from ReloadMin to ReloadMax (spec/marp 2.4).
	Changes              []Change
	ReloadMin, ReloadMax time.Duration
	Stragglers           Stragglers
	// Switches put other policies in place while jobs run.
	Switches []Switch
}

// Views observe a run without changing it.
type Views struct {
	// Watch, if set, sees every launch and every end of an attempt.
	Watch func(now time.Duration, a Attempt, started bool)
	// Sample, if set, is called every SampleEvery with the state as it is then.
	Sample      func(now time.Duration, v *scheduler.View)
	SampleEvery time.Duration
	// Lines, if set, is called with each line of the driver's decision log right after it was written.
	Lines func(d *drive.Loop, l *drive.Line)
	// LogAttempts keeps every attempt in Result.Log; Timeline, if positive, a sample of
	// the cluster in Result.Timeline every so often.
	LogAttempts bool
	Timeline    time.Duration
}

// A Change is a setting "name=value" that is written at a time.
type Change struct {
	At   time.Duration
	Text string
}

// A Switch puts other policies in place at a time.
type Switch struct {
	At        time.Duration
	Policy    scheduler.Policy
	Admission scheduler.Admission // nil admits every job at once
}

// Stragglers are attempts that take Factor times as long: a Share of them, drawn from the
// seed.
type Stragglers struct {
	Share, Factor float64
}

// A Fault takes a node away, and gives it back at Until unless that is 0.
type Fault struct {
	Node      topology.NodeID
	At, Until time.Duration
	// KeepOutput says that finished map output can still be fetched.
	KeepOutput bool
}

const defaultPatience = time.Hour

func (c *Config) validate() error {
	switch {
	case c.Topology == nil || c.Topology.NumNodes() == 0:
		return errors.New("the cluster has no nodes")
	case c.Policy == nil:
		return errors.New("no policy is given")
	case c.Model == nil:
		return errors.New("no model of task times is given")
	case c.Capacities != nil && len(c.Capacities) != c.Topology.NumNodes():
		return fmt.Errorf("%d capacities for %d nodes", len(c.Capacities), c.Topology.NumNodes())
	case c.Speeds != nil && (len(c.Speeds) != c.Topology.NumNodes() || !(slices.Min(c.Speeds) > 0)):
		return fmt.Errorf("%d speeds for %d nodes: each must have one above 0", len(c.Speeds), c.Topology.NumNodes())
	case c.Heartbeat < 0 || c.DriverStart < 0 || c.Patience < 0 || c.AskAgain < 0:
		return errors.New("a time is negative")
	case c.ReloadMin < 0 || c.ReloadMax < c.ReloadMin || c.Timeline < 0 || c.PlanHorizon < 0:
		return errors.New("a time is negative, or a reload takes longer at least than at most")
	case c.Stragglers.Share < 0 || c.Stragglers.Share > 1 || c.Stragglers.Share > 0 && c.Stragglers.Factor < 1:
		return fmt.Errorf("stragglers %+v: the share must be 0 to 1, the factor at least 1", c.Stragglers)
	case c.ReportLate && c.Heartbeat == 0:
		return errors.New("late reports need a heartbeat")
	case c.AskAgain > 0 && c.Heartbeat > 0:
		return errors.New("nodes ask again at their heartbeat, where they have one")
	case c.Sample != nil && c.SampleEvery <= 0:
		return errors.New("sampling needs a period")
	}
	for _, f := range c.Faults {
		if int(f.Node) >= c.Topology.NumNodes() || f.Node < 0 || f.At < 0 || f.Until != 0 && f.Until <= f.At {
			return fmt.Errorf("fault %+v: no such node, or it ends before it starts", f)
		}
	}
	if c.Seconds != nil {
		return c.Seconds.Validate()
	}
	return nil
}

func (c *Config) capacity(n topology.NodeID) scheduler.Capacity {
	if c.Capacities != nil {
		return c.Capacities[n]
	}
	return c.Capacity
}
