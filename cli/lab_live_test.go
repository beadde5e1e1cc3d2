package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/lab/live"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// TestLabClusters: the machines that are started for a laboratory are those that the simulator has: by name, rack and class.
func TestLabClusters(t *testing.T) {
	for _, l := range live.All {
		d := describeLab(&l.Machines, &l.Arms[0])
		for _, check := range []func() (string, error){d.checkRacks, d.checkClasses, d.checkPolicies} {
			if key, err := check(); err != nil {
				t.Errorf("%s: %s: %v", l.ID, key, err)
			}
		}
		topo, room, err := l.Machines.Topology(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, w := range d.workers() {
			n := topo.Node(topology.NodeID(i))
			if got := topo.Rack(n.Rack).Name; n.Name != w.name || got != w.rack || n.Class != w.flags[1] || int(room[i].Containers) != l.Machines.Class(i).Containers {
				t.Errorf("%s: machine %d is %s in %s of class %q, and %s in %s of class %q in the simulator", l.ID, i, w.name, w.rack, w.flags[1], n.Name, got, n.Class)
			}
			if want := l.Machines.Class(i); numberOf("w1") != 0 || want.Name != n.Class {
				t.Errorf("%s: machine %d is of class %q", l.ID, i, want.Name)
			}
		}
		if d.Links != nil {
			links, err := d.Links.links("", "", nil)
			if err != nil || links.NIC != l.Machines.Links.NIC || links.Uplink != l.Machines.Links.Uplink || links.Optical != l.Machines.Links.Optical {
				t.Errorf("%s: links %+v, %v, want %+v", l.ID, links, err, l.Machines.Links)
			}
		}
	}
}

// TestWhatAReduceCosts: a reduce of 400 ms that ran for four seconds and waited three and a half of them for its input costs 100 ms.
func TestWhatAReduceCosts(t *testing.T) {
	k := taskKey{wire.ReduceTask, 0}
	p := past{
		begun: map[taskKey]int64{}, near: map[taskKey]bool{}, slower: map[taskKey]float64{}, waited: map[taskKey]int64{}, done: map[taskKey]int64{}, last: map[wire.TaskKind]int64{},
		machines: &live.All[0].Machines, job: &sim.Job{Spec: &scheduler.JobSpec{}, Reduces: []time.Duration{400 * time.Millisecond}}, costs: &live.Costs{},
	}
	p.event(&wire.PastEvent{Kind: wire.PastLaunched, Task: wire.ReduceTask, Node: "w1", At: int64(time.Second)}, 0)
	p.event(&wire.PastEvent{Kind: wire.PastDone, Task: wire.ReduceTask, Node: "w1", At: int64(5 * time.Second), Counts: wire.Counts{mapreduce.TaskGroup: {mapreduce.ReduceWaitMillis: 3500}}}, 0)
	if got := time.Duration(p.cost(k)); got != 100*time.Millisecond {
		t.Errorf("it costs %v", got)
	}
}

// TestLabIsRunAgain: the flags that a report names are those of the run, and are read as they were given.
func TestLabIsRunAgain(t *testing.T) {
	if said := (&liveLab{repeat: 1}).again(); said != "" {
		t.Errorf("nothing was given, and it is run again with %q", said)
	}
	if said, want := (&liveLab{repeat: 1, arms: []string{"fifo", "fair"}}).again(), "--arms fifo,fair"; said != want {
		t.Errorf("%s, want %s", said, want)
	}
	given := liveLab{quick: true, repeat: 3, arms: []string{"user limit 100", "capacity-init, 3 jobs"}}
	said := given.again()
	want := `--quick --arms 'user limit 100,"capacity-init, 3 jobs"' --repeat 3`
	if said != want {
		t.Errorf("%s, want %s", said, want)
	}
	if _, err := given.chosen(&live.Laboratory{Arms: []live.Arm{{Name: "a, b"}, {Name: "c"}}}); err == nil || !strings.HasSuffix(err.Error(), `all of them: --arms '"a, b",c'`) {
		t.Errorf("an arm that is not there: %v", err)
	}
	var read liveLab
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	read.define(flags)
	if err := flags.Parse([]string{"--arms", strings.Split(said, "'")[1]}); err != nil || !slices.Equal(read.arms, given.arms) {
		t.Errorf("%v, %v", read.arms, err)
	}
}
