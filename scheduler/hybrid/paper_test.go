package hybrid

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if math.Abs(got-want) > by {
		t.Errorf("%s is %g, want %g", what, got, want)
	}
}

// spec/hybrid 2.2 and 2.6(a): crosspoints of 17.45 GB without shuffle, 32 GB for
// TeraSort (as much shuffle as input), 64 GB for WordCount (1.6 times), never
// above.
func TestCrosspoints(t *testing.T) {
	r := Rule{Scale: 1}
	for _, tc := range []struct{ shuffle, want float64 }{{0, 17.45}, {32, 32}, {102.4, 64}, {1000, 64}, {20, 26.5}} {
		near(t, "crosspoint", r.Crosspoint(tc.shuffle*gigabyte)/gigabyte, tc.want, 0.05)
	}
	near(t, "crosspoint with g = 6", Rule{Scale: 6}.Crosspoint(1e15)/gigabyte, 6*64, 0.3)
}

// spec/hybrid 3.9, example 1.
func TestLabelRule(t *testing.T) {
	c := ByRule{Rule{Scale: 1}}
	s := &scheduler.JobSpec{Input: scheduler.Bytes(20 * gigabyte), Shuffle: scheduler.Bytes(0), Recurring: true}
	if small, f := c.Classify(s); small || f >= 0 {
		t.Error("20 GB without shuffle is called small")
	}
	s.Shuffle = scheduler.Bytes(20 * gigabyte)
	if small, f := c.Classify(s); !small || f <= 0 {
		t.Error("20 GB with 20 GB of shuffle is called large")
	}
	s.Recurring = false
	if small, _ := c.Classify(s); small {
		t.Error("the same job, not recurring, is called small: not the safe side")
	}
	blocks := &scheduler.JobSpec{Maps: 131} // 17.6 GB in blocks of 128 MiB
	if small, _ := c.Classify(blocks); small {
		t.Error("131 blocks of unknown size are called small")
	}
	blocks.Splits.Add(5)
	if small, _ := c.Classify(blocks); !small {
		t.Error("the sizes of splits are not looked at")
	}
}

// spec/hybrid 2.6(b): rho is 1.7 at 0, 1 at the crosspoint, 0.65 at infinity; 3.9,
// example 2: half the crosspoint gives 1.175, and 80 maps 0.426.
func TestSpeed(t *testing.T) {
	s := DefaultSpeed()
	cross := s.Rule.Crosspoint(0)
	for _, tc := range []struct{ at, want float64 }{{0, 1.7}, {0.5, 1.175}, {1, 1}, {1e9, 0.65}} {
		near(t, "rho", s.Rho(tc.at*cross, 0), tc.want, 1e-6)
	}
	near(t, "f_up of 80 maps", s.Factor(80, cross/2, 0), 0.426, 0.0005)
	near(t, "f_up of one wave", s.Factor(10, 0, 0), 0.588, 0.0005)
	near(t, "f_up of a huge job", s.Factor(1_000_000, 1e18, 0), 0.923, 0.0005)
	s.TwoLevel, s.LargeFactor = true, 1.54
	near(t, "two-level, small", s.Factor(80, cross/2, 0), 0.588, 0.0005)
	near(t, "two-level, pessimistic", s.Factor(80, cross*2, 0), 1.54, 0)
}

// spec/hybrid 3.9, example 3: of the unstarted jobs with f = 1.2, 0.3 and 0.9 the
// 0.3 job moves, not the started one with 0.1.
func TestStealsNearestTheBoundary(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier = byID{1: 0.1, 2: 1.2, 3: 0.3, 4: 0.9} })
	r.Submit(job(1, 2))
	if r.offer(1) != 1 { // takes the only scale-up container
		t.Fatal("the small job did not start on scale-up")
	}
	for id := scheduler.JobID(2); id <= 4; id++ {
		r.Submit(job(id, 2))
	}
	if got := r.offer(0); got != 3 {
		t.Errorf("%v was stolen, want 3", got)
	}
	if home := r.p.records.Of(r.View().Job(3)).home; home != out {
		t.Error("the stolen job did not move for good")
	}
	if _, ok := scheduler.Policy(r.p).(scheduler.Explainer); !ok || r.Explain(0, 2).Say == "" {
		t.Error("no explanation for a waiting job")
	}
}

// spec/hybrid 3.9, example 4: a free scale-up container stays idle beside a full
// scale-out queue; a scale-out job with a runnable task prevents stealing.
func TestOneDirectionOnly(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier, c.StealOnlyIfUpBusy = byID{1: -1, 2: 0.1}, false })
	r.Submit(job(1, 9))
	if got := r.offer(1); got != scheduler.NoJob {
		t.Errorf("a scale-up machine ran %v, which is large", got)
	}
	r.Submit(job(2, 1))
	if got := r.offer(0); got != 1 {
		t.Errorf("scale-out ran %v, want 1", got)
	}
	if home := r.p.records.Of(r.View().Job(2)).home; home != up {
		t.Error("a small job was stolen although a large one had tasks to run")
	}
}

// spec/hybrid 3.3 and 6.7: no stealing while a scale-up container is free, unless
// the guard is off.
func TestStealGuard(t *testing.T) {
	for _, guard := range []bool{true, false} {
		r := newRig(t, 1, 1, func(c *Config) { c.Classifier, c.StealOnlyIfUpBusy = byID{1: 1}, guard })
		r.Submit(job(1, 2))
		want := scheduler.JobID(1)
		if guard {
			want = scheduler.NoJob
		}
		if got := r.offer(0); got != want {
			t.Errorf("guard %v: scale-out ran %v, want %v", guard, got, want)
		}
	}
}

// spec/hybrid 3.3: one steal per heartbeat; 3.7: none without job stealing, and
// any job anywhere without classification.
func TestVariants(t *testing.T) {
	r := newRig(t, 2, 1, func(c *Config) { c.Classifier = byID{1: 1, 2: 2, 3: 3} })
	r.Send(scheduler.NodeUpdated(0, scheduler.Capacity{Containers: 2}))
	r.Submit(job(1, 1))
	r.offer(2)
	r.Submit(job(2, 1))
	r.Submit(job(3, 1))
	launched := 0
	if _, err := r.Offer(0, 0, func(scheduler.Decision) { launched++ }); err != nil || launched != 1 {
		t.Errorf("one heartbeat stole %d jobs, want 1", launched)
	}
	if got := r.offer(1); got != 3 {
		t.Errorf("the next heartbeat stole %v, want 3", got)
	}
	r = newRig(t, 1, 1, func(c *Config) { c.Classifier, c.Steal, c.StealOnlyIfUpBusy = byID{1: 1}, false, false })
	r.Submit(job(1, 1))
	if got := r.offer(0); got != scheduler.NoJob {
		t.Errorf("%v was stolen without stealing", got)
	}
	r = newRig(t, 1, 1, func(c *Config) { c.Classifier, c.Classify = byID{1: 1, 2: -1}, false })
	r.Submit(job(1, 1))
	r.Submit(job(2, 1))
	if a, b := r.offer(0), r.offer(1); a != 1 || b != 2 {
		t.Errorf("without classification %v and %v ran, want 1 and 2", a, b)
	}
}

// Ours: a class without nodes gives its jobs to the other, and so does one that
// may not run a job.
func TestClassWithoutNodes(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier, c.Steal = byID{1: 1, 2: -1}, false })
	r.Submit(job(1, 1))
	if err := r.NodeLost(0, 1, true, nil); err != nil {
		t.Fatal(err)
	}
	if got := r.offer(0); got != 1 {
		t.Errorf("scale-out ran %v after scale-up died, want 1", got)
	}
	r.Send(scheduler.NodeUp(1, scheduler.Capacity{Containers: 1}))
	r.Submit(job(2, 1))
	if got := r.offer(1); got != scheduler.NoJob {
		t.Errorf("a large job ran on scale-up")
	}
	r.Send(scheduler.Ban(2, 0))
	if got := r.offer(1); got != 2 {
		t.Errorf("%v ran, want the job that is banned from scale-out", got)
	}
}

// Ours: a reduce holds the only scale-up container and waits for maps that find
// no room there. After half a minute the job may use scale-out as well.
func TestStuckClass(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier = byID{1: 1} })
	s := job(1, 2)
	s.Reduces, s.Slowstart = 1, -1
	r.Submit(s)
	r.Tick(r.Now)
	if r.offer(1) != 1 || r.View().Job(1).Running(scheduler.Reduce) != 1 {
		t.Fatal("the reduce did not take the scale-up container")
	}
	for _, step := range []struct {
		at   time.Duration
		want scheduler.JobID
	}{{15 * time.Second, scheduler.NoJob}, {29 * time.Second, scheduler.NoJob}, {30 * time.Second, 1}} {
		r.Now = step.at
		r.p.Tick(r.Now, r.View())
		if got := r.offer(0); got != step.want {
			t.Errorf("at %v scale-out ran %v, want %v", step.at, got, step.want)
		}
	}
}

// spec/hybrid 5, item 4, by the model alone: a job run alone on 24 scale-up slots
// and on 40 scale-out slots takes equal time at 32 GB (TeraSort-like) and at 64 GB
// (WordCount-like); the ratio starts at 1.7 and ends at 0.65.
func TestRunAlone(t *testing.T) {
	s := DefaultSpeed()
	for _, app := range []struct{ shuffle, cross float64 }{{1, 32}, {1.6, 64}} {
		last := math.Inf(1)
		for in := 0.5; in <= 512; in *= 2 {
			maps := int(math.Ceil(in * gigabyte / blockBytes))
			k := float64(maps)
			onOut := math.Ceil(k / 40)
			onUp := math.Ceil(k/24) * s.Factor(maps, in*gigabyte, app.shuffle*in*gigabyte)
			ratio := onOut / onUp
			if ratio > last+1e-9 || (ratio > 1) != (in < app.cross) && math.Abs(ratio-1) > 0.01 {
				t.Errorf("%g GB with %g times the shuffle: ratio %.3f after %.3f", in, app.shuffle, ratio, last)
			}
			if last = ratio; in == 0.5 {
				near(t, "ratio of a tiny job", ratio, 1.7, 0.1)
			}
		}
		near(t, "ratio of a huge job", last, 0.65, 0.15)
	}
}

// A class is not stuck while a reduce on it will end, nor while it has room and a
// job only waits for its data.
func TestNotStuck(t *testing.T) {
	r := newRig(t, 1, 1, func(c *Config) { c.Classifier = byID{1: 1, 2: 1} })
	s := job(1, 1)
	s.Reduces = 1
	r.Submit(s)
	r.offer(1)
	r.Send(scheduler.TaskFinished(scheduler.TaskID{Job: 1}, 1, time.Second, 0, 0))
	r.offer(1) // its reduce, which has all it needs
	r.Submit(job(2, 1))
	r.p.stole[0] = true
	for r.Now = 0; r.Now < 5*time.Minute; r.Now += 15 * time.Second {
		r.p.Tick(r.Now, r.View())
	}
	if r.p.records.Of(r.View().Job(2)).free {
		t.Error("let go although a reduce will end")
	}

	r = newRig(t, 1, 2, func(c *Config) { c.Classifier, c.Base = byID{1: 1}, "delay" })
	patient := job(1, 1)
	patient.Splits.Add(1, 2)
	r.Submit(patient)
	for r.Now = 0; r.Now < 5*time.Minute; r.Now += 15 * time.Second {
		r.offer(1) // not where its data are
		r.p.Tick(r.Now, r.View())
	}
	if r.p.records.Of(r.View().Job(1)).free {
		t.Error("let go although it only waits for its data")
	}
}
