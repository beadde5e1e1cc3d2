package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// apply sets in a run what only a file can say. TestEveryFieldHasAKey requires a key for each field of sim.Config.
func (o *simOptions) apply(cfg *sim.Config) error {
	f := &o.more
	cfg.State.Unit = o.unit()
	setIf(f.Slowstart, &cfg.State.Slowstart, false)
	setIf(f.DriverStart, &cfg.DriverStart, false)
	setIf(f.BreakDeadlocks, &cfg.BreakDeadlocks, false)
	setIf(f.Refill, &cfg.Refill, false)
	setIf(f.Patience, &cfg.Patience, false)
	for _, part := range []func(*sim.Config) error{o.applyTimes, o.applyClasses, o.applyModel, o.applyReports, o.applyInput, o.applyFailures, o.applyScript, o.applySwitches, o.applySeconds, o.checkReport} {
		if err := part(cfg); err != nil {
			return err
		}
	}
	return nil
}

// maxSimTime is a year: later, sums of times could overflow.
const maxSimTime = 365 * 24 * time.Hour

// applyTimes refuses invalid times, and times so short that a run would not end.
func (o *simOptions) applyTimes(*sim.Config) error {
	f := &o.more
	for _, t := range []struct {
		key string
		d   *time.Duration
	}{
		{"ask_again", f.AskAgain},
		{"report_every", f.ReportEvery},
		{"plan_horizon", f.PlanHorizon},
		{"patience", f.Patience},
		{"driver_start", f.DriverStart},
		{"task_overhead", f.TaskOverhead},
		{"net_tick", f.NetTick},
		{"heartbeat", f.Heartbeat},
	} {
		if t.d != nil && *t.d != 0 && (*t.d < minSimTime || *t.d > maxSimTime) {
			return o.fault(t.key, fmt.Errorf("%v: give 0, or %v to %v", *t.d, minSimTime, maxSimTime))
		}
	}
	return o.checkNumbers()
}

// checkNumbers refuses invalid numbers of the workload.
func (o *simOptions) checkNumbers() error {
	f := &o.more
	if f.Slowstart != nil && !(*f.Slowstart >= -1 && *f.Slowstart <= 1) {
		return o.fault("slowstart", fmt.Errorf("%v: give a share of the maps, 0 to 1, or -1 for at once", *f.Slowstart))
	}
	if f.Noise != nil && !(*f.Noise >= 0 && *f.Noise <= 3) {
		return o.fault("noise", fmt.Errorf("%v: give 0 to 3", *f.Noise))
	}
	if f.Users != nil && (*f.Users < 1 || *f.Users > 1_000_000) {
		return o.fault("users", fmt.Errorf("%d: give 1 to 1000000", *f.Users))
	}
	if f.Arrivals != nil && !(*f.Arrivals >= 1e-3 && *f.Arrivals <= 1e3) {
		return o.fault("arrivals", fmt.Errorf("%v: give a factor from 0.001 to 1000", *f.Arrivals))
	}
	if f.Demand != nil && (f.Demand.Slots < 0 || f.Demand.VCores < 0 || f.Demand.Memory < 0) {
		return o.fault("demand", errors.New("a task asks for 1 slot, 1 vcore and 1 MiB at least"))
	}
	return nil
}

// applyClasses gives each machine the room and the speed of its class.
func (o *simOptions) applyClasses(cfg *sim.Config) error {
	for i := range o.more.Classes {
		c := &o.more.Classes[i]
		room, speed := o.capacityOf(c), cmp.Or(c.Speed, 1)
		for range c.Count {
			cfg.Capacities, cfg.Speeds = append(cfg.Capacities, room), append(cfg.Speeds, speed)
		}
	}
	return nil
}

// applyModel chooses the model of task times.
func (o *simOptions) applyModel(cfg *sim.Config) error {
	f := &o.more
	if m := netmon.Config(f.Monitor); f.Monitor != (simFileMonitor{}) {
		if _, err := netmon.New(cfg.Topology, m); err != nil || m.Interval < minSimTime {
			return o.fault("monitor", cmpErr(err, fmt.Errorf("interval %v: give %v at least", m.Interval, minSimTime)))
		}
		cfg.Monitor = m
	}
	name := "fixed"
	setIf(f.Model, &name, false)
	if name != "fixed" && o.network.on() {
		return o.fault("model", fmt.Errorf("%s has no network: leave uplink out, or take fixed", name))
	}
	switch name {
	case "fixed":
		return nil
	case "contention":
		cfg.Model = sim.NewContention(f.Contention, cfg.Seed)
		return o.faultIf("contention", f.Contention.Validate())
	case "devices":
		if f.Stragglers != nil || o.slowed() {
			return o.fault("model", errors.New("devices makes task times of cycles and bytes: leave out stragglers and speed, and set hz, cores and disk_read"))
		}
		cfg.Model = sim.NewDevices(f.Devices, o.nodes, cfg.Seed)
		return o.faultIf("devices", f.Devices.Validate())
	}
	return o.fault("model", fmt.Errorf("%q: write fixed, contention or devices", name))
}

func (o *simOptions) slowed() bool {
	for i := range o.more.Classes {
		if s := o.more.Classes[i].Speed; s != 0 && s != 1 {
			return true
		}
	}
	return false
}

func (o *simOptions) faultIf(key string, err error) error {
	if err == nil {
		return nil
	}
	return o.fault(key, err)
}

func cmpErr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// applyReports sets how machines report.
func (o *simOptions) applyReports(cfg *sim.Config) error {
	f := &o.more
	setIf(f.AskAgain, &cfg.AskAgain, false)
	setIf(f.OutOfBand, &cfg.OutOfBand, false)
	setIf(f.ReportLate, &cfg.ReportLate, false)
	setIf(f.PerHeartbeat, &cfg.PerHeartbeat, false)
	setIf(f.ReportEvery, &cfg.ReportEvery, false)
	setIf(f.AllHeartbeats, &cfg.AllHeartbeats, false)
	switch {
	case cfg.PerHeartbeat < 0:
		return o.fault("per_heartbeat", fmt.Errorf("%d: give 0 for as many as fit, or how many", cfg.PerHeartbeat))
	case cfg.ReportLate && cfg.Heartbeat == 0:
		return o.fault("report_late", errors.New("it needs a heartbeat: machines with heartbeat 0 report at once"))
	case cfg.AskAgain > 0 && cfg.Heartbeat > 0:
		return o.fault("ask_again", errors.New("it needs heartbeat: 0; machines with a heartbeat ask then"))
	}
	return nil
}

// applyInput sets where the input of jobs lies.
func (o *simOptions) applyInput(cfg *sim.Config) error {
	f := &o.more
	setIf(f.Copies, &cfg.Copies, false)
	setIf(f.PlanHorizon, &cfg.PlanHorizon, false)
	if cfg.Copies < 0 || cfg.Copies > 100 {
		return o.fault("copies", fmt.Errorf("%d: a block has 1 to 100 replicas", cfg.Copies))
	}
	if f.Placement == nil {
		if f.Copies != nil && cfg.Placement == nil {
			return o.fault("copies", errors.New("it needs placement, such as placement: rack-aware"))
		}
		return nil
	}
	make, err := policies.Placement(*f.Placement, nil)
	if err != nil {
		return o.fault("placement", err)
	}
	cfg.Placement, err = make(cfg.Topology)
	return o.faultIf("placement", err)
}

// applyFailures removes machines and gives them back.
func (o *simOptions) applyFailures(cfg *sim.Config) error {
	for i, x := range o.more.Failures {
		at := fmt.Sprintf("failures[%d]", i)
		switch {
		case x.Node < 0 || x.Node >= o.nodes:
			return o.fault(at+".node", fmt.Errorf("%d: machines are 0 to %d", x.Node, o.nodes-1))
		case x.At < 0 || x.At > maxSimTime || x.Until > maxSimTime:
			return o.fault(at+".at", fmt.Errorf("%v: give a time from the start of the run, at most %v", x.At, maxSimTime))
		case x.Until != 0 && x.Until <= x.At:
			return o.fault(at+".until", fmt.Errorf("%v: it fails at %v and cannot return before; leave until out for never", x.Until, x.At))
		}
		cfg.Faults = append(cfg.Faults, sim.Fault{Node: topology.NodeID(x.Node), At: x.At, Until: x.Until, KeepOutput: x.KeepOutput})
	}
	return nil
}

// applyScript sets which attempts straggle and what an operator writes.
func (o *simOptions) applyScript(cfg *sim.Config) error {
	f := &o.more
	if s := f.Stragglers; s != nil {
		if !(s.Share >= 0 && s.Share <= 1 && s.Factor >= 1 && s.Factor <= 1e6) {
			return o.fault("stragglers", fmt.Errorf("share %v, factor %v: the share must be 0 to 1, the factor 1 to 1000000", s.Share, s.Factor))
		}
		cfg.Stragglers = sim.Stragglers(*s)
	}
	for i, c := range f.Changes {
		if name, _, ok := strings.Cut(c.Set, "="); !ok || name == "" || c.At < 0 || c.At > maxSimTime {
			return o.fault(fmt.Sprintf("changes[%d]", i), fmt.Errorf("at %v set %q: write at: a time from the start, set: NAME=VALUE", c.At, c.Set))
		}
		cfg.Changes = append(cfg.Changes, sim.Change{At: c.At, Text: c.Set})
	}
	if r := f.Reload; r != nil {
		if r.Min < 0 || r.Max < r.Min || r.Max > maxSimTime {
			return o.fault("reload", fmt.Errorf("min %v, max %v: min must not be negative, max not below it and at most %v", r.Min, r.Max, maxSimTime))
		}
		cfg.ReloadMin, cfg.ReloadMax = r.Min, r.Max
	}
	return nil
}

// applySwitches makes the policies that come later.
func (o *simOptions) applySwitches(cfg *sim.Config) error {
	for i, s := range o.more.Switches {
		at := fmt.Sprintf("switches[%d]", i)
		if s.At < 0 || s.At > maxSimTime {
			return o.fault(at+".at", fmt.Errorf("%v: give a time from the start of the run, at most %v", s.At, maxSimTime))
		}
		p, err := policies.Policy(s.Policy, policies.UsualParams(s.Policy, s.Params))
		if err != nil {
			return o.fault(at+".policy", err)
		}
		to := sim.Switch{At: s.At, Policy: p}
		if s.Admission != nil {
			if to.Admission, err = policies.Admission(s.Admission.Policy, s.Admission.Params); err != nil {
				return o.fault(at+".admission", err)
			}
		}
		cfg.Switches = append(cfg.Switches, to)
	}
	return nil
}

// shape changes jobs as the file says: when they come, what they cost, and whether they have drivers. Without drivers
// an admission has nothing to limit.
func (o *simOptions) shape(jobs []*sim.Job, admitted bool) error {
	f := &o.more
	drivers := admitted || f.DriverStart != nil && *f.DriverStart > 0
	setIf(f.Drivers, &drivers, admitted)
	for _, s := range f.Switches {
		drivers = drivers || s.Admission != nil
	}
	mapCycles, reduceCycles := 40.0, 90.0 // those of TeraSort (spec/capacity 2.5)
	setIf(f.MapCycles, &mapCycles, false)
	setIf(f.ReduceCycles, &reduceCycles, false)
	if !(mapCycles >= 0 && mapCycles <= 1e9 && reduceCycles >= 0 && reduceCycles <= 1e9) {
		return o.fault(o.sayer("map_cycles", "reduce_cycles"), fmt.Errorf("%v and %v cycles for a byte: give 0 to 1e9", mapCycles, reduceCycles))
	}
	for _, j := range jobs {
		j.Spec.HasDriver = j.Spec.HasDriver || drivers
		setIf(f.Recurring, &j.Spec.Recurring, false)
		j.Cost = sim.CostOf(j, mapCycles, reduceCycles)
	}
	if f.Arrivals != nil {
		sim.Spread(jobs, *f.Arrivals)
	}
	return nil
}
