package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// simNetwork is the network of sim run; without rates there is none.
type simNetwork struct {
	nic, uplink, circuit float64 // Gb/s
	tick                 time.Duration
	byNode               bool
	copies               int
}

func (n *simNetwork) flags(f *pflag.FlagSet) {
	f.Float64Var(&n.uplink, "uplink", 0, "Gb/s between a rack and the core; 0 simulates no network")
	f.Float64Var(&n.nic, "nic", 0, "Gb/s of a node's card (0: never the bottleneck)")
	f.Float64Var(&n.circuit, "circuit", 0, "Gb/s of an optical circuit between two racks (0: no optical switch)")
	f.DurationVar(&n.tick, "net-tick", -1, "how often rates are computed (0: at every change; default 0 up to 100 nodes, else 1s)")
	f.Lookup("net-tick").DefValue = "0s" // the help text has the default
	f.IntVar(&n.copies, "write-copies", 0, "copies of reduce output that go to other nodes, 0 to 2")
}

func (n *simNetwork) on() bool { return n.uplink > 0 }

// use adds the network to a run. A policy that holds shuffles back has one flow for each pair of racks, and the input
// of a policy that plans is placed as it plans.
func (n *simNetwork) use(cfg *sim.Config, policy string) error {
	if !n.on() {
		return nil
	}
	net := sim.DefaultNetwork(cfg.Topology)
	if n.tick >= 0 {
		net.Tick = n.tick
	}
	net.WriteCopies = n.copies
	net.ByNode = n.byNode
	if _, gate := cfg.Policy.(scheduler.ShuffleGate); gate {
		net.Pairs = policy != "corral" && !n.byNode // corral holds nothing back (spec/jobpacker 3.13)
	}
	if _, plans := cfg.Policy.(scheduler.Planner); plans {
		cfg.Placement = placement.NewPlanned(cfg.Topology)
	}
	model, err := sim.NewNetwork(net)
	if err != nil {
		return err
	}
	cfg.Model = model
	cfg.ReportLate = cfg.Heartbeat > 0
	return nil
}

// printNetwork prints what the network carried.
func printNetwork(w io.Writer, runs []*simRun) {
	if len(runs) == 0 || runs[0].res.Network == nil {
		fmt.Fprintln(w, "No network is simulated; --uplink does. docs/simulator.md says how.")
		return
	}
	t := newTable(w, "policy", "input across racks", "shuffle across racks", "of it over circuits", "congestion", "rack-seconds congested")
	for _, r := range runs {
		n := r.res.Network
		t.AppendRow(table.Row{
			r.Policy, human.Bytes(int64(n.Input)), human.Bytes(int64(n.Shuffle)), fmt.Sprintf("%.1f %%", 100*n.OpticalShare()),
			fmt.Sprintf("%d times", r.res.Congestion.Episodes), fmt.Sprintf("%.0f", r.res.Congestion.Congested.Seconds()),
		})
	}
	t.Render()
}
