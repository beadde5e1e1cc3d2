package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/topology"
)

// tally is what the reference counts over all jobs.
type tally struct {
	used    Usage
	racks   map[topology.RackID]*Usage
	running map[topology.NodeID]int
	nodes   map[topology.NodeID]*Usage
	seconds int32
	drivers Usage // of jobs that may have one
}

func compare(now time.Duration, v *View, ref *dumb, racks, perRack int) error {
	sum := &tally{
		racks: make(map[topology.RackID]*Usage), running: make(map[topology.NodeID]int),
		nodes: make(map[topology.NodeID]*Usage),
	}
	for id := range ref.jobs {
		if err := compareJob(now, v, id, ref.jobs[id], racks, perRack, sum); err != nil {
			return err
		}
	}
	if sum.used != *v.ClusterUsed() || sum.seconds != v.Seconds() || sum.drivers != v.Promised() {
		return fmt.Errorf("cluster uses %+v with %d second attempts and %+v for drivers, reference %+v, %d and %+v",
			*v.ClusterUsed(), v.Seconds(), v.Promised(), sum.used, sum.seconds, sum.drivers)
	}
	all := int32(0)
	for r := range topology.RackID(racks) {
		up := int32(0)
		for n := range v.Topology().NodesIn(r) {
			if ref.up[n] == NodeIsReady {
				up++
			}
		}
		if t := v.RackTotal(r); t != referenceTotal(up) {
			return fmt.Errorf("rack %d has room %+v, reference has %d nodes up", r, t, up)
		}
		all += up
		if want := sum.racks[r]; want != nil && *want != *v.RackUsed(r) || want == nil && *v.RackUsed(r) != (Usage{}) {
			return fmt.Errorf("rack %d uses %+v, reference %+v", r, *v.RackUsed(r), want)
		}
	}
	if t := v.Total(); t != referenceTotal(all) {
		return fmt.Errorf("the cluster has room %+v, reference has %d nodes up", t, all)
	}
	for n := range topology.NodeID(racks * perRack) {
		count := 0
		for range v.RunningOn(n) {
			count++
		}
		if count != sum.running[n] {
			return fmt.Errorf("node %d runs %d, reference %d", n, count, sum.running[n])
		}
		if want := sum.nodes[n]; want != nil && *want != *v.Used(n) || want == nil && *v.Used(n) != (Usage{}) {
			return fmt.Errorf("node %d uses %+v, reference %+v", n, *v.Used(n), want)
		}
	}
	if err := compareLists(v); err != nil {
		return err
	}
	return compareActive(v)
}

// compareLists checks the lists of jobs, all in order of submission, and what groups sum up against loops over all jobs.
func compareLists(v *View) error {
	same := func(what string, list Jobs, in func(*Job) bool) error {
		var want []*Job
		for j := range v.Jobs().All() {
			if in(j) {
				want = append(want, j)
			}
		}
		if got := slices.Collect(list.All()); !slices.Equal(got, want) || !slices.IsSortedFunc(got, func(a, b *Job) int { return int(a.Seq() - b.Seq()) }) {
			return fmt.Errorf("%s: %d jobs, reference %d", what, list.Len(), len(want))
		}
		return nil
	}
	if err := same("waiting", v.Waiting(), func(j *Job) bool { return j.Phase() == Waiting }); err != nil {
		return err
	}
	for k := range Kind(NumKinds) {
		if err := same("runnable", v.Runnable(k), func(j *Job) bool { return j.Runnable(k) }); err != nil {
			return err
		}
	}
	for kind := range numGroupKinds {
		for g := range v.Groups(kind) {
			if err := same(g.Name(), g.Jobs(), func(j *Job) bool { return j.groups()[kind] == g }); err != nil {
				return err
			}
			if err := compareGroup(g); err != nil {
				return err
			}
		}
	}
	return nil
}

func compareGroup(g *Group) error {
	var use Usage
	for k := Map; k <= Reduce; k++ {
		var pending int32
		var tasks int64
		for j := range g.Jobs().All() {
			pending += min(j.Pending(k), 1)
			tasks += int64(j.Pending(k))
		}
		if g.PendingJobs(k) != pending || g.PendingTasks(k) != tasks {
			return fmt.Errorf("%v %s: %d jobs with %d pending %vs, reference %d and %d", g.Kind(), g.Name(), g.PendingJobs(k), g.PendingTasks(k), k, pending, tasks)
		}
	}
	for j := range g.Jobs().All() {
		for k := range use.Tasks {
			use.Tasks[k] += j.use.Tasks[k]
			use.Slots[k] += j.use.Slots[k]
		}
		use.VCores += j.use.VCores
		use.MemoryMB += j.use.MemoryMB
	}
	if *g.Usage() != use {
		return fmt.Errorf("%v %s uses %+v, reference %+v", g.Kind(), g.Name(), *g.Usage(), use)
	}
	return nil
}

// referenceTotal is the room of so many nodes.
func referenceTotal(nodes int32) Totals {
	c := referenceRoom
	return Totals{Nodes: nodes, Slots: [NumKinds]int32{Map: nodes * c.MapSlots, Reduce: nodes * c.ReduceSlots}, VCores: nodes * c.VCores, MemoryMB: int64(nodes) * c.MemoryMB}
}

// compareActive checks the counts of users with runnable work against a loop.
func compareActive(v *View) error {
	for q := range v.Groups(QueueGroup) {
		for k := Map; k <= Reduce; k++ {
			users := make(map[*Group]bool)
			jobs := int32(0)
			for j := range q.Jobs().All() {
				if j.Runnable(k) {
					users[j.User()] = true
					jobs++
				}
			}
			if int(q.ActiveMembers(k)) != len(users) || q.RunnableJobs(k) != jobs {
				return fmt.Errorf("queue %s: %d users and %d jobs run %vs, reference %d and %d", q.Name(), q.ActiveMembers(k), q.RunnableJobs(k), k, len(users), jobs)
			}
		}
	}
	return nil
}

func compareJob(now time.Duration, v *View, id JobID, want *dumbJob, racks, perRack int, sum *tally) error {
	j := v.Job(id)
	if j == nil || j.Phase() != want.phase {
		return fmt.Errorf("%v: phase differs: %v, reference %v", id, j, want.phase)
	}
	if want.spec.HasDriver && want.phase != Waiting {
		sum.drivers.add(Driver, j.Demand(Driver))
	}
	shares := make([]RackShare, racks)
	for k := range Kind(NumKinds) {
		if err := compareTasks(now, v, j, k, want, shares, sum); err != nil {
			return err
		}
	}
	out := int64(0)
	for r, share := range shares {
		out += share.MapOutput
		if got := j.InRack(topology.RackID(r)); got != share {
			return fmt.Errorf("%v in rack %d: %+v, reference %+v", id, r, got, share)
		}
	}
	if _, got := j.MapBytes(); got != out {
		return fmt.Errorf("%v: map output %d, reference %d", id, got, out)
	}
	if _, all := j.MapsDoneAt(); all != (want.phase == Ready && j.Done(Map) == j.Total(Map)) {
		return fmt.Errorf("%v: maps done %v with %d of %d", id, all, j.Done(Map), j.Total(Map))
	}
	return comparePlaces(v, j, want, racks, perRack)
}

func compareTasks(now time.Duration, v *View, j *Job, k Kind, want *dumbJob, shares []RackShare, sum *tally) error {
	var counts [3]int32
	var elapsed time.Duration
	for i := range want.tasks[k] {
		t := &want.tasks[k][i]
		counts[t.state()]++
		if j.TaskState(k, int32(i)) != t.state() {
			return fmt.Errorf("%v %v %d is %v, reference %v", j.ID(), k, i, j.TaskState(k, int32(i)), t.state())
		}
		if t.done {
			share := &shares[v.RackOf(t.doneOn)]
			share.Done[k]++
			if k == Map {
				share.MapOutput += 5
			}
		}
		if got := v.Tries(j, TaskID{Job: j.ID(), Kind: k, Index: int32(i)}); int(got) != len(t.attempts) {
			return fmt.Errorf("%v %v %d has %d attempts, reference %d", j.ID(), k, i, got, len(t.attempts))
		}
		for _, a := range append(slices.Clone(t.attempts), t.zombies...) {
			n := a.node
			r := v.RackOf(n)
			if sum.racks[r] == nil {
				sum.racks[r] = &Usage{}
			}
			if sum.nodes[n] == nil {
				sum.nodes[n] = &Usage{}
			}
			if a.second {
				sum.seconds++
			}
			sum.nodes[n].add(k, j.Demand(k))
			sum.used.add(k, j.Demand(k))
			sum.racks[r].add(k, j.Demand(k))
			sum.running[n]++
			shares[r].Running[k]++
			elapsed += now - a.start
		}
	}
	if got := [3]int32{j.Pending(k), j.Running(k), j.Done(k)}; got != counts {
		return fmt.Errorf("%v %v: pending, running, done %v, reference %v", j.ID(), k, got, counts)
	}
	if got, ref := j.Runnable(k), counts[TaskPending] > 0 && (k != Reduce || want.pastSlowstart()); got != ref {
		return fmt.Errorf("%v: a %v may run: %v, reference %v", j.ID(), k, got, ref)
	}
	if got := j.Elapsed(now, k); got != elapsed {
		return fmt.Errorf("%v %v: running for %v, reference %v", j.ID(), k, got, elapsed)
	}
	return nil
}

// pastSlowstart reports whether as many maps are done as reduces wait for: one at least.
func (d *dumbJob) pastSlowstart() bool {
	fraction, done := cmp.Or(d.spec.Slowstart, DefaultConfig().Slowstart), 0
	for i := range d.tasks[Map] {
		if d.tasks[Map][i].done {
			done++
		}
	}
	return fraction < 0 || d.spec.Maps == 0 || done > 0 && float64(done) >= fraction*float64(d.spec.Maps)
}

// comparePlaces checks what is pending at each node and rack.
func comparePlaces(v *View, j *Job, want *dumbJob, racks, perRack int) error {
	at := func(near func(topology.NodeID) bool) []int32 {
		var out []int32
		for i := range want.tasks[Map] {
			if want.tasks[Map][i].state() == TaskPending && (near == nil || slices.ContainsFunc(want.spec.Splits.Of(int32(i)), near)) {
				out = append(out, int32(i))
			}
		}
		return out
	}
	known := func(n topology.NodeID) bool { return n >= 0 && int(n) < racks*perRack }
	for n := range topology.NodeID(racks * perRack) {
		ref := at(func(r topology.NodeID) bool { return r == n })
		if got := slices.Collect(v.PendingMapsOn(j, n)); !slices.Equal(got, ref) || int(v.LocalOn(j, n)) != len(ref) {
			return fmt.Errorf("%v on node %d: %v (%d), reference %v", j.ID(), n, got, v.LocalOn(j, n), ref)
		}
		if v.HasLocal(j, n) != (len(ref) > 0) {
			return fmt.Errorf("%v has local maps on node %d: %v, reference %v", j.ID(), n, v.HasLocal(j, n), ref)
		}
		if first, ok := v.PendingMapOn(j, n); ok != (len(ref) > 0) || ok && first != ref[0] {
			return fmt.Errorf("%v on node %d: first %d, reference %v", j.ID(), n, first, ref)
		}
		near := at(func(r topology.NodeID) bool { return known(r) && int(r)/perRack == int(n)/perRack })
		all := at(nil)
		for worst := NodeLocal; worst <= Remote; worst++ {
			want := [][]int32{ref, near, all}[:worst+1]
			if !j.Stored() {
				want = [][]int32{all}
			}
			if err := comparePick(v, j, n, worst, want); err != nil {
				return err
			}
		}
	}
	for r := range topology.RackID(racks) {
		ref := at(func(n topology.NodeID) bool { return known(n) && int(n)/perRack == int(r) })
		if got := slices.Collect(v.PendingMapsIn(j, r)); !slices.Equal(got, ref) || int(v.LocalIn(j, r)) != len(ref) {
			return fmt.Errorf("%v in rack %d: %v (%d), reference %v", j.ID(), r, got, v.LocalIn(j, r), ref)
		}
	}
	for k := Map; k <= Reduce; k++ {
		var all []int32
		for i := range want.tasks[k] {
			if want.tasks[k][i].state() == TaskPending {
				all = append(all, int32(i))
			}
		}
		if got := slices.Collect(v.PendingTasks(j, k)); !slices.Equal(got, all) {
			return fmt.Errorf("%v: pending %vs %v, reference %v", j.ID(), k, got, all)
		}
	}
	return nil
}

// comparePick checks that a map is picked from the first of the levels that has one, the lowest there.
func comparePick(v *View, j *Job, n topology.NodeID, worst Locality, levels [][]int32) error {
	got, _, ok := v.PickMap(j, n, worst)
	for _, maps := range levels {
		if len(maps) > 0 {
			if !ok || got != (TaskID{Job: j.ID(), Index: maps[0]}) {
				return fmt.Errorf("%v on node %d, at most %v: picked %v (%v), reference %d", j.ID(), n, worst, got, ok, maps[0])
			}
			return nil
		}
	}
	if ok {
		return fmt.Errorf("%v on node %d, at most %v: picked %v, reference none", j.ID(), n, worst, got)
	}
	return nil
}
