package cli

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/worker"
)

// describedCluster is the content of a file of cluster up. The keys of a class are the names of the worker's flags,
// those of the policies the names of the master's; links are as in a topology file.
type describedCluster struct {
	Racks     int               `yaml:"racks"`
	Classes   []describedClass  `yaml:"classes"`
	Links     *topologyFile     `yaml:"links"`
	Policy    string            `yaml:"policy"`
	Params    map[string]string `yaml:"params"`
	Admission string            `yaml:"admission"`
	Admitting map[string]string `yaml:"admission-params"`
	Placement string            `yaml:"placement"`
	Once      bool              `yaml:"no-speculation"`
}

type describedClass struct {
	Name            string   `yaml:"name" help:"how the class is called"`
	Count           int      `yaml:"count" help:"machines of it"`
	In              []string `yaml:"racks" help:"where they are, such as r1; all racks in turn where it is left out"`
	Containers      int32    `yaml:"containers" help:"containers of a machine"`
	MapSlots        int32    `yaml:"map-slots" help:"maps that a machine runs at once"`
	ReduceSlots     int32    `yaml:"reduce-slots" help:"reduces that a machine runs at once"`
	VCores          int32    `yaml:"vcores" help:"processors for tasks; with container-memory instead of containers"`
	ContainerMemory int64    `yaml:"container-memory" help:"MiB for tasks"`
	Memory          string   `yaml:"memory" help:"of a worker of a live cluster; the simulator has no use for it"`
	Speed           float64  `yaml:"speed" help:"part of the speed of the others: at 0.5 tasks take twice as long"`
}

const (
	maxWorkers = 1000
	maxRoom    = 10_000 // containers, slots or processors of one machine
)

// parseDescription reads and checks a description of a cluster.
func parseDescription(name string, data []byte) (*describedCluster, error) {
	d := &describedCluster{Racks: 1, Policy: "fair", Admission: "marp", Placement: "rack-aware"}
	if err := decodeYAML(name, data, d); err != nil {
		return nil, err
	}
	for _, check := range []func() (key string, err error){d.checkClasses, d.checkRacks, d.checkPolicies} {
		if key, err := check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, lineOf(data, "$."+key), strings.ReplaceAll(key, "'", ""), err)
		}
	}
	if d.Links != nil {
		if _, err := d.Links.links(name, "links.", data); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *describedCluster) checkRacks() (key string, err error) {
	if n := d.machines(); d.Racks > max(1, n) {
		return "racks", d.errRacks(n)
	}
	if d.Links == nil {
		return "", nil
	}
	if d.Links.Optical != nil && d.inhabited() < 2 {
		return "links.optical", errOneRack
	}
	for _, rack := range slices.Sorted(maps.Keys(d.Links.Racks)) {
		if !slices.Contains(d.racks(), rack) {
			return "links.racks", fmt.Errorf("there is no rack %s; there are %v", rack, d.racks())
		}
	}
	return "", nil
}

func (d *describedCluster) errRacks(machines int) error {
	return fmt.Errorf("%s for %s: there must be 1 rack at least, and a machine for each", human.Many(int64(d.Racks), "rack"), human.Many(int64(machines), "machine"))
}

// checkClasses runs before checkRacks, so that a wrong class is blamed rather than the number of racks.
func (d *describedCluster) checkClasses() (key string, err error) {
	if d.Racks < 1 {
		return "racks", d.errRacks(d.machines())
	}
	seen := map[string]bool{}
	for i := range d.Classes {
		c, key := &d.Classes[i], fmt.Sprintf("classes[%d]", i)
		field, err := c.check(d.racks(), maxWorkers)
		if err == nil && seen[c.Name] {
			field, err = ".name", fmt.Errorf("two classes are called %q", c.Name)
		}
		if err != nil {
			return key + field, err
		}
		seen[c.Name] = true
	}
	if n := d.machines(); n < 1 || n > maxWorkers {
		return "classes", fmt.Errorf("%d machines: there must be 1 to %d (classes: [{count: 4, containers: 3}])", n, maxWorkers)
	}
	if len(d.Classes) == 1 && d.Classes[0].Count == 1 && d.Classes[0].Containers == 1 {
		return "classes[0].containers", fmt.Errorf("a job needs two, one for its driver and one for a task")
	}
	return d.checkSlots()
}

// checkSlots refuses machines that all have slots if none has a slot for maps, or none has one for reduces: such tasks
// would wait for ever.
func (d *describedCluster) checkSlots() (key string, err error) {
	var maps, reduces int32
	for i := range d.Classes {
		c := &d.Classes[i]
		if maps, reduces = maps+c.MapSlots, reduces+c.ReduceSlots; c.MapSlots+c.ReduceSlots == 0 {
			return "", nil // its containers take both
		}
	}
	switch {
	case reduces == 0:
		return "classes[0].map-slots", errors.New("no machine has a slot for reduces: give a class reduce-slots, too")
	case maps == 0:
		return "classes[0].reduce-slots", errors.New("no machine has a slot for maps: give a class map-slots, too")
	}
	return "", nil
}

// check refuses a class that no machine can have. field is the key to blame, with a dot before it.
func (c *describedClass) check(racks []string, most int) (field string, err error) {
	if c.Count < 1 || c.Count > most {
		return ".count", fmt.Errorf("class %q has %d machines: give it 1 to %d, or leave the class out", c.Name, c.Count, most)
	}
	for _, r := range c.In {
		if !slices.Contains(racks, r) {
			return ".racks", fmt.Errorf("there is no rack %s; there are %v", r, racks)
		}
	}
	if c.Speed != 0 && !(c.Speed >= worker.MinSpeed && c.Speed <= 1) {
		return ".speed", fmt.Errorf("%g: must be %g to 1, a part of this machine's; make the others slower instead", c.Speed, worker.MinSpeed)
	}
	for _, n := range []int64{int64(c.Containers), int64(c.MapSlots), int64(c.ReduceSlots), int64(c.VCores), c.ContainerMemory >> 10} {
		if n < 0 || n > maxRoom {
			return "", fmt.Errorf("a capacity of %d: must be 0 to %d of a kind", n, maxRoom)
		}
	}
	if kinds := c.kinds(); kinds > 1 {
		return "", fmt.Errorf("class %q has %d kinds of capacity: give containers, or map-slots and reduce-slots, or vcores and container-memory", c.Name, kinds)
	}
	if (c.VCores == 0) != (c.ContainerMemory == 0) {
		return "", fmt.Errorf("class %q: vcores and container-memory (in MiB) go together", c.Name)
	}
	if c.Memory != "" {
		if _, err := human.ParseBytes(c.Memory); err != nil {
			return ".memory", err
		}
	}
	return "", nil
}

// kinds returns how many kinds of capacity a class has.
func (c *describedClass) kinds() (n int) {
	for _, has := range []bool{c.Containers > 0, c.MapSlots+c.ReduceSlots > 0, c.VCores > 0 || c.ContainerMemory > 0} {
		if has {
			n++
		}
	}
	return n
}

func (d *describedCluster) checkPolicies() (key string, err error) {
	if _, err := policies.Policy(d.Policy, d.Params); err != nil {
		return blamed("policy", "params", d.Params, func(p map[string]string) error { _, err := policies.Policy(d.Policy, p); return err }), err
	}
	if _, err := policies.Admission(d.Admission, d.Admitting); err != nil {
		return blamed("admission", "'admission-params'", d.Admitting, func(p map[string]string) error { _, err := policies.Admission(d.Admission, p); return err }), err
	}
	if _, err := policies.Placement(d.Placement, nil); err != nil {
		return "placement", err
	}
	if err := d.checkClassOf(policies.All[d.Policy], d.Params); err != nil {
		return "policy", err
	}
	if err := d.checkClassOf(policies.All[d.Placement], nil); err != nil {
		return "placement", err
	}
	return "", nil
}

// blamed returns the key to blame for a policy that cannot be made: its name, all its parameters, or the one that is
// wrong by itself.
func blamed(name, params string, given map[string]string, try func(map[string]string) error) string {
	if try(nil) != nil || len(given) == 0 {
		return name
	}
	for _, p := range slices.Sorted(maps.Keys(given)) {
		if try(map[string]string{p: given[p]}) != nil {
			return params + ".'" + p + "'"
		}
	}
	return params
}

// checkClassOf refuses a policy for a machine class that no machine has.
func (d *describedCluster) checkClassOf(i *scheduler.Info, given map[string]string) error {
	for _, p := range i.Params() {
		if p.Name != "up-class" {
			continue
		}
		class := p.Default
		if v, ok := given[p.Name]; ok {
			class = v
		}
		if !slices.ContainsFunc(d.Classes, func(c describedClass) bool { return c.Name == class }) {
			return fmt.Errorf("%s puts work on machines of class %q, and there are none: call a class so (or name one with params: {up-class: …})", i.Name, class)
		}
	}
	return nil
}

// inhabited returns how many racks have machines.
func (d *describedCluster) inhabited() int {
	racks, turn := map[string]bool{}, 0
	for _, c := range d.Classes {
		for _, rack := range c.In[:min(len(c.In), max(c.Count, 0))] {
			racks[rack] = true
		}
		for ; len(c.In) == 0 && turn < min(d.Racks, c.Count); turn++ {
			racks[rackName(turn)] = true
		}
	}
	return len(racks)
}

func (d *describedCluster) machines() (n int) {
	for _, c := range d.Classes {
		n += min(max(c.Count, 0), maxWorkers+1)
	}
	return n
}

func (d *describedCluster) racks() (out []string) {
	for i := range min(max(d.Racks, 0), maxWorkers) {
		out = append(out, rackName(i))
	}
	return out
}

// masters returns the flags of the master.
func (d *describedCluster) masters() []string {
	out := []string{"--policy", d.Policy, "--admission", d.Admission, "--placement", d.Placement}
	add := func(flag string, params map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(params)) {
			out = append(out, flag, name+"="+params[name])
		}
	}
	if d.Once {
		out = append(out, "--no-speculation")
	}
	add("--param", d.Params)
	add("--admission-param", d.Admitting)
	return out
}

// workers returns the machines, class by class, over their racks in turn.
func (d *describedCluster) workers() (out []plannedWorker) {
	turn := 0
	for i := range d.Classes {
		c := &d.Classes[i]
		in := c.In
		for range c.Count {
			w := plannedWorker{name: workerName(len(out)), flags: c.flags(d.machines())}
			if len(in) > 0 {
				w.rack = in[len(out)%len(in)]
			} else {
				w.rack = rackName(turn % d.Racks)
				turn++
			}
			out = append(out, w)
		}
	}
	return out
}

// flags returns the flags of a worker of this class, one of so many on this machine.
func (c *describedClass) flags(workers int) []string {
	memory := jobs.ByteSize(shuffle.ShareOf(shuffle.DefaultMemory, workers).Total())
	out := []string{"--class", c.Name, "--memory", memory.String()}
	if c.Memory != "" {
		out[3] = c.Memory
	}
	add := func(flag string, n int64) {
		if n > 0 {
			out = append(out, "--"+flag, strconv.FormatInt(n, 10))
		}
	}
	add("containers", int64(c.Containers))
	add("map-slots", int64(c.MapSlots))
	add("reduce-slots", int64(c.ReduceSlots))
	add("vcores", int64(c.VCores))
	add("container-memory", c.ContainerMemory)
	if c.kinds() == 0 {
		add("containers", defaultContainers)
	}
	if c.Speed > 0 {
		out = append(out, "--speed", strconv.FormatFloat(c.Speed, 'g', -1, 64))
	}
	return out
}

// writeLinks writes the links to a file for the daemons and returns its name, or "" if there are no links.
func (d *describedCluster) writeLinks(dir string) (string, error) {
	if d.Links == nil {
		return "", nil
	}
	var b bytes.Buffer
	if err := yaml.NewEncoder(&b).Encode(d.Links); err != nil {
		return "", err
	}
	name := filepath.Join(dir, "topology.yaml")
	return name, os.WriteFile(name, b.Bytes(), 0o644)
}
