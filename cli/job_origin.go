package cli

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/trace"
)

// describe sets the origin of a history: the machines and links of the cluster as they are now, and the policies under
// which the jobs, oldest first, ran.
func describe(cmd *cobra.Command, cl *client.Client, o *trace.Origin, jobs []wire.PastJob) error {
	nodes, err := cl.Nodes(cmd.Context())
	if err != nil {
		return err
	}
	net, err := cl.Net(cmd.Context())
	if err != nil {
		return err
	}
	describeNodes(o, nodes, &net)
	o.Periods = periodsOf(jobs)
	if n := len(jobs); n > 0 && jobs[n-1].Under != nil && jobs[n-1].Under.Second != nil {
		o.Second = (*trace.Rule)(jobs[n-1].Under.Second)
	}
	if n := len(o.Periods); n > 0 {
		o.Policy, o.Admission = o.Periods[n-1].Policy, o.Periods[n-1].Admission
		return nil
	}
	p, err := cl.Policies(cmd.Context()) // jobs of older masters do not say
	o.Policy, o.Admission = p.Policy.Name, p.Admission.Name
	return err
}

// maxMachines is the most machines that are listed one by one: they are in the first line of the file.
const maxMachines = 5_000

func describeNodes(o *trace.Origin, nodes []wire.NodeStatus, net *wire.NetStatus) {
	racks, cards, joined := map[string]bool{}, map[wire.NodeName]float64{}, map[wire.NodeName]int{}
	for i, n := range net.Nodes {
		cards[n.Node], joined[n.Node] = n.NIC, i
	}
	nodes = slices.Clone(nodes)
	// In the order in which they joined, in which they are also asked.
	slices.SortStableFunc(nodes, func(a, b wire.NodeStatus) int { return cmp.Compare(joined[a.Node], joined[b.Node]) })
	for _, n := range nodes {
		room := int(max(n.Capacity.Containers, n.Capacity.MapSlots+n.Capacity.ReduceSlots, n.Capacity.VCores))
		if room == 0 { // not heard from since the master started
			continue
		}
		racks[n.Rack] = true
		o.Room += room
		o.Nodes++
		o.Machines = append(o.Machines, trace.Machine{Name: string(n.Node), Rack: n.Rack, Class: n.Machine, Speed: n.Speed, Room: room, NIC: cards[n.Node]})
	}
	if o.Racks = len(racks); len(o.Machines) > maxMachines {
		o.Machines = nil
	}
	if net.CircuitRate > 0 {
		o.Optical = &trace.Optical{
			Rate: net.CircuitRate, Interval: time.Duration(net.CircuitMillis) * time.Millisecond, Dark: time.Duration(net.DarkMillis) * time.Millisecond, Threshold: net.CircuitThreshold,
		}
	}
	for _, r := range net.Racks {
		if racks[r.Rack] && r.Uplink > 0 {
			o.Links = append(o.Links, trace.Link{Rack: r.Rack, Up: r.Uplink, Down: r.Downlink})
		}
	}
}

// periodsOf divides the time of jobs by the policies under which they ran. It returns none if some job does not say:
// then the policies until the next job are unknown.
func periodsOf(jobs []wire.PastJob) (out []trace.Period) {
	for i := range jobs {
		u := jobs[i].Under
		if u == nil {
			return nil
		}
		p := trace.Period{
			From:   time.Duration(jobs[i].Submitted - jobs[0].Submitted),
			Policy: u.Policy.Name, Params: u.Policy.Params, Admission: u.Admission.Name, AdmissionParams: u.Admission.Params,
		}
		if n := len(out); n == 0 || !samePolicies(&out[n-1], &p) {
			out = append(out, p)
		}
	}
	return out
}

func samePolicies(a, b *trace.Period) bool {
	return a.Policy == b.Policy && a.Admission == b.Admission && maps.Equal(a.Params, b.Params) && maps.Equal(a.AdmissionParams, b.AdmissionParams)
}
