package cli

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/trace"
)

// choose makes the arms: first what ran, then the others.
func (o *whatIf) choose() error {
	ran, err := o.whatRan()
	if err != nil {
		return err
	}
	names := o.policies
	if names == nil {
		names = policies.Names(scheduler.Assignment)
	}
	s := simOptions{policies: append([]string{ran.policy}, names...), params: o.params}
	if err := s.namedArms(); err != nil {
		return err
	}
	if first := s.arms[0]; first.policy == scriptPolicy { // --ran named a file
		ran.name, ran.policy = first.name, first.policy
	}
	live := func(name string, given map[string]string) map[string]string {
		if o.history.Origin.Source == "cluster" {
			return policies.LiveParams(name, given)
		}
		return given
	}
	if ran.periods == nil {
		ran.params, ran.admitParams = live(ran.policy, s.arms[0].params), live(ran.admission, nil)
	}
	o.arms = []arm{ran}
	for _, a := range s.arms[1:] {
		a.params = live(a.policy, a.params)
		if err := o.admit(&a, &ran, live); err != nil {
			return err
		}
		if !a.repeats(&ran) {
			o.arms = append(o.arms, a.beside(&ran))
		}
	}
	return o.checkArms()
}

// namedArms makes the arms that flags name, and reads those in files.
func (o *simOptions) namedArms() error {
	if err := o.armsOfFlags(); err != nil {
		return err
	}
	return o.readScripts()
}

func (o *whatIf) checkArms() error {
	for i := range o.arms {
		if err := o.arms[i].check(); err != nil {
			return err
		}
	}
	return nil
}

// scripted reports whether a script decides at any time.
func (a *arm) scripted() bool {
	return a.policy == scriptPolicy || slices.ContainsFunc(a.periods, func(p trace.Period) bool { return p.Policy == scriptPolicy })
}

// repeats reports whether an arm tries nothing new.
func (a *arm) repeats(ran *arm) bool {
	return len(ran.periods) < 2 && a.name == ran.name && a.admission == ran.admission && maps.Equal(a.params, ran.params)
}

// beside returns the arm under a name other than that of what ran: it has other parameters, or another text.
func (a arm) beside(ran *arm) arm {
	if a.name == ran.name {
		a.name += " (2)"
	}
	return a
}

// whatRan returns the arm of what ran, according to the history or --ran.
func (o *whatIf) whatRan() (a arm, err error) {
	from := &o.history.Origin
	a = arm{name: from.Policy, policy: from.Policy, admission: from.Admission}
	switch n := len(from.Periods); {
	case o.ran != "":
		a.name, a.policy = o.ran, o.ran
	case n > 0:
		a.periods = from.Periods
		for _, p := range a.periods {
			if _, _, err := made(p); err != nil {
				return a, failed(fmt.Errorf("%s: %w", o.file, err))
			}
		}
		first, last := from.Periods[0], from.Periods[n-1]
		a.policy, a.params, a.admission, a.admitParams = first.Policy, first.Params, last.Admission, last.AdmissionParams
		a.name = namesOf(from.Periods)
		return a, nil
	case from.Policy == "":
		return a, fmt.Errorf("%s does not name the policy that ran: say it with --ran", o.file)
	}
	if from.Source != "cluster" {
		a.admission = ""
	}
	return a, nil
}

// namesOf returns the names of successive policies.
func namesOf(periods []trace.Period) string {
	var names []string
	for _, p := range periods {
		names = append(names, usersName(p.Policy, p.Params))
	}
	return inTurn(names)
}

// usersName returns what users call a policy: a script has a name of its own.
func usersName(policy string, params map[string]string) string {
	if policy == scriptPolicy {
		return cmp.Or(params["name"], policy)
	}
	return policy
}

// inTurn joins successive names.
func inTurn(names []string) string {
	if names = slices.Compact(names); len(names) > 3 {
		names = append(names[:2], "others", names[len(names)-1])
	}
	return strings.Join(names, ", then ")
}

// admit gives an arm the admission of --admission, or the last one that ran.
func (o *whatIf) admit(a, ran *arm, live func(string, map[string]string) map[string]string) error {
	a.admission, a.admitParams = ran.admission, ran.admitParams
	if o.admission == "" {
		if len(o.admitParams) > 0 {
			return errors.New("--admission-param needs --admission")
		}
		return nil
	}
	given, err := parseParams(o.admitParams)
	if err != nil {
		return err
	}
	a.admission, a.admitParams = o.admission, live(o.admission, given)
	a.name += " under " + o.admission
	return nil
}

// made makes the policies of a period.
func made(p trace.Period) (policy scheduler.Policy, admission scheduler.Admission, err error) {
	if policy, err = namedPolicy(p.Policy, p.Params, "the script of the history"); err == nil && p.Admission != "" {
		admission, err = policies.Admission(p.Admission, p.AdmissionParams)
	}
	return policy, admission, err
}

func (o *whatIf) replay(a arm) (*simRun, error) {
	fail := func(err error) (*simRun, error) { return nil, fmt.Errorf("%s: %w", a.name, err) }
	cfg := sim.Config{
		Topology: o.topo, Capacities: o.room, Speeds: compare.OriginSpeeds(o.history.Origin), State: scheduler.DefaultConfig(), Model: sim.NewFixed(),
		DriverStart: o.past.DriverStart, Seed: o.seed,
	}
	if err := errors.Join(o.asItWas(&cfg), a.use(&cfg)); err != nil {
		return fail(err)
	}
	if o.hasNet() {
		net := simNetwork{uplink: 1, tick: -1}
		if err := net.use(&cfg, a.policy); err != nil {
			return fail(err)
		}
	}
	jobs, run := o.past.Workload(), &simRun{arm: a}
	if o.out != "" && tasksOf(jobs) <= keptTasks {
		run.watch = compare.WatchKinds()
		run.watch.Attach(&cfg)
	}
	cfg.Stop = stopper(nil, cfg.Policy)
	began, err := time.Now(), error(nil)
	if run.res, err = sim.Run(cfg, jobs); err == nil && cfg.Stop != nil {
		err = cfg.Stop() // a script may fail at the very end
	}
	if err != nil {
		return fail(err)
	}
	run.wall = time.Since(began)
	run.Run = o.simRun(a.name, run.res, run.watch)
	return run, nil
}

// asItWas makes machines report, and second attempts start, as the history says.
func (o *whatIf) asItWas(cfg *sim.Config) (err error) {
	if o.history.Origin.Source == "sim" {
		cfg.Heartbeat = time.Second
	} else {
		cfg.AskAgain = 100 * time.Millisecond // as the master does
	}
	asCluster(cfg, o.noSecond)
	if rule := o.history.Origin.Second; rule != nil && !o.noSecond {
		cfg.Seconds, err = drive.RuleOf(drive.Named(*rule))
	}
	return err
}

// use sets the policies of an arm in a run, and those of later periods when they begin.
func (a *arm) use(cfg *sim.Config) (err error) {
	if len(a.periods) == 0 {
		if cfg.Policy, err = makePolicy(a); err == nil && a.admission != "" {
			cfg.Admission, err = policies.Admission(a.admission, a.admitParams)
		}
		return err
	}
	for i, p := range a.periods {
		policy, admission, err := made(p)
		if err != nil {
			return err
		}
		if i == 0 {
			cfg.Policy, cfg.Admission = policy, admission
		} else {
			cfg.Switches = append(cfg.Switches, sim.Switch{At: p.From, Policy: policy, Admission: admission})
		}
	}
	return nil
}
