package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/lab/live"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// describeLab returns the cluster of an arm.
func describeLab(m *live.Machines, a *live.Arm) *describedCluster {
	d := &describedCluster{
		Racks: m.Racks, Policy: a.Policy.Name, Params: a.Policy.Params, Admission: a.Admission.Name, Admitting: a.Admission.Params, Placement: cmp.Or(m.Placement, "rack-aware"),
	}
	d.Once = !m.Alike() // as in the simulator: a task is slow there because its machine is
	for _, c := range m.Classes {
		d.Classes = append(d.Classes, describedClass{Name: c.Name, Count: c.Count, Containers: int32(c.Containers), Speed: c.Speed})
	}
	rate := func(r topology.Rate) string {
		if r == 0 {
			return ""
		}
		return fmt.Sprintf("%dkb/s", int64(r*8/1000))
	}
	if nic, uplink := rate(m.Links.NIC), rate(m.Links.Uplink); nic != "" || uplink != "" {
		d.Links = &topologyFile{NIC: nic, Uplink: uplink}
	}
	if o := m.Links.Optical; o.Present() {
		d.Links.Optical = &opticalFile{Rate: rate(o.Rate), Interval: o.Interval.String(), Dark: o.Reconfig.String(), Threshold: fmt.Sprint(o.Threshold)}
	}
	return d
}

// onCluster starts a cluster for an arm, runs fn on it, and stops it.
func onCluster(ctx context.Context, l *live.Laboratory, a *live.Arm, fn func(cl *client.Client, master string) error) (err error) {
	dir, err := os.MkdirTemp("", "millrace-lab-")
	if err != nil {
		return err
	}
	d := describeLab(&l.Machines, a)
	up := &upOptions{workers: d.machines(), racks: d.Racks, timeout: time.Minute, given: func(string) bool { return true }, described: d, key: keyFlags{key: os.Getenv("MILLRACE_KEY")}}
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		return err
	}
	c, err := up.start(ctx, dir)
	defer func() {
		err = errors.Join(err, stopCluster(dir, c, 10*time.Second), os.RemoveAll(dir))
	}()
	if err != nil {
		return err
	}
	cl, err := up.key.client(client.Config{Master: c.Master})
	if err != nil {
		return err
	}
	return errors.Join(fn(cl, c.Master), cl.Close())
}

// liveRun is the jobs of a laboratory on a cluster.
type liveRun struct {
	*replay
	lab   *live.Laboratory
	list  []*sim.Job
	costs *live.Costs
	out   live.Outcome
}

// arm returns what becomes of each job on a cluster, and adds the costs.
func (o *liveLab) arm(ctx context.Context, l *live.Laboratory, a *live.Arm, costs *live.Costs) (*live.Outcome, error) {
	var r liveRun
	err := onCluster(ctx, l, a, func(cl *client.Client, master string) error {
		o.say("  its dashboard: %s", master)
		r = liveRun{replay: newReplay(cl), lab: l, list: l.Jobs(o.quick), costs: costs}
		for _, step := range []func(context.Context) error{r.prepare, r.announce, r.submitAll, r.judge} {
			if err := step(ctx); err != nil {
				return errors.Join(err, r.close())
			}
		}
		return r.close()
	})
	return &r.out, err
}

// prepare makes the jobs as trace replay does, and their input.
func (r *liveRun) prepare(ctx context.Context) error {
	o := &replayOptions{scaleTime: 1, scaleBytes: 1}
	r.reads = true
	if err := r.open(ctx); err != nil {
		return err
	}
	for i, j := range r.list {
		if j.Spec.Splits.Len() > 0 {
			if err := r.put(ctx, i, j); err != nil {
				return err
			}
		}
		spec, err := r.job(o, i, j)
		if err != nil {
			return err
		}
		due := dueJob{at: j.Spec.Submit, spec: spec}
		if j.Spec.User != "" {
			if due.as, err = r.cl.As(j.Spec.User); err != nil {
				return err
			}
		}
		r.jobs = append(r.jobs, due)
	}
	return nil
}

// close closes the connections of users.
func (r *liveRun) close() (err error) {
	for i := range r.jobs {
		if as := r.jobs[i].as; as != nil {
			err = errors.Join(err, as.Close())
		}
	}
	return err
}

// open makes the directory of the jobs' outputs, one for all users.
func (r *liveRun) open(ctx context.Context) error {
	if err := r.cl.DFS().Mkdir(ctx, r.dir, true); err != nil {
		return err
	}
	return r.cl.DFS().SetRights(ctx, wire.SetRightsRequest{Path: r.dir, Mode: 0o1777})
}

// put writes the input of a job, a block for each map, and records where it is.
func (r *liveRun) put(ctx context.Context, i int, j *sim.Job) error {
	name, block := r.input(i), j.Spec.Splits.Bytes[0]
	w, err := r.cl.DFS().Create(ctx, name, dfs.CreateOptions{BlockSize: block, Replication: max(1, r.lab.Machines.Copies)})
	if err != nil {
		return err
	}
	data, noise := make([]byte, block), rand.NewChaCha8([32]byte{byte(i)})
	for range j.Spec.Maps {
		_, _ = noise.Read(data)
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	at, err := r.cl.DFS().Locate(ctx, name, 0, block*int64(j.Spec.Maps))
	if err != nil {
		return err
	}
	for len(r.costs.Places) < i {
		r.costs.Places = append(r.costs.Places, nil)
	}
	var places [][]int
	for _, b := range at.Blocks {
		var machines []int
		for _, p := range b.Places {
			machines = append(machines, numberOf(p.Node))
		}
		places = append(places, machines)
	}
	r.costs.Places = append(r.costs.Places, places)
	return nil
}

// numberOf returns the index of a worker among those that were started.
func numberOf(n wire.NodeName) (i int) {
	_, _ = fmt.Sscanf(string(n), "w%d", &i)
	return i - 1
}

// announce announces recurring jobs to the master before they come.
func (r *liveRun) announce(ctx context.Context) error {
	if !r.lab.Announced {
		return nil
	}
	return announceBatch(ctx, r.cl, r.jobs)
}

// submitAll submits the jobs and waits for all.
func (r *liveRun) submitAll(ctx context.Context) error {
	if err := r.submit(ctx); err != nil {
		return err
	}
	for i := range r.jobs {
		if j := &r.jobs[i]; !j.succeeded() {
			return fmt.Errorf("%s %s: %s", j.id, j.status.State, j.status.Error)
		}
	}
	return nil
}

// judge records how the jobs fared.
func (r *liveRun) judge(ctx context.Context) error {
	net, err := r.cl.Net(ctx)
	if err != nil {
		return err
	}
	if err := r.machines(ctx); err != nil {
		return err
	}
	r.out.Congested, r.out.Cross = float64(net.CongestedMillis)/1000, float64(net.CrossRack)
	for i := range r.jobs {
		r.out.Seconds = append(r.out.Seconds, r.jobs[i].seconds())
		r.costs.At = append(r.costs.At, time.Duration(r.jobs[i].status.Submitted-r.jobs[0].status.Submitted)*time.Millisecond)
		if err := r.costsOf(ctx, r.jobs[i].status, r.list[i]); err != nil {
			return err
		}
	}
	return nil
}

// machines records the order in which the master came to know the machines, with which its log begins.
func (r *liveRun) machines(ctx context.Context) error {
	page, err := r.cl.DecisionLines(ctx, 0)
	if err != nil {
		return err
	}
	for _, text := range page.Lines {
		var l drive.Line
		if err := json.Unmarshal(text, &l); err != nil {
			return err
		}
		if l.Kind == drive.LineNode {
			r.costs.Order = append(r.costs.Order, numberOf(wire.NodeName(l.Name)))
		}
	}
	if n, all := len(r.costs.Order), describeLab(&r.lab.Machines, &live.Arm{}).machines(); n != all {
		return fmt.Errorf("the log of decisions has %d of the %d machines", n, all)
	}
	return nil
}

// costsOf reads from the history of a job what it has cost, how long its tasks took, and where they ran.
func (r *liveRun) costsOf(ctx context.Context, s wire.JobStatus, j *sim.Job) error {
	p := past{begun: map[taskKey]int64{}, near: map[taskKey]bool{}, slower: map[taskKey]float64{}, waited: map[taskKey]int64{}, done: map[taskKey]int64{}, last: map[wire.TaskKind]int64{}, machines: &r.lab.Machines, job: j, costs: r.costs}
	submitted, ended := s.Submitted*int64(time.Millisecond), s.Ended*int64(time.Millisecond)
	err := r.cl.Events(ctx, s.Job, func(e *wire.PastEvent) { p.event(e, submitted) })
	maps, reduces := slices.Clone(j.Maps), slices.Clone(j.Reduces)
	for k, at := range p.done {
		if k.kind == wire.MapTask {
			maps[k.index] = time.Duration(at - p.begun[k])
		} else {
			reduces[k.index] = time.Duration(at - max(p.begun[k], p.last[wire.MapTask]))
			r.costs.Reduce = append(r.costs.Reduce, p.cost(k))
		}
	}
	r.costs.Maps, r.costs.Reduces = append(r.costs.Maps, maps), append(r.costs.Reduces, reduces)
	r.costs.End = append(r.costs.End, float64(max(0, ended-max(p.last[wire.MapTask], p.last[wire.ReduceTask]))))
	r.out.Local = append(r.out.Local, float64(s.Locality["node"])/float64(max(1, s.Maps.Total)))
	r.out.Strong = append(r.out.Strong, float64(p.strong)/float64(max(1, len(p.done))))
	return err
}

type taskKey struct {
	kind  wire.TaskKind
	index int32
}

// past is what the history says about a job.
type past struct {
	machines    *live.Machines
	job         *sim.Job
	costs       *live.Costs
	driver      int64
	begun, done map[taskKey]int64
	last        map[wire.TaskKind]int64 // end of the last of a kind
	near        map[taskKey]bool        // it ran beside its input
	slower      map[taskKey]float64     // than on the fastest machine
	waited      map[taskKey]int64       // of a reduce: for its input
	strong      int                     // tasks on machines of the first class
}

// cost returns how much longer a reduce took than it should have. It excludes the wait for its input: the simulator has
// links of its own.
func (p *past) cost(k taskKey) float64 {
	return float64(p.done[k]-p.begun[k]-p.waited[k]) - float64(p.job.Reduces[k.index])*p.slower[k]
}

func (p *past) event(e *wire.PastEvent, submitted int64) {
	switch k := (taskKey{e.Task, e.Index}); {
	case e.Kind == wire.PastLaunched && e.Task == wire.DriverTask:
		p.driver = e.At
		p.costs.Submit = append(p.costs.Submit, float64(max(0, e.At-submitted)))
	case e.Kind == wire.PastPlanned:
		p.costs.Start = append(p.costs.Start, float64(e.At-p.driver))
	case e.Kind == wire.PastLaunched:
		p.begun[k], p.near[k] = e.At, e.Locality == "node"
	case e.Kind == wire.PastDone && e.Task != wire.DriverTask:
		p.done[k], p.last[e.Task] = e.At, max(p.last[e.Task], e.At)
		p.waited[k] = e.Counts.Get(mapreduce.TaskGroup, mapreduce.ReduceWaitMillis) * int64(time.Millisecond)
		at := numberOf(e.Node)
		p.slower[k] = p.machines.Slower(at)
		if at < p.machines.Classes[0].Count {
			p.strong++
		}
		if e.Task == wire.MapTask && (p.job.Spec.Splits.Len() == 0 || p.near[k]) { // others wait for their input
			p.costs.Task = append(p.costs.Task, float64(e.At-p.begun[k])-float64(p.job.Maps[e.Index])*p.slower[k])
		}
	}
}
