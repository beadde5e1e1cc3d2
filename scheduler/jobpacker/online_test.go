package jobpacker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// spec/jobpacker 3.15, example 6, and 3.10: the rule for ad-hoc heavy jobs.
func TestAdhocHeavyRule(t *testing.T) {
	r := uniform(t, 2, scheduler.Capacity{Containers: 9})
	r.Submit(recurring(1, 1, 1, 2*gb)) // A: its only map runs in rack 0
	if got := r.offer(0); len(got) != 1 {
		t.Fatalf("rack 0 launched %v", got)
	}
	r.Submit(adhoc(2, 50, 2*gb)) // B, heavy, top of the queue
	r.Submit(adhoc(3, 50, 100))  // C, light
	if got := r.one(0); got != 3 {
		t.Errorf("beside A %v was chosen, want C", got)
	}
	if got := r.one(1); got != 2 {
		t.Errorf("in a rack without heavy tasks %v was chosen, want B", got)
	}
	r.Now = 59 * time.Second
	if got := r.one(0); got != 3 {
		t.Errorf("after 59 s %v was chosen, want C", got)
	}
	r.Now = time.Minute
	if got := r.one(0); got != 2 {
		t.Errorf("after a minute without anything %v was chosen, want B", got)
	}
}

// spec/jobpacker 3.15, example 6: if A is ad hoc and has tasks left, A is chosen
// and B is not.
func TestAdhocHeavyJobStays(t *testing.T) {
	r := uniform(t, 1, scheduler.Capacity{Containers: 9})
	r.Submit(adhoc(1, 50, 2*gb))
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1}, 0, scheduler.Anywhere, false))
	r.Submit(adhoc(2, 50, 2*gb))
	if got := r.one(0); got != 1 {
		t.Errorf("%v was chosen, want A, which is in the rack already", got)
	}
	if why := r.Explain(0, 2); why.Code != scheduler.ForNetwork {
		t.Errorf("B is told %s", why.Text(r.View()))
	}
}

// spec/jobpacker 3.10: entries in order, quotas of ceil(N/width), a head that
// cannot run is passed over (spec/jobpacker 6.8).
func TestLineOfARack(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Order = "online" }, 3, scheduler.Capacity{Containers: 4})
	jobs := []*scheduler.JobSpec{recurring(1, 8, 2, 9*gb), recurring(2, 4, 1, 0)}
	placements := r.p.Plan(0, jobs, r.View())
	if len(placements) != 2 || len(placements[0].MapRacks) != 2 || placements[0].Job != 1 {
		t.Fatalf("placements %+v", placements)
	}
	rack := placements[0].MapRacks[0]
	other := placements[1].MapRacks[0]
	r.Submit(jobs[1]) // the second arrives first
	if got := r.one(topology.NodeID(other)); got != 2 {
		t.Errorf("%v was chosen while the first has not arrived", got)
	}
	r.Submit(jobs[0])
	if got := r.offer(topology.NodeID(rack)); len(got) != 4 || got[0].Job != 1 || got[3].Job != 1 {
		t.Errorf("rack %d launched %v, want four maps of the first", rack, got)
	}
	if why := r.Explain(0, 1); why.Code != scheduler.ForPlan {
		t.Errorf("the first is told %q", why.Text(r.View()))
	}
}

// A job that was announced under a name is recognised under another id.
func TestPlanByName(t *testing.T) {
	r := uniform(t, 3, scheduler.Capacity{Containers: 4})
	said := recurring(7, 4, 1, 4*gb)
	said.Name = "nightly"
	r.p.Plan(0, []*scheduler.JobSpec{said}, r.View())
	came := recurring(31, 4, 1, 4*gb)
	came.Name = "nightly"
	r.Submit(came)
	if w := r.p.widths.guess(scheduler.Map, 8, 3); w != 2 {
		t.Errorf("8 maps are guessed to want %d racks after a plan of 4 in 1", w)
	}
	if q := r.p.record(r.View().Job(31)).plan; q == nil || q.spec != said || len(r.p.expected) != 0 {
		t.Errorf("the plan was not found: %+v", q)
	}
}

// spec/jobpacker 3.10: when a rack fails, the plan of its jobs is ignored.
func TestRackFailure(t *testing.T) {
	r := uniform(t, 3, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 4, 1, 4*gb))
	if r.one(2) != scheduler.NoJob || r.one(0) != 1 {
		t.Fatal("the job is not where it was planned")
	}
	if err := r.NodeLost(0, 0, true, nil); err != nil {
		t.Fatal(err)
	}
	if got := r.offer(2); len(got) != 4 {
		t.Errorf("after its rack failed, another launched %v", got)
	}
	if len(r.p.arrived)+len(r.p.seq[0])+len(r.p.seq[1]) != 0 {
		t.Error("the plan was not dropped")
	}
	r.Submit(recurring(2, 4, 1, 4*gb))
	if q := r.p.record(r.View().Job(2)).plan; slices.Contains(q.racks[0], 0) || slices.Contains(q.racks[1], 0) {
		t.Errorf("a job was planned for the dead rack: %v", q.racks)
	}
}

// Ours: a job whose racks launch nothing is taken off its plan, not before.
func TestStranded(t *testing.T) {
	r := uniform(t, 3, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 4, 1, 4*gb))
	r.Send(scheduler.Ban(1, 0))
	r.Now = 5*time.Minute - 1
	r.p.Tick(r.Now, r.View())
	if r.one(2) != scheduler.NoJob {
		t.Error("left its plan too early")
	}
	r.Now++
	r.p.Tick(r.Now, r.View())
	if r.one(2) != 1 {
		t.Error("is still bound to a rack that may not run it")
	}
}

// Ours: a job that waits for a rack that launches others' tasks is not stranded until the rack has launched none for as long.
func TestBusyRackStrandsNobody(t *testing.T) {
	r := uniform(t, 1, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 8, 1, 4*gb))
	r.offer(0)
	r.Submit(recurring(2, 4, 1, 4*gb))
	r.Now = 4 * time.Minute
	r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1}, 0, time.Second, 0, 0))
	if got := r.offer(0); len(got) != 1 || got[0].Job != 1 {
		t.Fatalf("the rack launched %v, want a map of the first job", got)
	}
	for _, x := range []struct {
		at    time.Duration
		bound bool
	}{{5 * time.Minute, true}, {9*time.Minute - 1, true}, {9 * time.Minute, false}} {
		r.Now = x.at
		r.p.Tick(r.Now, r.View())
		if bound := r.p.record(r.View().Job(2)).plan != nil; bound != x.bound {
			t.Errorf("after %v the job keeps its plan: %v, want %v", x.at, bound, x.bound)
		}
	}
}

// spec/jobpacker 3.4: slow start 0.7.
func TestSlowstart(t *testing.T) {
	r := uniform(t, 1, scheduler.Capacity{MapSlots: 10, ReduceSlots: 1})
	r.Submit(recurring(1, 10, 1, 0))
	r.offer(0)
	for i := range int32(7) {
		if r.one(0) != scheduler.NoJob {
			t.Fatalf("the reduce was started after %d of 10 maps", i)
		}
		r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1, Index: i}, 0, time.Second, 0, 0))
	}
	if r.one(0) != 1 {
		t.Error("the reduce was not started after 7 of 10 maps")
	}
}

// spec/jobpacker 3.12: widths of ad-hoc jobs are guessed from planned ones, and
// their maps keep to racks with data.
func TestAdhocAggregation(t *testing.T) {
	r := newRig(t, func(c *Config) { c.AggregateAdhoc = true }, 4, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 4, 2, 2*gb)) // 1 map rack for 4 maps
	if w := r.p.widths.guess(scheduler.Map, 8, 4); w != 2 {
		t.Errorf("8 maps are guessed to want %d racks, want 2", w)
	}
	s := adhoc(2, 4, 2*gb)
	for range s.Maps {
		s.Splits.Add(gb/2, 2, 3)
	}
	r.Submit(s)
	q := r.p.record(r.View().Job(2)).limit
	if q == nil || len(q.racks[0]) != 1 || q.racks[0][0] < 2 {
		t.Fatalf("confined to %+v, want one of racks 2 and 3", q)
	}
	for n := range topology.NodeID(4) {
		for _, task := range r.offer(n) {
			if task.Job == 2 && n != topology.NodeID(q.racks[0][0]) {
				t.Errorf("%v was launched on %d", task, n)
			}
		}
	}
	first, others := r.p.Scatter(8, func(int, func(int, int)) {}, r.View())
	if len(first) != 2 || len(others) != 2 || slices.Contains(first, others[0]) {
		t.Errorf("blocks go to %v and %v", first, others)
	}
}

func TestConfigRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"order":             func(c *Config) { c.Order = "random" },
		"sub-batches":       func(c *Config) { c.SubBatches = 0 },
		"over-provisioning": func(c *Config) { c.Overprovision = -1 },
		"threshold":         func(c *Config) { c.Threshold = -1 },
		"rates":             func(c *Config) { c.Optical = -1 },
		"plan-max-wait":     func(c *Config) { c.PlanMaxWait = 0 },
	} {
		c := DefaultConfig()
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// spec/jobpacker 3.10: a rack runs no more than ceil(N/width) tasks of a job, room
// or not.
func TestQuota(t *testing.T) {
	r := uniform(t, 2, scheduler.Capacity{Containers: 6})
	r.Submit(recurring(1, 8, 1, 9*gb)) // 8 maps want two racks
	if got := r.offer(0); len(got) != 4 {
		t.Errorf("rack 0 launched %v, want four maps on six containers", got)
	}
}

// spec/jobpacker 5, item 9: a job that is not heavy runs as many tasks in a rack as the plan took containers there, not
// ceil(N/width). Here seven maps find one container of rack 0 free and all six of rack 1.
func TestQuotaOfLightJobs(t *testing.T) {
	r := uniform(t, 2, scheduler.Capacity{Containers: 6})
	r.Submit(recurring(1, 5, 0, 0))
	r.Submit(recurring(2, 7, 0, 0))
	q := r.p.record(r.View().Job(2)).plan
	if q.heavy || !slices.Equal(q.taken[0], []int{1, 6}) {
		t.Fatalf("plan %+v", q)
	}
	for rack, want := range []int{1, 6} {
		got := 0
		for _, task := range r.offer(topology.NodeID(rack)) {
			if task.Job == 2 {
				got++
			}
		}
		if got != want {
			t.Errorf("rack %d launched %d maps of the job, want %d", rack, got, want)
		}
	}
}

// A plan is kept by name for a job that comes with other numbers of tasks: the racks' parts stay in proportion and
// together have room for all.
func TestPartsOfAPlan(t *testing.T) {
	q := &plan{racks: [kinds][]topology.RackID{{2, 5, 7}}, taken: [kinds][]int{{1, 6, 3}}}
	for n, want := range map[int][]int{10: {1, 6, 3}, 20: {2, 12, 6}, 4: {1, 3, 2}, 0: {0, 0, 0}} {
		var got []int
		for _, r := range q.racks[0] {
			got = append(got, q.part(n, scheduler.Map, r))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d tasks: %v, want %v", n, got, want)
		}
	}
}

// With reduce-share 1 reduces of a job without a plan may fill every container that its maps need; the deadlock rule then
// takes one back. A planned job's maps stand before its reduces in every line, and with half of the containers it does not
// come to that either.
func TestReduceShareOfOne(t *testing.T) {
	for _, c := range []struct {
		share           float64
		planned, locked bool
	}{{1, false, true}, {1, true, false}, {0.5, false, false}} {
		r := newRig(t, func(cfg *Config) { cfg.Reduces = scheduler.ReduceRule{Slowstart: 0, Share: c.share} }, 2, scheduler.Capacity{Containers: 4})
		s := recurring(1, 16, 8, gb)
		s.Recurring = c.planned
		r.Submit(s)
		for range 16 { // maps end one by one, and what they leave is given away
			r.offer(0)
			r.offer(1)
			for a := range r.View().Attempts(r.View().Job(1), scheduler.Map) {
				r.Send(scheduler.TaskFinished(a.Task, a.Node, time.Second, 0, 0))
				break
			}
		}
		victim, locked := scheduler.Deadlock(r.View())
		if locked != c.locked || locked && victim.Task.Kind != scheduler.Reduce {
			t.Errorf("share %g, planned %v: locked up is %v, the victim %v", c.share, c.planned, locked, victim.Task)
		}
	}
}

// Ours: reduces keep to their share of a rack while planned maps wait there,
// even maps that this node may not run.
func TestReducesLeaveRoomForMaps(t *testing.T) {
	for _, banned := range []bool{false, true} {
		r := uniform(t, 2, scheduler.Capacity{Containers: 4})
		r.Submit(recurring(1, 1, 4, 4*gb)) // map in rack 0, four reduces in rack 1
		r.offer(0)
		r.Submit(recurring(2, 8, 0, 0)) // maps in both racks
		r.finishMaps(1, 1)
		want := [kinds]int{2, 2}
		if banned {
			r.Send(scheduler.Ban(2, 1))
			want[scheduler.Map] = 0
		}
		var got [kinds]int
		for _, task := range r.offer(1) {
			got[task.Kind]++
		}
		if got != want {
			t.Errorf("banned %v: rack 1 launched %v maps and reduces, want %v", banned, got, want)
		}
	}
}

// spec/jobpacker 3.10: the rack of an announced job fails before it arrives.
func TestRackFailureBeforeArrival(t *testing.T) {
	r := uniform(t, 3, scheduler.Capacity{Containers: 4})
	s := recurring(1, 4, 1, 4*gb)
	racks := r.p.Plan(0, []*scheduler.JobSpec{s}, r.View())[0].MapRacks
	if err := r.NodeLost(0, topology.NodeID(racks[0]), true, nil); err != nil {
		t.Fatal(err)
	}
	r.Submit(s)
	if q := r.p.record(r.View().Job(1)).plan; q != nil {
		t.Errorf("follows a plan with the dead rack %d: %v", racks[0], q.racks)
	}
	if got := r.offer(2); len(got) != 4 {
		t.Errorf("another rack launched %v", got)
	}
}

// A recurring job of unknown task times has no plan, but its shuffle is known.
func TestKnownShuffleWithoutPlan(t *testing.T) {
	r := uniform(t, 1, scheduler.Capacity{Containers: 4})
	for id, shuffle := range []int64{1_124_999_999, 1_125_000_000} {
		s := recurring(scheduler.JobID(id), 1, 1, shuffle)
		s.MapTime, s.Input = 0, scheduler.Bytes(100*gb)
		r.Submit(s)
		if rec := r.p.record(r.View().Job(s.ID)); rec.plan != nil || rec.heavy != (id == 1) {
			t.Errorf("%d bytes of shuffle: heavy %v", shuffle, rec.heavy)
		}
	}
	unknown := &scheduler.JobSpec{ID: 7, Maps: 1, Reduces: 1}
	r.Submit(unknown)
	if !r.p.record(r.View().Job(7)).heavy {
		t.Error("a job of unknown size is not taken for heavy")
	}
}

// Time in which a job's reduces may not start yet is no waiting for their racks.
func TestNotStrandedBeforeSlowstart(t *testing.T) {
	r := uniform(t, 2, scheduler.Capacity{Containers: 4})
	r.Submit(recurring(1, 4, 4, 2*gb))
	r.offer(0)
	for ; r.Now < 20*time.Minute; r.Now += time.Minute {
		r.p.Tick(r.Now, r.View())
	}
	r.finishMaps(1, 1)
	r.Now += time.Second
	r.p.Tick(r.Now, r.View())
	if r.p.record(r.View().Job(1)).plan == nil {
		t.Error("left its plan as soon as its reduces could start")
	}
}
