package scheduler

import (
	"math"
	"time"

	"github.com/millrace/millrace/topology"
)

// With ReduceRule.Ramp a job's reduces follow its maps where maps and reduces share containers, as Hadoop's application
// master requests them. A reduce that is launched before the last map has ended holds a container and waits; so
//
//   - while maps of a job have no place, its reduces hold at most min(share of its maps
//     done, Ramp) of what the job holds and could get;
//   - a reduce that would only wait is not launched while a map of a job that is owed more
//     has no place;
//   - a reduce that only waits gives its container back when a map of the same job has no
//     place and the first rule is broken, or when a map or the driver of a job that is owed
//     more has found none for a moment. It starts again later, and fetches again.

// Owed reports whether job b is owed a container that job a holds, if a held more of them than it does now and b got
// the free ones, by the shares of a policy.
type Owed func(a *Job, more int32, b *Job, free int32) bool

// Needy is the job whose map a policy would serve first, or nil, with the policy's order.
type Needy struct {
	Job  *Job
	Owed Owed
}

// Waits reports whether a task of kind k of j, if it was launched now, would wait for maps.
func (j *Job) Waits(k Kind) bool { return k == Reduce && j.mapsDoneAt < 0 }

// Free returns the containers that nobody holds, counted in default demands, on nodes that
// take tasks.
func (v *View) Free() int32 {
	return max(0, v.s.total.Slots[Map]-v.s.use.Work()-v.s.use.Slots[Driver])
}

// Kinds is View.KindOrder. With Ramp or Ripe, reduces that wait for nobody come first even if reduces hold all they
// may: they end by themselves, and so do their jobs. AllowsReduce then refuses the other reduces.
func (r *ReduceRule) Kinds(v *View, n topology.NodeID) []Kind {
	kinds := v.KindOrder(n, r.Share)
	if r.Ramp > 0 || r.Ripe {
		kinds, _ = RipeFirst(kinds)
	}
	return kinds
}

// AllowsReduce reports whether a reduce of j may be launched on n now.
func (r *ReduceRule) AllowsReduce(v *View, n topology.NodeID, j *Job, first Needy) bool {
	if r.Ramp <= 0 && !r.Ripe || !j.Waits(Reduce) || v.s.nodes[n].cap.Slotted() {
		return true
	}
	if v.PastShare(n, r.Share) {
		return false
	}
	if r.Ramp <= 0 {
		return true
	}
	if j.tasks[Map].pending > 0 && j.use.Tasks[Reduce]+1 > r.most(j, v.spare(j)) {
		return false
	}
	if first.Job == nil || first.Job == j {
		return true
	}
	// The free room that its own maps will take counts as taken: else reduces would start whenever many maps have just
	// ended, and give way again when others have started.
	more := 1 + min(j.tasks[Map].pending, max(0, v.Free()-1))
	return !first.Owed(j, more, first.Job, 0)
}

// most returns how many reduces j may hold while its maps wait for room.
func (r *ReduceRule) most(j *Job, couldGet int32) int32 {
	return int32(math.Min(j.MapProgress(), r.Ramp) * float64(j.use.Work()+couldGet))
}

// spare returns what j could get beside its maps: free containers that no map waits for.
func (v *View) spare(j *Job) int32 {
	if len(v.s.pending[Map].list) > 1 {
		return 0
	}
	return max(0, v.Free()-j.tasks[Map].pending)
}

// giveBackAfter is how long a job must have found no place before reduces of others give way. Ours: two ticks of the
// master. If many tasks run, one ends every moment, and its place will do. Larger: small jobs wait longer on a small
// cluster.
const giveBackAfter = 200 * time.Millisecond

// starves reports whether a job without a place since then has waited long enough.
func starves(now, since time.Duration) bool { return now-since >= giveBackAfter }

// GiveBack names a reduce that only waits and should give its container to a map. A policy
// with Ramp names it as its victim.
func (r *ReduceRule) GiveBack(now time.Duration, v *View, first Needy) (victim Victim, found bool) {
	if r.Ramp <= 0 || v.s.use.Tasks[Reduce] == 0 {
		return Victim{}, false
	}
	free := v.Free()
	if to := v.s.placeableDriver(); to != nil && free == 0 && starves(now, to.admitted) {
		if a := richest(v, Needy{to, first.Owed}, free, v.s.reduceForDriver(to)); a != nil {
			return giveBack(a, to, "a reduce of {job} that waits for maps gives its container to the driver of {other}"), true
		}
	}
	if b := first.Job; b != nil && free < b.tasks[Map].pending && starves(now, max(b.lastMap, b.ready)) {
		if a := richest(v, first, free, v.s.newestReduce); a != nil {
			return giveBack(a, b, toMap), true
		}
	}
	return r.toOwnMap(v, free)
}

// toOwnMap names a reduce of a job whose reduces hold more than they may while its maps wait.
func (r *ReduceRule) toOwnMap(v *View, free int32) (victim Victim, found bool) {
	for _, j := range v.s.pending[Map].list {
		if j.use.Tasks[Reduce] > 0 && free < j.tasks[Map].pending && j.use.Tasks[Reduce] > r.most(j, free) {
			if a := v.s.newestReduce(j); a != nil {
				return giveBack(a, j, toMap), true
			}
		}
	}
	return Victim{}, false
}

// richest returns a waiting reduce, chosen by which, of the job that holds most among those that owe the needy job a
// container; nil if there is none. Of equals it takes the newest.
func richest(v *View, first Needy, free int32, which func(*Job) *attempt) (a *attempt) {
	most := int32(-1)
	for _, j := range v.s.live.list {
		if j == first.Job || j.use.Tasks[Reduce] == 0 || !j.Waits(Reduce) || j.use.Work() < most || !first.Owed(j, 0, first.Job, free) {
			continue
		}
		if of := which(j); of != nil {
			a, most = of, j.use.Work()
		}
	}
	return a
}

// newestReduce returns the newest reduce of j if it shares its node's containers with maps.
func (s *State) newestReduce(j *Job) *attempt {
	if a := &s.attempts.all[j.tasks[Reduce].head]; !s.nodes[a.Node].cap.Slotted() {
		return a
	}
	return nil
}

// reduceForDriver finds the newest reduce of a job whose place to's driver would take. Any other would be launched
// again in its old place, and give way again, for ever.
func (s *State) reduceForDriver(to *Job) func(*Job) *attempt {
	spare := s.spareTasks(to)
	return func(j *Job) *attempt {
		for at := j.tasks[Reduce].head; at >= 0; at = s.attempts.all[at].nextJob {
			a := &s.attempts.all[at]
			held := s.nodes[a.Node].use
			held.sub(Reduce, a.demand)
			if c := &s.nodes[a.Node].cap; !c.Slotted() && c.fits(&held, Driver, to.demand[Driver]) && s.wantsDriver(a.Node, to, spare) {
				return a
			}
		}
		return nil
	}
}

const toMap = "a reduce of {job} that waits for maps gives its container to a map of {other}"

// giveBack returns the victim for a reduce that gives its container to another job, or its own.
func giveBack(a *attempt, to *Job, say string) Victim {
	return Victim{Task: a.Task, Node: a.Node, Reason: Reason{Code: ForSlowstart, Say: say, Job: a.Task.Job, Other: to.id}}
}

// Follows returns why a reduce of j may have to wait although slow start is over: it would itself wait for maps, which
// come first.
func (r *ReduceRule) Follows(j *Job, k Kind) (Reason, bool) {
	return Reason{
		Code: ForSlowstart, Say: "reduces of {job} follow its maps: {a} run, {b} of {c} maps are done, and maps that wait come first",
		Job: j.id, A: int64(j.Running(Reduce)), B: int64(j.Done(Map)), C: int64(j.Total(Map)),
	}, r.Ramp > 0 && k == Reduce && j.Waits(Reduce)
}

// RampParams binds the parameters of the rule and of its ramp.
func (r *ReduceRule) RampParams() []Param {
	return append(r.Params(), Float(&r.Ramp, "rampup", "ours, after Hadoop's application master",
		"reduces follow their maps: the most of what a job holds that its reduces may hold while maps of it wait; they give way to maps. 0: as published").In(0, 1))
}

// RipeParam binds the rule for reduces that wait for nobody.
func RipeParam(ripe *bool) Param {
	return Bool(ripe, "ripe-first", "ours", "where kinds share containers, reduces whose maps have all ended come first, also past reduce-share; false: as published")
}

// RipeUsually are the values with which a live cluster and sim run start such reduces under policies without a ramp.
// RipeUnless is the parameter that turns this off.
var (
	RipeUsually = map[string]string{"ripe-first": "true"}
	RipeUnless  = []string{"reduce-share"}
)

// Ramped are the values with which a live cluster and sim run let reduces follow maps. RampedUnless are the parameters
// that turn this off: whoever sets them wants a published rule.
var (
	Ramped       = map[string]string{"rampup": "0.5"}
	RampedUnless = []string{"reduce-share", "hold-reduces"}
)
