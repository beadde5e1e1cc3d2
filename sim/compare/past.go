package compare

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// A Past is a history prepared for replay: its jobs that ended well, and how they really went.
type Past struct {
	Real    *sim.Result // what happened, as if it were a run
	LeftOut int         // jobs that failed, or whose attempts are not all known
	// DriverStart is the time from the start of a driver to its job's first task if room is free; 0 if jobs had no
	// driver.
	DriverStart time.Duration

	kept  *trace.History
	cfg   sim.WorkloadConfig
	seed  uint64
	links *topology.Topology // with OverNetwork
}

// NewPast prepares a history. It places blocks anew from the seed: a history does not say where they were.
func NewPast(h *trace.History, w sim.WorkloadConfig, seed uint64) (*Past, error) {
	kept := ended(h)
	p := &Past{LeftOut: len(h.Jobs) - len(kept.Jobs), kept: kept, cfg: w, seed: seed}
	if len(kept.Jobs) == 0 {
		return nil, errors.New("it has no job that ended well with its attempts: nothing can be replayed")
	}
	if p.hasDrivers() {
		p.DriverStart = driverStart(kept.Jobs)
	}
	p.Real = asRun(kept, p.Workload())
	return p, nil
}

func (p *Past) hasDrivers() bool { return p.kept.Origin.Source == "cluster" }

// Workload returns the jobs for one replay, the same each time.
func (p *Past) Workload() []*sim.Job {
	jobs := Replay(p.kept, p.cfg, rand.New(rand.NewPCG(p.seed, 2)))
	for i, j := range jobs {
		j.Spec.HasDriver = p.hasDrivers()
		if e := p.kept.Jobs[i].Expect; e != nil {
			tell(j, e, &p.kept.Jobs[i])
		}
	}
	if p.links != nil {
		takeOff(p.kept, jobs, p.links)
	}
	return jobs
}

// tell limits what the policies know of a job to what they were told on the cluster, where nobody knew its work. The
// output of its maps stays.
func tell(j *sim.Job, e *trace.Expected, past *trace.PastJob) {
	known := func(bytes int64) scheduler.Size { return scheduler.Size{Bytes: bytes, Known: bytes > 0} }
	s := j.Spec
	j.MapOutput = []int64{past.ShuffleBytes / int64(s.Maps)}
	s.Input, s.Shuffle, s.Output = known(e.InputBytes), known(e.ShuffleBytes), known(e.OutputBytes)
	s.MapTime, s.ReduceTime, s.Work = e.MapTime, e.ReduceTime, 0
	s.Slowstart, s.ReduceCostRatio = past.Slowstart, past.ReduceCost
}

// ended keeps the jobs that ended well and have a good attempt of every task.
func ended(h *trace.History) *trace.History {
	good := map[string]map[taskKey]bool{}
	for _, a := range h.Attempts {
		if a.Lost {
			continue
		}
		if good[a.Job] == nil {
			good[a.Job] = map[taskKey]bool{}
		}
		good[a.Job][taskKey{a.Kind, a.Index}] = true
	}
	out := &trace.History{Origin: h.Origin}
	whole := map[string]bool{}
	for _, j := range h.Jobs {
		if j.State == trace.JobDone && j.End > 0 && len(good[j.ID]) == int(j.Maps+j.Reduces) && j.Maps > 0 {
			out.Jobs = append(out.Jobs, j)
			whole[j.ID] = true
		}
	}
	out.Attempts = slices.DeleteFunc(slices.Clone(h.Attempts), func(a trace.PastAttempt) bool { return !whole[a.Job] })
	return out
}

type taskKey struct {
	kind  string
	index int32
}

// driverStart returns the shortest start of any job's driver: the other jobs waited for room.
func driverStart(jobs []trace.PastJob) time.Duration {
	least := jobs[0].End
	for _, j := range jobs {
		least = min(least, max(0, j.Start-max(j.Admitted, j.Submit)))
	}
	return least
}

// asRun puts what happened into the shape of a simulated run.
func asRun(h *trace.History, jobs []*sim.Job) *sim.Result {
	res := &sim.Result{Jobs: make([]sim.JobResult, len(jobs))}
	at := map[string]*sim.JobResult{}
	for i, j := range h.Jobs {
		res.Jobs[i] = sim.JobResult{Job: jobs[i], Submitted: j.Submit, Admitted: j.Admitted, FirstStart: max(j.Start, j.Submit), Finished: j.End}
		res.Makespan = max(res.Makespan, j.End)
		at[j.ID] = &res.Jobs[i]
	}
	for _, a := range h.Attempts {
		j, kind := at[a.Job], scheduler.Map
		if a.Kind == "reduce" {
			kind = scheduler.Reduce
		}
		j.Attempts++
		j.Occupied += a.End - a.Start
		res.Busy[kind] += a.End - a.Start
		if a.Lost {
			res.Killed++
			continue
		}
		if l := slices.Index([]string{"node", "rack", "remote"}, a.Locality); l >= 0 {
			j.Local[l]++
		}
	}
	return res
}

// A Miss is how far a replay is from what happened, as shares: 0.1 is a tenth.
type Miss struct {
	Completion float64 `json:"mean_completion"` // signed: above 0 the replay is slower
	Makespan   float64 `json:"makespan"`        // likewise
	// Typical and Bad are the median and the 90th percentile, over jobs, of the absolute error of the completion.
	Typical float64 `json:"job_median"`
	Bad     float64 `json:"job_p90"`
}

// Miss compares a replay with what happened.
func (p *Past) Miss(replay *sim.Result) Miss {
	var was, is, off []float64
	for i := range p.Real.Jobs {
		a, b := p.Real.Jobs[i].Completion().Seconds(), replay.Jobs[i].Completion().Seconds()
		was, is = append(was, a), append(is, b)
		off = append(off, math.Abs(b-a)/max(a, 1e-3))
	}
	s := stats.Sorted(off)
	return Miss{
		Completion: stats.Mean(is)/max(stats.Mean(was), 1e-3) - 1, Makespan: replay.Makespan.Seconds()/max(p.Real.Makespan.Seconds(), 1e-3) - 1,
		Typical: stats.Quantile(s, 0.5), Bad: stats.Quantile(s, 0.9),
	}
}

// OriginCluster returns the cluster of a history: its machines and links if it lists them, else as many nodes in as
// many racks, with the room spread over them as evenly as possible.
func OriginCluster(o trace.Origin) (*topology.Topology, []scheduler.Capacity, error) {
	if o.Nodes < 1 || o.Racks < 1 || o.Racks > o.Nodes || o.Room < o.Nodes {
		return nil, nil, errors.New("it does not say how large the cluster was")
	}
	if len(o.Machines) == o.Nodes {
		return machines(o)
	}
	b := topology.NewBuilder()
	for range o.Racks {
		if _, err := b.AddRack(topology.Rack{}); err != nil {
			return nil, nil, err
		}
	}
	room := make([]scheduler.Capacity, o.Nodes)
	for i := range o.Nodes {
		if _, err := b.AddNode(topology.Node{Rack: topology.RackID(i % o.Racks)}); err != nil {
			return nil, nil, err
		}
		room[i].Containers = int32((o.Room + i) / o.Nodes) // sums to the room
	}
	return b.Topology(), room, nil
}
