package deadline

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/millrace/millrace/scheduler"
)

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// spec/deadline 3.3, the test vector: lengths 10, 20, 30; two running for 5 and
// 25 s; 17 not started; 100 s to the goal.
func TestVector33(t *testing.T) {
	mu := Mean(60, 3)
	near(t, "mu", mu, 20)
	p := Population{Mean: mu, Running: 2, NotStarted: 17, Left: Delta(mu, 5, true) + Delta(mu, 25, true)}
	near(t, "pending", p.Pending(), 355)
	need := Need(p.Pending(), 100)
	near(t, "need", need, 3.55)
	near(t, "s_req", Deficit(need, 2), 1.55)
	if n := Allowed(Deficit(need, 2)); n != 2 {
		t.Errorf("%d new slots, want 2", n)
	}
	// One slot more: a task leaves U and enters R with delta = mu.
	p = Population{Mean: mu, Running: 3, NotStarted: 16, Left: p.Left + mu}
	near(t, "pending after a grant", p.Pending(), 355)
	near(t, "s_req after a grant", Deficit(Need(p.Pending(), 100), 3), 0.55)
	near(t, "without the clamp", Delta(20, 25, false), -5)
}

// The same vector through the policy: its running sums give what the formulas do.
func TestVector33InThePolicy(t *testing.T) {
	p := policy(t, false, nil)
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 30})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 22, Deadline: 125 * second})
	j := r.View().Job(1)
	for i, d := range []time.Duration{10, 20, 30} {
		r.done(1, int32(i), d*second)
	}
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: 3}, 0, scheduler.Anywhere, false))
	r.Now = 20 * second
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: 4}, 0, scheduler.Anywhere, false))
	r.Now = 25 * second
	e := p.Estimate(r.Now, j, scheduler.Map)
	near(t, "mu", e.Mean, 20)
	near(t, "pending", e.Pending, 355)
	near(t, "need", e.Need, 3.55)
	near(t, "s_req", e.Deficit, 1.55)
	r.Want(r.Serve(0), 1, 1) // two new slots, then it has enough
	near(t, "s_req after two grants", p.Estimate(r.Now, j, scheduler.Map).Deficit, -0.45)
	if why := r.Explain(r.Now, 1); why.Code != scheduler.NotNeeded {
		t.Errorf("a job ahead of its goal is %v: %s", why.Code, why.Text(r.View()))
	}
}

// spec/deadline 3.3: s_req falls by exactly 1 for each slot given, rises when a
// task completes, and as time passes without progress.
func TestDeficitMoves(t *testing.T) {
	p := policy(t, true, nil)
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 30})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 100, Deadline: 1000 * second})
	j := r.View().Job(1)
	r.done(1, 0, 50*second)
	deficit := func() float64 { return p.Estimate(r.Now, j, scheduler.Map).Deficit }
	before := deficit()
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: 1}, 0, scheduler.Anywhere, false))
	near(t, "after a grant", deficit(), before-1)
	granted := deficit()
	r.Now = 50 * second
	r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1, Index: 1}, 0, 0, 0, 0))
	if deficit() <= granted {
		t.Error("a completion did not raise the deficit")
	}
	idle := deficit()
	r.Now = 100 * second
	if deficit() <= idle {
		t.Error("time without progress did not raise the deficit")
	}
}

// spec/deadline 3.4: submit -> NODATA -> ADJUST -> UNDEAD, which is final.
func TestStates34(t *testing.T) {
	p := policy(t, false, nil)
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 1})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9, Deadline: 60 * second}, &scheduler.JobSpec{ID: 2, Maps: 9, Deadline: 60 * second})
	state := func(id scheduler.JobID, want State) {
		t.Helper()
		if got := p.Estimate(r.Now, r.View().Job(id), scheduler.Map).State; got != want {
			t.Errorf("at %v j%d is %v, want %v", r.Now, id, got, want)
		}
	}
	state(1, NoData)
	r.done(1, 0, second)
	state(1, Adjust)
	r.Now = 60*second - 1
	state(1, Adjust)
	state(2, NoData)
	r.Now = 60 * second // the goal itself is missed: eq. 3 is not evaluated (spec/deadline 3.7)
	state(1, Undead)
	state(2, Undead)
}

// spec/deadline 3.5 and 5, item 14: UNDEAD before NODATA before ADJUST in every
// decision; inside NODATA the oldest.
func TestOrder35(t *testing.T) {
	for _, max := range []bool{false, true} {
		r := newRig(t, policy(t, max, nil), 1, scheduler.Capacity{MapSlots: 8})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 5, Deadline: 2000 * second}) // ADJUST
		r.done(1, 0, 1000*second)
		r.Submit(
			&scheduler.JobSpec{ID: 2, Maps: 2, Deadline: 900 * second}, &scheduler.JobSpec{ID: 3, Maps: 2, Deadline: 800 * second}, // NODATA
			&scheduler.JobSpec{ID: 4, Maps: 2, Deadline: 10 * second}, // UNDEAD
		)
		r.Now = 20 * second
		r.Want(r.Serve(0), 4, 4, 2, 2, 3, 3, 1, 1)
	}
}

// spec/deadline 3.5: inside ADJUST the larger s_req first, again after each grant,
// so that what is missing evens out.
func TestAdjustEvensOut(t *testing.T) {
	p := policy(t, true, nil)
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 12})
	for id := range scheduler.JobID(2) {
		r.Submit(&scheduler.JobSpec{ID: id, Maps: 101, Deadline: time.Duration(id+1) * 100 * second})
		r.done(id, 0, 10*second)
	}
	r.Serve(0) // needs 10 and 5: 12 slots leave 3 missing; the older job gets the odd one
	near(t, "deficit of j0", p.Estimate(0, r.View().Job(0), scheduler.Map).Deficit, 1)
	near(t, "deficit of j1", p.Estimate(0, r.View().Job(1), scheduler.Map).Deficit, 2)
}

// spec/deadline 3.6: min leaves slots free that nobody needs, max does not; the
// number running never exceeds ceil(need) under min.
func TestMinAndMax(t *testing.T) {
	for max, want := range map[bool]int{false: 3, true: 10} {
		p := policy(t, max, nil)
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 10})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 26, Deadline: 100 * second})
		r.done(1, 0, 10*second) // 250 s of work in 100 s: need 2.5
		if got := len(r.Serve(0)); got != want {
			t.Errorf("max %v: %d slots, want %d", max, got, want)
		}
		near(t, "surplus (eq. 4)", p.Surplus(0, scheduler.Map, r.View()), 7.5)
	}
}

// spec/deadline 3.7: need below 1 still gives one slot, so nobody is starved.
func TestNeedBelowOne(t *testing.T) {
	r := newRig(t, policy(t, false, nil), 1, scheduler.Capacity{MapSlots: 9})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3, Deadline: 1e6 * second})
	r.done(1, 0, second)
	r.Want(r.Serve(0), 1)
}

// spec/deadline 3.7: a job without a goal runs under max, or when alone.
func TestNoGoal(t *testing.T) {
	for max, want := range map[bool]int32{false: 0, true: 2} {
		r := newRig(t, policy(t, max, nil), 1, scheduler.Capacity{MapSlots: 4})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3, Deadline: 1e6 * second})
		r.done(1, 0, second)
		r.Submit(&scheduler.JobSpec{ID: 2, Maps: 9})
		r.Serve(0)
		if got := r.View().Job(2).Running(scheduler.Map); got != want {
			t.Errorf("max %v: a job without a goal holds %d, want %d", max, got, want)
		}
		r.Send(scheduler.JobVanished(1))
		r.Serve(0)
		if got := r.View().Job(2).Running(scheduler.Map); got != 4 {
			t.Errorf("max %v: alone it holds %d of 4", max, got)
		}
	}
}

// spec/deadline 3.7: a goal very near gives a huge need; shown it is capped at the
// number of tasks. A failed task is no sample.
func TestNearGoalAndFailure(t *testing.T) {
	p := policy(t, false, nil)
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 9})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 8, Deadline: 10 * second})
	r.done(1, 0, 4*second)
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: 1}, 0, scheduler.Anywhere, false))
	r.Now = 10*second - 1
	e := p.Estimate(r.Now, r.View().Job(1), scheduler.Map)
	if e.Need != 7 || e.Deficit < 1e9 {
		t.Errorf("need %g and deficit %g, want 7 and something huge", e.Need, e.Deficit)
	}
	r.Send(scheduler.TaskFailed(scheduler.TaskID{Job: 1, Index: 1}, 0))
	near(t, "mu after a failure", p.Estimate(r.Now, r.View().Job(1), scheduler.Map).Mean, 4)
}

// spec/deadline 3.2: until a reduce has finished it costs ratio times a map; pooled
// adds it to the map need, staged takes the reduce phase off the time.
func TestReduces32(t *testing.T) {
	for _, tc := range []struct {
		staged, tail bool
		need         float64
	}{
		{false, false, (90 + 3*20) / 100.0},
		{true, false, 90 / (100 - 2*20.0)},     // 3 reduces on 2 slots: 2 waves of 20 s
		{false, true, 150 / (100 - 2*20 - 10)}, // spec/deadline 6.5: and one longest map
		{true, true, 90 / (100 - 2*20 - 10.0)},
	} {
		p := policy(t, false, func(c *Config) { c.Staged, c.TailReserve = tc.staged, tc.tail })
		r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 30, ReduceSlots: 2})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 10, Reduces: 3, ReduceCostRatio: 2, Deadline: 100 * second})
		r.done(1, 0, 10*second)
		e := p.Estimate(0, r.View().Job(1), scheduler.Map)
		near(t, "need", e.Need, tc.need)
		if at, ok := p.Forecast(0, r.View().Job(1), 1); !ok || at != 90+40 {
			t.Errorf("forecast with one slot: %g", at)
		}
		red := p.Estimate(0, r.View().Job(1), scheduler.Reduce)
		near(t, "mean of a reduce", red.Mean, 20)
	}
}

// spec/deadline 3.2, item 6: the time a reduce waited for maps is not its length,
// and its remaining time counts from the last map.
func TestReducesWaiting(t *testing.T) {
	p := policy(t, true, nil)
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 2, ReduceSlots: 2})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 2, Reduces: 2, Deadline: 1000 * second})
	j := r.View().Job(1)
	r.done(1, 0, 10*second)
	r.Serve(0)
	r.Now = 100 * second
	near(t, "waiting reduces", p.Estimate(r.Now, j, scheduler.Reduce).Pending, 20)
	r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1, Index: 1}, 0, 30*second, 0, 0))
	r.Now = 105 * second
	near(t, "reduces 5 s after the last map", p.Estimate(r.Now, j, scheduler.Reduce).Pending, 2*(20-5))
	r.Now = 107 * second
	r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1, Kind: scheduler.Reduce}, 0, 0, 0, 0))
	near(t, "mean of a reduce", p.Estimate(r.Now, j, scheduler.Reduce).Mean, 7)
}

// spec/deadline 3.1 and 3.2: the forecast is staged; 4.2: J1 alone needs
// 3549*60/6000 = 35.5 slots.
func TestForecastAndNeeds(t *testing.T) {
	near(t, "forecast", Forecast(100, 600, 6, 75), 275)
	near(t, "relErr", RelErr(110, 100), 0.1)
	for _, tc := range []struct{ isolated, goal, want float64 }{{3549, 6000, 35.49}, {1264, 3000, 25.28}, {101, 150, 40.4}, {101, 120, 50.5}} {
		near(t, "need", Need(tc.isolated*60, tc.goal), tc.want)
	}
	near(t, "first phase of the simulator (4.3)", 20.0*6000/6400, 18.75)
}

// spec/deadline 6.6: late jobs by lateness, or by lateness over the time given.
func TestUndeadKeys(t *testing.T) {
	for relative, want := range map[bool]scheduler.JobID{false: 1, true: 2} {
		r := newRig(t, policy(t, true, func(c *Config) { c.Relative = relative }), 1, scheduler.Capacity{MapSlots: 1})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 40, Deadline: 100 * second}, &scheduler.JobSpec{ID: 2, Maps: 5, Deadline: 10 * second})
		r.done(1, 0, 10*second)
		r.done(2, 0, 10*second)
		r.Now = 100 * second // late by 390 of 100 s, and 130 of 10 s
		r.Want(r.Serve(0), want)
	}
}

func TestValidate(t *testing.T) {
	for _, ratio := range []float64{0, -1, math.NaN()} {
		c := DefaultConfig(true)
		c.ReduceCostRatio = ratio
		if _, err := New(c); err == nil {
			t.Errorf("ratio %g was accepted", ratio)
		}
	}
}

// What is shown of each job with a goal (spec/deadline 7): its needs, and when it will be done with the slots that it has, once something is known.
func TestFigures(t *testing.T) {
	p := policy(t, false, nil)
	r := newRig(t, p, 1, scheduler.Capacity{MapSlots: 30, ReduceSlots: 20})
	r.Submit(
		&scheduler.JobSpec{ID: 1, Maps: 11, Reduces: 2, Deadline: 100 * second}, &scheduler.JobSpec{ID: 2, Maps: 4, Reduces: 3, Deadline: 100 * second},
		&scheduler.JobSpec{ID: 3, Maps: 5}, &scheduler.JobSpec{ID: 4, Maps: 5, Deadline: 100 * second, HasDriver: true},
	)
	r.done(1, 0, 10*second)
	for i := range int32(2) {
		r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Index: 1 + i}, 0, scheduler.Anywhere, false))
	}
	r.Now = 20 * second
	got := map[string]float64{}
	for _, f := range r.Engine.Figures(r.Now) {
		name := f.Name
		if f.Job != scheduler.NoJob {
			name = f.Job.String() + " " + name
		}
		got[name] = f.Value
	}
	// Of job 1 two maps have run for longer than the mean: 8 are left of 10 s, and two reduces as long; 80 s are left.
	want := map[string]float64{
		"j1 need-maps": (80 + 20) / 80.0, "j1 need-reduces": 20 / 80.0, "j1 forecast": 20 + 80/2.0 + 10, "j1 late": 70 - 100,
		"j2 need-maps": 4, "j2 need-reduces": 3, // nothing is known about it
		"surplus-maps": 30 - 1.25 - 4, "surplus-reduces": 20 - 0.25 - 3, // and job 3 wants what is left, job 4 is not ready
	}
	if d := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); d != "" {
		t.Error(d)
	}
}
