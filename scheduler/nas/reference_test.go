package nas

import (
	"cmp"
	"math"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// reference is NAS written down again from the listings, with lists of tasks
// instead of indices. It shares with Policy the order of sharers, the traffic
// threshold, the skip counters and the tags, which it reads before each
// decision; everything else it computes from the events.
type reference struct {
	p       *Policy
	t       *rapid.T
	samples map[scheduler.JobID][]float64
	where   map[scheduler.TaskID]topology.NodeID // running maps
	decided [3]int                               // maps, reduces, refusals
}

func (f *reference) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	f.p.Observe(now, e, v)
	if e.Task.Kind != scheduler.Map {
		return
	}
	switch e.Kind {
	case scheduler.EvLaunched:
		f.where[e.Task] = e.Node
	case scheduler.EvTaskFinished:
		delete(f.where, e.Task)
		if e.InBytes > 0 {
			f.samples[e.Job] = append(f.samples[e.Job], float64(e.OutBytes)/float64(e.InBytes))
		}
	case scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		delete(f.where, e.Task)
	}
}

func (f *reference) Assign(now time.Duration, n topology.NodeID, v *scheduler.View) scheduler.Decision {
	wantTask, wantOK := f.expect(now, n, v)
	got := f.p.Assign(now, n, v)
	if got.OK != wantOK || wantOK && got.Task != wantTask {
		f.t.Fatalf("at %v node %d: %v %v (%s), the listings say %v %v", now, n, got.OK, got.Task, got.Reason.Text(v), wantOK, wantTask)
	}
	switch {
	case !got.OK:
		f.decided[2]++
	default:
		f.decided[got.Task.Kind]++
	}
	return got
}

// expect is Algorithm 1 (spec/nas 3.5) for the kinds of task in the order of spec/nas 3.
func (f *reference) expect(now time.Duration, n topology.NodeID, v *scheduler.View) (scheduler.TaskID, bool) {
	for _, k := range f.p.rule.Kinds(v, n) {
		if !v.HasRoom(n, k) {
			continue
		}
		var t scheduler.TaskID
		var ok bool
		if k == scheduler.Map {
			t, ok = f.mts(now, n, v)
		} else {
			t, ok = f.reduce(now, n, v)
		}
		if ok {
			return t, true
		}
	}
	return scheduler.TaskID{}, false
}

// ratio is 3.1.
func (f *reference) ratio(j *scheduler.Job) (ratio float64, known bool) {
	if s := f.samples[j.ID()]; len(s) > 0 {
		sum := 0.0
		for _, r := range s {
			sum += r
		}
		return sum / float64(len(s)), true
	}
	if s := j.Spec(); s.Recurring && s.Shuffle.Known && s.Input.Bytes > 0 {
		return float64(s.Shuffle.Bytes) / float64(s.Input.Bytes), true
	}
	return 1, false
}

func (f *reference) output(j *scheduler.Job, i int32) float64 {
	if j.Total(scheduler.Reduce) == 0 {
		return 0
	}
	r, _ := f.ratio(j)
	return r * float64(j.SplitBytes(i))
}

func (f *reference) shuffle(j *scheduler.Job) float64 {
	if j.Spec().Reduces == 0 {
		return 0
	}
	r, _ := f.ratio(j)
	in, out := j.MapBytes()
	return float64(out) + r*max(float64(j.Spec().Input.Bytes-in), 0)
}

type option struct {
	task         scheduler.TaskID
	seq          int64
	out, cost    float64
	known, small bool
	local        bool
}

// options lists every pending map of a line that fits the node.
func (f *reference) options(line fair.Line, n topology.NodeID, v *scheduler.View, light bool) (all []option) {
	for at := range line.Len() {
		j := line.At(at)
		if !v.Fits(n, j, scheduler.Map) || light && f.p.cfg.Classes.Of(f.shuffle(j)) != Light {
			continue
		}
		_, known := f.ratio(j)
		for i := range j.Total(scheduler.Map) {
			if j.TaskState(scheduler.Map, i) != scheduler.TaskPending {
				continue
			}
			t := scheduler.TaskID{Job: j.ID(), Index: i}
			near := v.LocalityOf(j, t, n)
			o := option{task: t, seq: j.Seq(), out: f.output(j, i), known: known, small: j.Spec().Input.Bytes < 10*mb}
			o.local = near == scheduler.NodeLocal || near == scheduler.Anywhere
			if !o.local {
				o.cost = float64(near) * float64(j.SplitBytes(i))
			}
			all = append(all, o)
		}
	}
	return all
}

func keep(all []option, f func(option) bool) (out []option) {
	for _, o := range all {
		if f(o) {
			out = append(out, o)
		}
	}
	return out
}

func best(all []option, compare func(a, b option) int) (scheduler.TaskID, bool) {
	if len(all) == 0 {
		return scheduler.TaskID{}, false
	}
	return slices.MinFunc(all, func(a, b option) int {
		return cmp.Or(compare(a, b), cmp.Compare(a.seq, b.seq), cmp.Compare(a.task.Index, b.task.Index))
	}).task, true
}

// mts is Algorithm 2 (spec/nas 3.6), line by line.
func (f *reference) mts(now time.Duration, n topology.NodeID, v *scheduler.View) (scheduler.TaskID, bool) {
	used := 0.0
	for a := range v.RunningOn(n) {
		if a.Task.Kind == scheduler.Map {
			used += f.output(v.Job(a.Task.Job), a.Task.Index)
		}
	}
	avail := f.p.limit - used
	for i := range f.p.shares.Len(scheduler.Map) {
		line := f.p.shares.At(scheduler.Map, i)
		c := f.options(line, n, v, f.p.isFiltered(v.RackOf(n)))
		q := keep(c, func(o option) bool { return o.out <= avail })
		x := keep(q, func(o option) bool { return o.local })
		if t, ok := best(x, func(a, b option) int { return cmp.Or(first(!a.known, !b.known), cmp.Compare(b.out, a.out)) }); ok {
			return t, true
		}
		if !f.p.cfg.Maps.Over(now, *f.p.maps.At(line.Slot())) {
			continue
		}
		if t, ok := best(q, func(a, b option) int {
			return cmp.Or(first(a.small, b.small), first(!a.known, !b.known), cmp.Compare(a.cost, b.cost), cmp.Compare(b.out, a.out))
		}); ok {
			return t, true
		}
		all := f.options(line, n, v, false)
		least := func(a, b option) int { return cmp.Compare(a.out, b.out) }
		if t, ok := best(keep(all, func(o option) bool { return o.local }), least); ok {
			return t, true
		}
		if t, ok := best(all, least); ok {
			return t, true
		}
	}
	return scheduler.TaskID{}, false
}

// eligible lists E of one line, best first by lines 5 and 6 of CA-RTS (spec/nas 3.8).
func (f *reference) eligible(line fair.Line, n topology.NodeID, v *scheduler.View) (jobs []*scheduler.Job) {
	lo, hi := math.Inf(1), 0.0
	for j := range v.Jobs().All() {
		if j.Spec().Reduces > 0 {
			lo, hi = min(lo, f.shuffle(j)), max(hi, f.shuffle(j))
		}
	}
	for at := range line.Len() {
		j := line.At(at)
		t := CompletionThreshold(f.shuffle(j), lo, hi, f.p.cfg.TMin, f.p.cfg.TMax, false)
		if v.Fits(n, j, scheduler.Reduce) && j.MapProgress() >= t-1e-9 && !(v.PastShare(n, f.p.cfg.ReduceShare) && j.Pending(scheduler.Map)+j.Running(scheduler.Map) > 0) {
			jobs = append(jobs, j)
		}
	}
	rack := v.RackOf(n)
	slices.SortFunc(jobs, func(a, b *scheduler.Job) int {
		ra, rb := f.reached(a, rack, v), f.reached(b, rack, v)
		ca, cb := f.category(a, ra), f.category(b, rb)
		size := cmp.Compare(f.shuffle(b), f.shuffle(a))
		if ra {
			size = -size
		}
		return cmp.Or(
			cmp.Compare(ca, cb), first(f.p.est.of(a).delayed > 0, f.p.est.of(b).delayed > 0),
			first(a.MapProgress() == 1, b.MapProgress() == 1), size, cmp.Compare(a.Seq(), b.Seq()),
		)
	})
	return jobs
}

func (f *reference) category(j *scheduler.Job, reached bool) int {
	class := f.p.cfg.Classes.Of(f.shuffle(j))
	if reached {
		return map[Class]int{Light: 4, Medium: 5, Heavy: 6}[class]
	}
	return map[Class]int{Heavy: 1, Medium: 2, Light: 3}[class]
}

// reached adds up map output rack by rack: finished, then running as predicted.
func (f *reference) reached(j *scheduler.Job, r topology.RackID, v *scheduler.View) bool {
	here, all := 0.0, 0.0
	for rack := range topology.RackID(v.Topology().NumRacks()) {
		out := float64(j.InRack(rack).MapOutput)
		for t, n := range f.where {
			if t.Job == j.ID() && v.RackOf(n) == rack {
				ratio, _ := f.ratio(j)
				out += ratio * float64(j.SplitBytes(t.Index))
			}
		}
		if all += out; rack == r {
			here = out
		}
	}
	portion := 0.0
	if all > 0 {
		portion = here / all
	}
	share := j.InRack(r)
	return float64(share.Running[scheduler.Reduce]+share.Done[scheduler.Reduce]) >= math.Ceil(float64(j.Total(scheduler.Reduce))*portion-1e-9)
}

// known reports whether map output of j lies anywhere, or is in the making.
func (f *reference) known(j *scheduler.Job, v *scheduler.View) bool {
	out := 0.0
	for rack := range topology.RackID(v.Topology().NumRacks()) {
		out += float64(j.InRack(rack).MapOutput)
	}
	for t := range f.where {
		if t.Job == j.ID() {
			ratio, _ := f.ratio(j)
			out += ratio * float64(j.SplitBytes(t.Index))
		}
	}
	return out > 0
}

// reduce is Algorithms 3 and 4 (spec/nas 3.8 and 3.9).
func (f *reference) reduce(now time.Duration, n topology.NodeID, v *scheduler.View) (scheduler.TaskID, bool) {
	congested := v.Net(v.RackOf(n)).Utilisation() >= f.p.cfg.Congestion
	f.p.filter(v.RackOf(n), congested) // line 1 of both; the policy does so next
	for i := range f.p.shares.Len(scheduler.Reduce) {
		line := f.p.shares.At(scheduler.Reduce, i)
		e := f.eligible(line, n, v)
		if len(e) == 0 {
			continue
		}
		if congested && !f.p.cfg.Reduces.Over(now, *f.p.reduces.At(line.Slot())) {
			at := slices.IndexFunc(e, func(j *scheduler.Job) bool { return f.p.cfg.Classes.Of(f.shuffle(j)) == Light })
			if at < 0 {
				continue
			}
			t, ok := v.PickReduce(e[at])
			return t, ok
		}
		if !f.p.cfg.Prefer && !f.p.cfg.Reduces.Over(now, *f.p.places.At(line.Slot())) { // a rack with its share gets no more
			if e = slices.DeleteFunc(e, func(j *scheduler.Job) bool { return f.reached(j, v.RackOf(n), v) && f.known(j, v) }); len(e) == 0 {
				continue
			}
		}
		t, ok := v.PickReduce(e[0])
		return t, ok
	}
	return scheduler.TaskID{}, false
}
