package cli

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	"github.com/millrace/millrace/scheduler/policies"
)

// parse takes the values of a file, or of a playground, for everything not given otherwise.
func (o *simOptions) parse(data []byte, given func(flag string) bool) error {
	s, err := readScenario(o.file, data)
	if err != nil {
		return err
	}
	if len(s.swept) > 0 {
		return s.wrong(s.swept[0].at.Value, "%s is a range: the player shows one scenario; give one value (millrace sim run compares ranges)", s.swept[0].key)
	}
	return o.takeScenario(s, given)
}

// takeScenario takes the values of a file.
func (o *simOptions) takeScenario(s *scenario, given func(flag string) bool) error {
	f, err := s.decode()
	if err != nil {
		return err
	}
	o.keys = maps.Clone(s.lines)
	maps.DeleteFunc(o.keys, func(key string, _ int) bool { return given(key) })
	o.take(&f, given)
	if err := o.takeClasses(given("racks")); err != nil {
		return err
	}
	for i := range f.Jobs {
		if err := f.Jobs[i].Check(); err != nil {
			return fmt.Errorf("%s:%d: jobs: %w", o.file, lineOf(s.data, fmt.Sprintf("$.jobs[%d]", i)), err)
		}
	}
	if f.Jobs != nil && f.Trace != nil {
		return o.blame("jobs", "and trace are both in the file; give one of them")
	}
	if !given("trace") {
		o.jobs = f.Jobs
	}
	if given("policy") || f.Policies == nil {
		return nil
	}
	return o.armsOfFile(&f, s.data)
}

func (o *simOptions) take(f *simFile, given func(flag string) bool) {
	setIf(f.Nodes, &o.nodes, given("nodes"))
	setIf(f.Racks, &o.racks, given("racks"))
	setIf(f.Containers, &o.containers, given("containers"))
	setIf(f.Heartbeat, &o.heartbeat, given("heartbeat"))
	setIf(f.Uplink, &o.network.uplink, given("uplink"))
	setIf(f.NIC, &o.network.nic, given("nic"))
	setIf(f.Circuit, &o.network.circuit, given("circuit"))
	setIf(f.Trace, &o.trace, given("trace"))
	setIf(f.Scale, &o.scale, given("scale"))
	setIf(f.Load, &o.load, given("load"))
	setIf(f.Workload, &o.workload, given("workload"))
	setIf(f.Rates, &o.rates, given("rates"))
	setIf(f.Seed, &o.seed, given("seed"))
	setIf(f.Seeds, &o.seeds, given("seeds"))
	setIf(f.NetTick, &o.network.tick, given("net-tick"))
	setIf(f.WriteCopies, &o.network.copies, given("write-copies"))
	o.more = *f
	if given("no-speculation") {
		o.more.Seconds = nil
	}
}

func setIf[T any](from, to *T, given bool) {
	if from != nil && !given {
		*to = *from
	}
}

// armsOfFile makes the policies of the file. Its errors name the key to blame.
func (o *simOptions) armsOfFile(f *simFile, data []byte) error {
	seen := map[string]bool{}
	for i, p := range f.Policies {
		a := arm{name: p.Name, policy: p.Policy, params: policies.UsualParams(p.Policy, p.Params)}
		if admit := cmp.Or(p.Admission, f.Admission); admit != nil {
			a.admission, a.admitParams = admit.Policy, admit.Params
		}
		if a.name == "" {
			a.name = a.policy
		}
		key := fmt.Sprintf("$.policies[%d]", i)
		if seen[a.name] {
			return fmt.Errorf("%s:%d: policies: %q is there twice; give one a name", o.file, lineOf(data, key), a.name)
		}
		seen[a.name] = true
		all, err := a.swept()
		if err != nil {
			return fmt.Errorf("%s:%d: policies: %w", o.file, lineOf(data, key), err)
		}
		for _, one := range all {
			if err := one.checkIn(o.file, data, key, &p); err != nil {
				return err
			}
		}
		if o.arms = append(o.arms, all...); len(o.arms) > mostArms {
			return fmt.Errorf("%s:%d: policies: %d would be compared, at most %d", o.file, lineOf(data, key), len(o.arms), mostArms)
		}
	}
	return nil
}

// checkIn checks an arm. Its errors name the place in the file.
func (a arm) checkIn(file string, data []byte, key string, p *simFilePlan) error {
	if strings.HasSuffix(a.policy, ".star") { // check reads the script
		return nil
	}
	if err := (arm{name: a.name, policy: a.policy, params: a.params}).check(); err != nil {
		return fmt.Errorf("%s:%d: policies: %w", file, lineOf(data, key), err)
	}
	if err := a.check(); err != nil {
		return fmt.Errorf("%s:%d: admission: %w", file, lineOf(data, admissionKey(key, p)), err)
	}
	return nil
}

// admissionKey returns the key of the admission of a policy.
func admissionKey(policy string, p *simFilePlan) string {
	if p.Admission != nil {
		return policy + ".admission"
	}
	return "$.admission"
}
