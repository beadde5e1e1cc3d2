package jobpacker

import (
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// kinds of task that are planned: maps and reduces.
const kinds = int(scheduler.Driver)

// A plan is what was decided for one recurring job.
type plan struct {
	spec    *scheduler.JobSpec
	profile Profile
	heavy   bool                     // packed for circuits
	racks   [kinds][]topology.RackID // ascending
	// taken is how many containers each rack gave, beside racks; nil: as many each.
	taken   [kinds][]int
	arrival time.Duration
	start   time.Duration // of its first task, as planned
	end     time.Duration // of its last task, as planned
	job     *scheduler.Job
}

// width returns on how many racks tasks of kind k run.
func (p *plan) width(k scheduler.Kind) int { return len(p.racks[k]) }

// part returns how many of n tasks of kind k belong in rack r: as many in each, ceil(N/width), or as the plan took
// containers there (spec/jobpacker 5, item 9).
func (p *plan) part(n int, k scheduler.Kind, r topology.RackID) int {
	if p.taken[k] == nil {
		return ceilDiv(n, p.width(k))
	}
	sum, here := 0, 0
	for i, t := range p.taken[k] {
		sum += t
		if p.racks[k][i] == r {
			here = t
		}
	}
	return ceilDiv(n*here, sum)
}

// A planner decides on which racks jobs run. It remembers what it gave away.
type planner interface {
	// reset forgets everything and takes the cluster as it is.
	reset(v *scheduler.View)
	// reserve enters a plan that was made before the reset.
	reserve(p *plan)
	// plan decides for jobs that arrive at their Submit time or now, whichever is
	// later, and returns the plans in the order in which racks shall serve them.
	// A job that cannot be planned is left out.
	plan(now time.Duration, jobs []*scheduler.JobSpec) []*plan
	// keep plans and reserves a job for the racks of its earlier plan.
	keep(now time.Duration, s *scheduler.JobSpec) *plan
	// why returns why a job has so many racks.
	why(p *plan) string
}

// plannable reports whether enough is known about a job.
func plannable(s *scheduler.JobSpec) bool {
	return s.Recurring && s.Maps > 0 && s.MapTime > 0 && s.Shuffle.Known && (s.Reduces == 0 || s.ReduceTime > 0)
}

func profileOf(s *scheduler.JobSpec) Profile {
	return Profile{Maps: int(s.Maps), Reduces: int(s.Reduces), MapTime: s.MapTime, ReduceTime: s.ReduceTime, Shuffle: s.Shuffle.Bytes}
}

// A draft is a job on its way into the plan.
type draft struct {
	spec     *scheduler.JobSpec
	profile  Profile
	arrival  time.Duration
	feasible []Pair
	width    float64
	length   time.Duration
}

// packer is JobPacker's offline planner (spec/jobpacker 3.7).
type packer struct {
	cfg   *Config
	model Model
	racks []topology.RackID
	// free has, by kind and by index in racks, when places become free. Where maps
	// and reduces share containers only the first is used.
	free     [kinds][]slotTimes
	shared   bool
	circuits bool // the cluster has circuits; plans assume them in any case
}

var _ planner = (*packer)(nil)

func (k *packer) reset(v *scheduler.View) {
	k.model = k.cfg.model(v.Topology())
	k.racks, k.free, k.circuits = nil, [kinds][]slotTimes{}, v.Topology().OCS().Present()
	total := v.Total()
	k.shared = total.Slots[scheduler.Driver] > 0
	for r := range topology.RackID(v.Topology().NumRacks()) {
		room := v.RackTotal(r)
		if room.Slots[scheduler.Map] == 0 {
			continue
		}
		k.racks = append(k.racks, r)
		for kind := range k.free {
			var s slotTimes
			if n := int(room.Slots[kind]); n > 0 {
				s = slotTimes{{0, n}}
			}
			k.free[kind] = append(k.free[kind], s)
		}
	}
	if k.model.Racks = len(k.racks); k.model.Racks > 0 {
		k.model.MapSlots = max(int(total.Slots[scheduler.Map])/k.model.Racks, 1)
		k.model.ReduceSlots = max(int(total.Slots[scheduler.Reduce])/k.model.Racks, 1)
	}
}

func (k *packer) reserve(p *plan) {
	from := p.arrival
	for kind, length := range [kinds]time.Duration{p.profile.MapTime, p.profile.ReduceTime} {
		pool, end := k.pool(scheduler.Kind(kind)), from
		tasks := k.provision([kinds]int{p.profile.Maps, p.profile.Reduces}[kind])
		for _, r := range p.racks[kind] {
			if i, ok := slices.BinarySearch(k.racks, r); ok && len(pool[i]) > 0 {
				var last time.Duration
				pool[i], last = pool[i].fill(p.part(tasks, scheduler.Kind(kind), r), from, length)
				end = max(end, last)
			}
		}
		from = end + k.shuffle(p)
	}
}

func (k *packer) shuffle(p *plan) time.Duration {
	w := Pair{p.width(scheduler.Map), p.width(scheduler.Reduce)}
	if p.heavy {
		return k.model.ShuffleStage(&p.profile, w)
	}
	return k.model.electricalShuffle(&p.profile, w)
}

func (k *packer) pool(kind scheduler.Kind) []slotTimes {
	if k.shared {
		return k.free[scheduler.Map]
	}
	return k.free[kind]
}

// provision returns how many containers are planned for n tasks (spec/jobpacker 3.8).
func (k *packer) provision(n int) int { return int(math.Ceil((1 + k.cfg.Overprovision) * float64(n))) }

func (k *packer) keep(now time.Duration, s *scheduler.JobSpec) *plan {
	p := kept(now, s)
	p.heavy = len(k.model.Feasible(&p.profile)) > 0
	k.reserve(p)
	return p
}

// kept is an earlier plan.
func kept(now time.Duration, s *scheduler.JobSpec) *plan {
	at := max(now, s.Submit)
	return &plan{spec: s, profile: profileOf(s), racks: [kinds][]topology.RackID{s.MapRacks, s.ReduceRacks}, arrival: at, start: at}
}

func (k *packer) plan(now time.Duration, jobs []*scheduler.JobSpec) []*plan {
	var drafts []*draft
	for _, s := range jobs {
		d := &draft{spec: s, profile: profileOf(s), arrival: max(now, s.Submit)}
		d.feasible = k.model.Feasible(&d.profile)
		d.width, d.length = k.model.Width(&d.profile, d.feasible), k.model.length(&d.profile, d.feasible)
		drafts = append(drafts, d)
	}
	var plans []*plan
	for _, d := range k.cfg.order(drafts) {
		var p *plan
		if len(d.feasible) > 0 {
			p = k.planHeavy(d)
		} else {
			p = k.planLight(d)
		}
		if p != nil {
			plans = append(plans, p)
		}
	}
	return plans
}
