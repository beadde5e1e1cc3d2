package sizebased

import (
	"cmp"
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fifo"
	"github.com/millrace/millrace/topology"
)

// A workJob is one job of the workload FB-1121 (spec/slowdown 4.5).
type workJob struct {
	at            time.Duration
	maps, reduces []time.Duration
	alone         time.Duration // reference run time on 600+200 slots
}

// fb1121 draws the workload of spec/slowdown 4.5 for load rho.
func fb1121(seed uint64, rho float64) []*workJob {
	r := rand.New(rand.NewPCG(seed, 5))
	all := fbSizes(r)
	ranks := make([]int, len(all))
	for i := range ranks {
		ranks[i] = i
	}
	slices.SortFunc(ranks, func(a, b int) int { return cmp.Compare(all[a], all[b]) })
	zS, zE := make([]float64, len(all)), make([]float64, len(all))
	for rank, i := range ranks {
		zS[i] = quantile((float64(rank) + 0.5) / float64(len(all)))
		zE[rank] = zS[i]
	}
	r.Shuffle(len(zE), func(a, b int) { zE[a], zE[b] = zE[b], zE[a] })
	var jobs []*workJob
	total := 0.0
	for i, size := range all {
		j := fbTasks(r, size, zS[i], zE[i])
		jobs = append(jobs, j)
		for _, d := range slices.Concat(j.maps, j.reduces) {
			total += d.Seconds()
		}
	}
	mean, at := total/float64(len(jobs))/(rho*800), 0.0
	for _, j := range jobs {
		j.at = time.Duration(at * 1e9)
		at += r.ExpFloat64() * mean
	}
	return jobs
}

// fbSizes draws the sizes: 112 small, 919 middling, 90 large jobs, shuffled.
func fbSizes(r *rand.Rand) (all []float64) {
	for i := range 112 {
		all = append(all, 10*math.Pow(100, (float64(i)+0.5)/112))
	}
	for i := range 919 {
		all = append(all, max(10, -8200*math.Log(1-(float64(i)+0.5)/919)))
	}
	s := math.Sqrt(math.Log(1 + 0.46*0.46))
	for i := range 90 {
		all = append(all, 85_000*math.Exp(s*quantile((float64(i)+0.5)/90)-s*s/2))
	}
	r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
	return all
}

// quantile is the normal quantile.
func quantile(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }

// fbTasks splits a size into tasks.
func fbTasks(r *rand.Rand, size, zS, zE float64) *workJob {
	clamp := func(x, low, high float64) float64 { return min(max(x, low), high) }
	aim := clamp(26*math.Exp(1.8*(0.85*zS+math.Sqrt(1-0.85*0.85)*zE)), 15, 20_000)
	f := 0.35 * (0.4 + 1.2*r.Float64())
	dm := min(clamp(aim*(0.2+0.3*r.Float64()), 4, 60), size*(1-f))
	nm := max(1, math.Round(size*(1-f)/dm))
	rd := min(max(aim-math.Ceil(nm/600)*dm, 3), max(f*size, 2))
	nr := max(1, math.Round(f*size/rd))
	if nr > 100 {
		nr, nm = 100, max(1, math.Round((size-100*rd)/dm))
	}
	s := math.Sqrt(math.Log(1 + 0.2*0.2))
	draw := func(n, mean float64) (out []time.Duration) {
		for range int(n) {
			out = append(out, time.Duration(mean*math.Exp(s*r.NormFloat64()-s*s/2)*1e9))
		}
		return out
	}
	j := &workJob{maps: draw(nm, dm), reduces: draw(nr, rd)}
	j.alone = aloneTime(j)
	return j
}

// aloneTime runs a job alone: maps in order on 600 slots, then at most 100
// reduces at once, which have waited in their slots.
func aloneTime(j *workJob) time.Duration {
	var slots durations
	last := time.Duration(0)
	for _, d := range j.maps {
		start := time.Duration(0)
		if len(slots) == 600 {
			start = heap.Pop(&slots).(time.Duration)
		}
		heap.Push(&slots, start+d)
		last = max(last, start+d)
	}
	return last + slices.Max(j.reduces)
}

type durations []time.Duration

func (d durations) Len() int           { return len(d) }
func (d durations) Less(i, j int) bool { return d[i] < d[j] }
func (d durations) Swap(i, j int)      { d[i], d[j] = d[j], d[i] }
func (d *durations) Push(x any)        { *d = append(*d, x.(time.Duration)) }
func (d *durations) Pop() any {
	last := (*d)[len(*d)-1]
	*d = (*d)[:len(*d)-1]
	return last
}

// An end is the end of an attempt; reduces that wait for maps have none yet.
type end struct {
	at   time.Duration
	task scheduler.TaskID
	node topology.NodeID
}

type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at < e[j].at }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// field plays a workload on 100 nodes x (6 map + 2 reduce) slots; a slot asks the
// moment it is idle, and again when there may be work for it (spec/slowdown 2.5).
// Not for tags, where a job's move brings work to idle slots too.
type field struct {
	*rig
	jobs    []*workJob
	ends    ends
	waiting map[scheduler.JobID][]end
}

func slowdowns(t *testing.T, p scheduler.Policy, jobs []*workJob, slowstart float64) []float64 {
	t.Helper()
	f := &field{rig: newRig(t, p, 100, scheduler.Capacity{MapSlots: 6, ReduceSlots: 2}), jobs: jobs, waiting: make(map[scheduler.JobID][]end)}
	out := make([]float64, 0, len(jobs))
	for next := 0; len(out) < len(jobs); {
		if next < len(jobs) && (len(f.ends) == 0 || jobs[next].at <= f.ends[0].at) {
			f.Now = jobs[next].at
			j := jobs[next]
			work := time.Duration(0)
			for _, d := range slices.Concat(j.maps, j.reduces) {
				work += d
			}
			f.Submit(&scheduler.JobSpec{ID: scheduler.JobID(next), Maps: int32(len(j.maps)), Reduces: int32(len(j.reduces)), Slowstart: slowstart, Work: work})
			next++
			f.serveAll()
			continue
		}
		e := heap.Pop(&f.ends).(end)
		f.Now = e.at
		if f.end(e) {
			j := f.jobs[e.task.Job]
			out = append(out, (f.Now-j.at).Seconds()/j.alone.Seconds())
		}
	}
	slices.Sort(out)
	return out
}

// end ends an attempt, serves its node, and reports whether the job is over.
func (f *field) end(e end) bool {
	before := f.View().Job(e.task.Job).ReduceReady()
	if err := f.Feed(f.Now, scheduler.TaskFinished(e.task, e.node, 0, 0, 0)); err != nil {
		f.T.Fatal(err)
	}
	j := f.View().Job(e.task.Job)
	if _, done := j.MapsDoneAt(); done {
		for _, w := range f.waiting[j.ID()] {
			w.at = f.Now + f.jobs[j.ID()].reduces[w.task.Index]
			heap.Push(&f.ends, w)
		}
		delete(f.waiting, j.ID())
	}
	over := j.Complete()
	if over {
		f.Send(scheduler.JobFinished(j.ID()))
	}
	f.serve(e.node)
	if !before && j.ReduceReady() { // idle slots elsewhere may have work now
		f.serveAll()
	}
	return over
}

// serveAll offers every node that could run something, if any could.
func (f *field) serveAll() {
	v := f.View()
	for k := range scheduler.Driver {
		if v.Runnable(k).Len() == 0 || v.ClusterUsed().Slots[k] == v.Total().Slots[k] {
			continue
		}
		for n := range topology.NodeID(100) {
			if v.FreeSlots(n, k) > 0 {
				f.serve(n)
			}
		}
	}
}

func (f *field) serve(n topology.NodeID) {
	_, err := f.Offer(f.Now, n, func(d scheduler.Decision) {
		e := end{task: d.Task, node: n}
		j := f.jobs[d.Task.Job]
		if d.Task.Kind == scheduler.Map {
			e.at = f.Now + j.maps[d.Task.Index]
		} else if _, done := f.View().Job(d.Task.Job).MapsDoneAt(); done {
			e.at = f.Now + j.reduces[d.Task.Index]
		} else {
			f.waiting[d.Task.Job] = append(f.waiting[d.Task.Job], e)
			return
		}
		heap.Push(&f.ends, e)
	})
	if err != nil {
		f.T.Fatal(err)
	}
}

// at returns the q-th percentile, interpolated (spec/slowdown 2.2).
func at(sorted []float64, q float64) float64 {
	pos := q / 100 * float64(len(sorted)-1)
	low := int(pos)
	if low+1 == len(sorted) {
		return sorted[low]
	}
	return sorted[low] + (pos-float64(low))*(sorted[low+1]-sorted[low])
}

// spec/slowdown 5, items 1, 2, 3 and 9 at load 0.7, one repetition: levels and
// orderings with wide margins. The laboratory runs them in full.
func TestExperimentFB1121(t *testing.T) {
	if testing.Short() {
		t.Skip("plays 1,121 jobs several times")
	}
	jobs := fb1121(1, 0.7)
	type result struct{ median, p95, v95 float64 }
	run := func(name string, p scheduler.Policy, slowstart float64) result {
		s := slowdowns(t, p, jobs, slowstart)
		r := result{at(s, 50), at(s, 95), at(s, 95) / at(s, 50)}
		t.Logf("%-10s slowstart %.2f: median %.2f, p95 %.1f, V(95) %.2f", name, slowstart, r.median, r.p95, r.v95)
		return r
	}
	limit := func(d Discipline, l float64) *Policy {
		return policy(t, d, func(c *Config) { c.Limits, c.Predict.Noise = []float64{l}, 0.2 })
	}
	first := run("fifo", fifo.New(scheduler.DefaultReduceRule()), 0.05)
	fbq := run("fbq", limit(FBQ, 12_000), 0.05)
	sita := run("sita", limit(SITA, 12_000), 0.05)
	comp := run("comp", policy(t, COMP, func(c *Config) { c.Predict.Noise = 0.2 }), 0.05)
	srpt, err := NewSRPT(DefaultSRPTConfig())
	if err != nil {
		t.Fatal(err)
	}
	oracle := run("srpt", srpt, 0.05)
	for what, ok := range map[string]bool{
		"item 1: the level of fifo":           first.median > 1.8 && first.median < 4 && first.p95 > 14 && first.p95 < 34,
		"item 2: fbq lowers p95":              first.p95/fbq.p95 >= 1.5,
		"item 2: sita lowers p95":             first.p95/sita.p95 >= 1.5,
		"item 3: fbq lowers the median":       fbq.median < first.median,
		"item 9: comp lowers the median":      comp.median < first.median,
		"3.7: the oracle is better than each": oracle.p95 < min(first.p95, fbq.p95, sita.p95, comp.p95),
	} {
		if !ok {
			t.Error(what)
		}
	}
}
