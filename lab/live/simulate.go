package live

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// Where links are full, a task that ends a moment earlier changes much of what follows
// (TestHowFarFullLinksCanBeForetold). The prediction is then the mean of draws, in each of which every task takes
// longer by a random share with mean noise.
const (
	draws = 20
	noise = 0.01
)

// Foretell predicts what becomes of the jobs. It returns one outcome, or one for each draw if links have rates.
func (l *Laboratory) Foretell(a *Arm, o Overheads, quick bool) ([]*Outcome, error) {
	if !l.Machines.linked() {
		one, err := l.simulate(a, o, o.measured(l.Jobs(quick), &l.Machines))
		return []*Outcome{one}, err
	}
	var out []*Outcome
	for seed := range uint64(draws) {
		jobs := longer(o.measured(l.Jobs(quick), &l.Machines), noise, seed)
		one, err := l.simulate(a, o, jobs)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// longer makes each task of jobs longer by a random share with that mean.
func longer(jobs []*sim.Job, share float64, seed uint64) []*sim.Job {
	rng := rand.New(rand.NewPCG(seed, 7))
	each := func(times []time.Duration, n int32) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			out[i] = time.Duration(float64(times[i%len(times)]) * (1 + share*rng.ExpFloat64()))
		}
		return out
	}
	for _, j := range jobs {
		j.Maps, j.Reduces = each(j.Maps, j.Spec.Maps), each(j.Reduces, j.Spec.Reduces)
	}
	return jobs
}

// simulate runs jobs, as they were measured, in the simulator.
func (l *Laboratory) simulate(a *Arm, o Overheads, jobs []*sim.Job) (*Outcome, error) {
	cfg, err := l.config(a, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Name, err)
	}
	if o.Places != nil || jobs[0].Spec.Splits.Len() == 0 {
		cfg.Placement = nil // the places of blocks are known
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

// config returns the configuration of a run under an arm.
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
		cfg.Seconds = nil // no second attempts: a task is slow there because its machine is
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
