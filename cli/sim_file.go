package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
)

// simFile is what a file of sim run may hold, and what the playground sends. What is not in it keeps its default.
type simFile struct {
	Nodes      *int           `yaml:"nodes" help:"machines"`
	Racks      *int           `yaml:"racks" help:"racks, all of one size"`
	Containers *int           `yaml:"containers" help:"containers of a machine"`
	Heartbeat  *string        `yaml:"heartbeat" help:"period in which machines report; 0s: they ask as soon as they have room"`
	Uplink     *float64       `yaml:"uplink" help:"Gb/s of a rack's link; without it there is no network"`
	NIC        *float64       `yaml:"nic" help:"Gb/s of a machine's card"`
	Circuit    *float64       `yaml:"circuit" help:"Gb/s of an optical circuit between two racks"`
	Trace      *string        `yaml:"trace" help:"gen:MODEL:JOBS, or a file of any format that trace convert reads"`
	Jobs       []sim.Listed   `yaml:"jobs" help:"instead of a trace: a list of jobs"`
	Scale      *float64       `yaml:"scale" help:"factor on all sizes of a trace"`
	Load       *float64       `yaml:"load" help:"times of arrival are stretched so that the work needs this share of the containers from the first arrival to the last"`
	Workload   *string        `yaml:"workload" help:"how sizes become tasks: fine, or swim, with settings"`
	Rates      *string        `yaml:"rates" help:"how fast maps and reduces compute: copy, middle, slow, or MAP:REDUCE in bytes a second"`
	Seed       *uint64        `yaml:"seed" help:"of the workload and the first run"`
	Seeds      *int           `yaml:"seeds" help:"repetitions; a generated trace is another each time"`
	Seconds    *bool          `yaml:"speculation" help:"false starts no second attempts"`
	Policies   []simFilePlan  `yaml:"policies" help:"what is compared"`
	Admission  *simFilePolicy `yaml:"admission" help:"of all policies that have none of their own"`
}

// simFilePlan is a policy to compare, with an admission of its own or that of the file.
type simFilePlan struct {
	Name      string            `yaml:"name" help:"how it is called in tables; must differ where a policy is there twice"`
	Policy    string            `yaml:"policy" help:"its name (millrace scheduler ls), or a file that ends in .star"`
	Params    map[string]string `yaml:"params" help:"its parameters (millrace scheduler show); 0.1..0.5 by 0.1 compares one for each value"`
	Admission *simFilePolicy    `yaml:"admission" help:"its admission policy"`
}

type simFilePolicy struct {
	Policy string            `yaml:"policy" help:"its name"`
	Params map[string]string `yaml:"params" help:"its parameters; ranges as above"`
}

const maxSimFile = 1 << 20

// readFile takes the values of a file for all flags that are not given.
func (o *simOptions) readFile(cmd *cobra.Command) error {
	data, err := os.ReadFile(o.file)
	if err != nil {
		return failed(err)
	}
	return o.parse(data, cmd.Flags().Changed)
}

// parse takes the values of a file, or of a playground, for all that is not given otherwise.
func (o *simOptions) parse(data []byte, given func(flag string) bool) error {
	if len(data) > maxSimFile {
		return fmt.Errorf("%s: %d bytes are too many for a description of a cluster", o.file, len(data))
	}
	var f simFile
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return fmt.Errorf("%s: %s", o.file, yaml.FormatError(err, false, false))
	}
	if err := o.take(&f, given); err != nil {
		return fmt.Errorf("%s:%d: heartbeat: %w", o.file, lineOf(data, "$.heartbeat"), err)
	}
	for i := range f.Jobs {
		if err := f.Jobs[i].Check(); err != nil {
			return fmt.Errorf("%s:%d: jobs: %w", o.file, lineOf(data, fmt.Sprintf("$.jobs[%d]", i)), err)
		}
	}
	if f.Jobs != nil && f.Trace != nil {
		return fmt.Errorf("%s:%d: jobs: the file has a trace too; give one of them", o.file, lineOf(data, "$.jobs"))
	}
	if !given("trace") {
		o.jobs = f.Jobs
	}
	if given("policy") || f.Policies == nil {
		return nil
	}
	return o.armsOfFile(&f, data)
}

func (o *simOptions) take(f *simFile, given func(flag string) bool) error {
	setIf(f.Nodes, &o.nodes, given("nodes"))
	setIf(f.Racks, &o.racks, given("racks"))
	setIf(f.Containers, &o.containers, given("containers"))
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
	if f.Seconds != nil && !given("no-speculation") {
		o.noSecond = !*f.Seconds
	}
	if f.Heartbeat != nil && !given("heartbeat") {
		d, err := time.ParseDuration(*f.Heartbeat)
		if err != nil {
			return err
		}
		o.heartbeat = d
	}
	return nil
}

func setIf[T any](from, to *T, given bool) {
	if from != nil && !given {
		*to = *from
	}
}

// armsOfFile makes the policies of the file and says which key is wrong.
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

// checkIn checks an arm and says where in the file it is wrong.
func (a arm) checkIn(file string, data []byte, key string, p *simFilePlan) error {
	if strings.HasSuffix(a.policy, ".star") { // check reads it
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

// admissionKey is where the admission of a policy stands.
func admissionKey(policy string, p *simFilePlan) string {
	if p.Admission != nil {
		return policy + ".admission"
	}
	return "$.admission"
}

// lineOf returns the line of a key, 1 where it cannot be found.
func lineOf(data []byte, key string) int {
	p, err := yaml.PathString(key)
	if err != nil {
		return 1
	}
	node, err := p.ReadNode(bytes.NewReader(data))
	if err != nil || node == nil || node.GetToken() == nil {
		return 1
	}
	return node.GetToken().Position.Line
}
