package live

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// Simulate predicts what becomes of the jobs.
func (l *Laboratory) Simulate(a *Arm, o Overheads, quick bool) (*Outcome, error) {
	cfg, err := l.config(a, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	jobs := o.measured(l.Jobs(quick), &l.Machines)
	if o.Places != nil || jobs[0].Spec.Splits.Len() == 0 {
		cfg.Placement = nil // it is known where blocks are
	}
	strong, all := make([]float64, len(jobs)), make([]float64, len(jobs))
	cfg.Watch = func(_ time.Duration, a sim.Attempt, started bool) {
		if i := int(a.Task.Job) - 1; started && a.Task.Kind != scheduler.Driver {
			all[i]++
			if machine(o.Order, a.Node) < l.Machines.Classes[0].Count {
				strong[i]++
			}
		}
	}
	res, err := sim.Run(cfg, jobs)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	out := &Outcome{Congested: res.Congestion.Congested.Seconds()}
	if res.Network != nil {
		out.Cross = res.Network.Cross()
	}
	for i := range res.Jobs {
		r := &res.Jobs[i]
		out.Seconds = append(out.Seconds, (r.Finished - r.Submitted + o.Submit).Seconds())
		out.Local = append(out.Local, float64(r.Local[scheduler.NodeLocal])/float64(max(1, r.Local[0]+r.Local[1]+r.Local[2])))
		out.Strong = append(out.Strong, strong[i]/max(1, all[i]))
	}
	return out, nil
}

// config is a run under an arm.
func (l *Laboratory) config(a *Arm, o Overheads) (sim.Config, error) {
	topo, room, err := l.Machines.Topology(o.Order)
	if err != nil {
		return sim.Config{}, err
	}
	cfg := sim.Config{
		Topology: topo, Capacities: room, State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
		DriverStart: o.Start, Seed: 1, BreakDeadlocks: true, Refill: true, Seconds: drive.DefaultLATE(),
	}
	if n := l.Machines.emulated(); n > 0 {
		cfg.Model = sim.NewGauged(n) // controllers read how idle they are
	}
	cfg.AskAgain, cfg.Copies = 100*time.Millisecond, l.Machines.Copies // as the master does
	if !l.Machines.Alike() {
		net := sim.DefaultNetwork(topo)
		net.Pairs = topo.OCS().Present() && strings.HasPrefix(a.Policy.Name, "jobpacker") // its shuffles go as a whole
		net.ByNode, net.Factor = !net.Pairs, func(a sim.Attempt, _ *sim.Job) float64 { return l.Machines.Slower(machine(o.Order, a.Node)) }
		if cfg.Model, err = sim.NewNetwork(net); err != nil {
			return cfg, err
		}
		cfg.Seconds = nil // what is slow there is slow for all
	}
	place, err := policies.Placement(cmp.Or(l.Machines.Placement, "rack-aware"), nil)
	if err != nil {
		return cfg, err
	}
	if cfg.Placement, err = place(topo); err != nil {
		return cfg, err
	}
	if cfg.Policy, err = policies.Policy(a.Policy.Name, policies.LiveParams(a.Policy.Name, a.Policy.Params)); err != nil {
		return cfg, err
	}
	cfg.Admission, err = policies.Admission(a.Admission.Name, policies.LiveParams(a.Admission.Name, a.Admission.Params))
	return cfg, err
}
