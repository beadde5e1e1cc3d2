package schedulertest

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

var commands map[string]func(*scenario, *words) error

func init() {
	commands = map[string]func(*scenario, *words) error{
		"cluster": (*scenario).cluster, "node": (*scenario).node, "policy": (*scenario).setPolicy,
		"job": (*scenario).job, "ready": (*scenario).ready, "vanish": (*scenario).vanish, "progress": (*scenario).progress,
		"heartbeat": (*scenario).heartbeat, "finish": (*scenario).finish,
		"fail": taskCommand(scheduler.TaskFailed), "kill": taskCommand(scheduler.TaskKilled), "lose": (*scenario).lose,
		"down": (*scenario).down, "up": (*scenario).up, "drain": (*scenario).drain,
		"net": (*scenario).net, "cpu": (*scenario).cpu, "config": (*scenario).config,
		"wait": (*scenario).wait, "tick": (*scenario).tick,
		"why": (*scenario).why, "jobs": (*scenario).showJobs, "queues": (*scenario).showQueues,
	}
}

func capacityOf(w *words) scheduler.Capacity {
	return scheduler.Capacity{
		MapSlots: int32(w.integer("maps", 0)), ReduceSlots: int32(w.integer("reduces", 0)), Containers: int32(w.integer("containers", 0)),
		VCores: int32(w.integer("vcores", 0)), MemoryMB: int64(w.integer("memory", 0)),
	}
}

// cluster starts over with racks of nodes per rack.
func (s *scenario) cluster(w *words) error {
	*s = scenario{infos: s.infos, jobs: make(map[string]scheduler.JobID), out: s.out, builder: topology.NewBuilder(), capacity: make(map[topology.NodeID]scheduler.Capacity)}
	s.topo = s.builder.Topology()
	racks, nodes := w.integer("racks", 1), w.integer("nodes", 1)
	c, class := capacityOf(w), w.text("class", "")
	nic, uplink := topology.Gbps(w.number("nic", 1)), topology.Gbps(w.number("uplink", 1))
	for r := range racks {
		rack, err := s.builder.AddRack(topology.Rack{Name: fmt.Sprintf("r%d", r+1), Uplink: uplink})
		if err != nil {
			return err
		}
		for range nodes {
			if err := s.add(topology.Node{Name: fmt.Sprintf("n%d", s.topo.NumNodes()+1), Rack: rack, Class: class, NIC: nic}, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *scenario) add(n topology.Node, c scheduler.Capacity) error {
	id, err := s.builder.AddNode(n)
	if err != nil {
		return err
	}
	s.capacity[id] = c
	if s.g != nil {
		s.feed(scheduler.NodeUp(id, c))
	}
	return nil
}

// node adds one node, and its rack if it is new.
func (s *scenario) node(w *words) error {
	name := w.plain()
	if s.builder == nil || len(name) != 1 {
		return fmt.Errorf("node needs one name, after cluster")
	}
	rackName := w.text("rack", "r1")
	rack, ok := s.topo.RackByName(rackName)
	if !ok {
		var err error
		if rack, err = s.builder.AddRack(topology.Rack{Name: rackName, Uplink: topology.Gbps(w.number("uplink", 1))}); err != nil {
			return err
		}
	}
	return s.add(topology.Node{Name: name[0], Rack: rack, Class: w.text("class", ""), NIC: topology.Gbps(w.number("nic", 1))}, capacityOf(w))
}

func (s *scenario) setPolicy(w *words) error {
	name := w.plain()
	if len(name) != 1 {
		return fmt.Errorf("policy needs one name")
	}
	return s.choose(name[0], w.params())
}

func (s *scenario) nodesNamed(names []string) ([]topology.NodeID, error) {
	var out []topology.NodeID
	for _, name := range names {
		if name == "all" {
			for n := range topology.NodeID(s.topo.NumNodes()) {
				out = append(out, n)
			}
			continue
		}
		n, ok := s.topo.NodeByName(name)
		if !ok {
			return nil, fmt.Errorf("no node %s", name)
		}
		out = append(out, n)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the name of the node is missing")
	}
	return out, nil
}

func (s *scenario) eachNode(w *words, f func(topology.NodeID)) error {
	nodes, err := s.nodesNamed(w.plain())
	if err != nil {
		return err
	}
	for _, n := range nodes {
		f(n)
	}
	s.settle()
	return nil
}

func (s *scenario) down(w *words) error {
	keep := w.flag("keep-output")
	return s.eachNode(w, func(n topology.NodeID) {
		err := s.g.NodeLost(s.now, n, !keep, func(e scheduler.Event) {
			if e.Kind != scheduler.EvNodeDown {
				s.printf("%v %s", e.Kind, s.taskName(e.Task))
			}
		})
		if err != nil {
			s.printf("error: %v", err)
		}
	})
}

func (s *scenario) up(w *words) error {
	return s.eachNode(w, func(n topology.NodeID) { s.feed(scheduler.NodeUp(n, s.capacity[n])) })
}

func (s *scenario) drain(w *words) error {
	return s.eachNode(w, func(n topology.NodeID) { s.feed(scheduler.NodeDraining(n)) })
}

func (s *scenario) net(w *words) error {
	congested := w.flag("congested")
	up, down := w.number("up", 0), w.number("down", 0)
	for _, name := range w.plain() {
		r, ok := s.topo.RackByName(name)
		if !ok {
			return fmt.Errorf("no rack %s", name)
		}
		s.feed(scheduler.NetSample(r, up, down, congested))
	}
	return nil
}

func (s *scenario) cpu(w *words) error {
	s.feed(scheduler.CPUSample(topology.NoNode, w.number("idle", 0)))
	s.settle()
	return nil
}

func (s *scenario) config(w *words) error {
	s.feed(scheduler.ConfigChanged(w.text("text", "")))
	s.settle()
	return nil
}

func (s *scenario) wait(w *words) error {
	for _, word := range w.plain() {
		d, err := time.ParseDuration(word)
		if err != nil || d < 0 {
			return fmt.Errorf("%q is not a length of time", word)
		}
		s.now += d
	}
	return nil
}

// tick does the periodic work of policy and admission, once.
func (s *scenario) tick(*words) error {
	for _, who := range []any{s.admission, s.policy} {
		if t, ok := who.(scheduler.Ticker); ok {
			t.Tick(s.now, s.g.View())
		}
	}
	err := s.g.Kill(s.now, func(victim scheduler.Victim) {
		s.printf("kill %s (%s)", s.taskName(victim.Task), victim.Reason.Text(s.g.View()))
	})
	s.settle()
	return err
}
