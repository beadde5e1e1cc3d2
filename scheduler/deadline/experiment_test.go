package deadline

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/fair"
	"github.com/millrace/millrace/topology"
)

// lengths draws the task lengths of spec/deadline 4.3, in launch order.
func lengths(r *rand.Rand, app string) (maps, reduces []float64) {
	uniform := func(a, b float64) float64 { return a + (b-a)*r.Float64() }
	lognormal := func(mean, cv, most float64) float64 {
		s := math.Sqrt(math.Log(1 + cv*cv))
		return math.Min(most, mean*math.Exp(s*r.NormFloat64()-s*s/2))
	}
	draw := func(n int, f func() float64) {
		for range n {
			maps = append(maps, f())
		}
	}
	switch app {
	case "simulator":
		for _, mean := range []float64{18.2, 25, 33.4, 52} {
			draw(1600, func() float64 { return lognormal(mean, 0.5, 4*mean) })
		}
		return maps, []float64{20}
	case "wordcount":
		draw(60, func() float64 { return uniform(95, 110) })
		draw(678, func() float64 { return uniform(80, 100) })
		return maps, []float64{75}
	}
	draw(60, func() float64 { return uniform(15, 25) })
	draw(940, func() float64 { return lognormal(4, 0.8, 25) })
	return maps, []float64{10, 10, 10, 10}
}

// experiment is the scenario of spec/deadline 4.2: four jobs, 60 + 60 slots.
func experiment(t *testing.T, p scheduler.Policy, seed uint64) *run {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	var specs []*scheduler.JobSpec
	all := make(map[scheduler.JobID][2][]float64)
	for i, j := range []struct {
		app          string
		submit, goal time.Duration
	}{{"simulator", 0, 6000}, {"wordcount", 1000, 4000}, {"join", 2000, 2150}, {"join", 3000, 3150}} {
		maps, reduces := lengths(r, j.app)
		id := scheduler.JobID(i + 1)
		all[id] = [2][]float64{maps, reduces}
		submit := j.submit * second / (3 * second) * (3 * second) // on a heartbeat
		specs = append(specs, &scheduler.JobSpec{
			ID: id, Name: j.app, Maps: int32(len(maps)), Reduces: int32(len(reduces)), Submit: submit, Deadline: j.goal * second,
		})
	}
	out := newRun(t, p, func(task scheduler.TaskID) time.Duration {
		return time.Duration(all[task.Job][task.Kind][task.Index] * 1e9)
	}, specs...)
	return out
}

func (r *run) took(id scheduler.JobID) float64 {
	return (r.over[id] - r.arrival[id-1].Submit).Seconds()
}

// spec/deadline 5, items 1, 2, 5, 6, 7 and 11 under min.
func TestExperimentMin(t *testing.T) {
	r := experiment(t, policy(t, false, nil), 1)
	slots, samples, burst, peak := 0.0, 0.0, int32(0), int32(0)
	r.onTick = func() {
		held := r.View().Job(1)
		if held != nil && r.Now == 0 {
			burst = held.Running(scheduler.Map)
		}
		if held != nil && r.Now >= 100*second && r.Now < 999*second {
			slots += float64(held.Running(scheduler.Map))
			samples++
		}
		if join := r.View().Job(3); join != nil {
			peak = max(peak, join.Running(scheduler.Map))
		}
	}
	r.play()
	inside(t, "J1 misses its goal of 6,000 s (item 1)", r.took(1), 6050, 7000)
	inside(t, "burst of J1 (item 2)", float64(burst), 60, 60)
	inside(t, "then about 20 slots (item 2)", slots/samples, 17, 23)
	inside(t, "J2 close to its goal of 3,000 s (item 5)", r.took(2), 2850, 3150)
	inside(t, "peak of J3 (item 6)", float64(peak), 40, 60)
	inside(t, "utilisation (item 7)", r.busy.Seconds()/r.over[1].Seconds()/60, 0.6, 0.8)
	inside(t, "J3 overshoots 150 s (item 11)", r.took(3), 100, 1.25*150)
	inside(t, "J4 overshoots 150 s (item 11)", r.took(4), 100, 1.25*150)
}

// spec/deadline 5, items 1, 5, 6, 7 and 11 under max.
func TestExperimentMax(t *testing.T) {
	r := experiment(t, policy(t, true, nil), 1)
	least := int32(60)
	r.onTick = func() {
		if j := r.View().Job(1); j != nil && r.Now < 999*second {
			least = min(least, j.Running(scheduler.Map))
		}
	}
	r.play()
	inside(t, "J1 meets its goal of 6,000 s (item 1)", r.took(1), 4500, 5600)
	inside(t, "J1 alone holds every slot (item 2)", float64(least), 60, 60)
	inside(t, "J2 (item 5)", r.took(2), 0.78*3000, 3000)
	inside(t, "utilisation (item 7)", r.busy.Seconds()/r.over[1].Seconds()/60, 0.95, 1)
	inside(t, "J3 (item 11)", r.took(3), 100, 1.25*150)
}

// spec/deadline 5, item 11: with the tail reserve the Joins come close to 150 s.
func TestExperimentTailReserve(t *testing.T) {
	r := experiment(t, policy(t, true, func(c *Config) { c.TailReserve = true }), 1)
	r.play()
	inside(t, "J3", r.took(3), 100, 1.03*150)
	inside(t, "J4", r.took(4), 100, 1.03*150)
}

// spec/deadline 5, items 8 to 10: the estimator with each application alone.
func TestEstimator(t *testing.T) {
	for _, tc := range []struct {
		app   string
		check func(*testing.T, []float64)
	}{
		{"wordcount", func(t *testing.T, errs []float64) {
			good := 0.0
			for _, e := range errs {
				if math.Abs(e) < 0.05 {
					good++
				}
			}
			inside(t, "share of samples below 5 % (item 8)", good/float64(len(errs)), 0.8, 1)
			inside(t, "pessimistic at 10 % of the run (item 8)", errs[len(errs)/10], 0, 0.3)
		}},
		{"simulator", func(t *testing.T, errs []float64) {
			for _, at := range []int{10, 25, 50, 75} {
				inside(t, "optimistic (item 9)", errs[len(errs)*at/100], -0.6, -0.02)
			}
		}},
		{"join", func(t *testing.T, errs []float64) {
			inside(t, "error of the first quarter over that of the second half (item 10)", meanAbs(errs[:len(errs)/4])/meanAbs(errs[len(errs)/2:]), 3, 100)
		}},
	} {
		t.Run(tc.app, func(t *testing.T) { tc.check(t, relErrs(t, tc.app)) })
	}
}

func meanAbs(all []float64) float64 {
	sum := 0.0
	for _, e := range all {
		sum += math.Abs(e)
	}
	return sum / float64(len(all))
}

// relErrs runs an application alone and returns the error of the forecast every
// 3 s between the first and the last map.
func relErrs(t *testing.T, app string) []float64 {
	t.Helper()
	maps, reduces := lengths(rand.New(rand.NewPCG(1, 9)), app)
	p := policy(t, true, nil)
	r := newRun(t, p, func(task scheduler.TaskID) time.Duration {
		if task.Kind == scheduler.Reduce {
			return time.Duration(reduces[task.Index] * 1e9)
		}
		return time.Duration(maps[task.Index] * 1e9)
	}, &scheduler.JobSpec{ID: 1, Maps: int32(len(maps)), Reduces: int32(len(reduces)), Deadline: 1e5 * second})
	var forecasts []float64
	r.onTick = func() {
		j := r.View().Job(1)
		if j == nil || j.Done(scheduler.Map) == 0 || j.Done(scheduler.Map) == j.Total(scheduler.Map) {
			return
		}
		if at, ok := p.Forecast(r.Now, j, 60); ok {
			forecasts = append(forecasts, at)
		}
	}
	r.play()
	for i, f := range forecasts {
		forecasts[i] = RelErr(f, r.over[1].Seconds())
	}
	return forecasts
}

// spec/deadline 5, item 13: two late jobs end about equally late.
func TestUndeadEqualisation(t *testing.T) {
	draw := rand.New(rand.NewPCG(3, 9))
	var length [2][600]time.Duration
	for i := range length {
		for k := range length[i] {
			length[i][k] = time.Duration((8 + 4*draw.Float64()) * 1e9)
		}
	}
	r := newRun(t, policy(t, true, nil), func(task scheduler.TaskID) time.Duration { return length[task.Job-1][task.Index] },
		&scheduler.JobSpec{ID: 1, Maps: 600, Deadline: 10 * second}, &scheduler.JobSpec{ID: 2, Maps: 600, Deadline: 60 * second})
	r.play()
	late1, late2 := r.took(1)-10, r.took(2)-60
	inside(t, "total", math.Max(r.took(1), r.took(2)), 195, 220)
	inside(t, "lateness of j1", late1, 1, 220)
	inside(t, "difference of lateness", math.Abs(late1-late2), 0, 25)
}

func inside(t *testing.T, what string, got, low, high float64) {
	t.Helper()
	if !(got >= low && got <= high) {
		t.Errorf("%s: %.3f is not in %g..%g", what, got, low, high)
	} else {
		t.Logf("%s: %.3f", what, got)
	}
}

// spec/deadline 5, items 3 and 4: fair sharing without weights misses the Joins'
// goals; with the weights of spec/deadline 3.8 it comes close to max.
func TestExperimentFair(t *testing.T) {
	fairly := func(change func(*fair.Config)) *run {
		c := fair.DefaultConfig()
		change(&c)
		p, err := fair.New(c)
		if err != nil {
			t.Fatal(err)
		}
		r := experiment(t, p, 1)
		for _, s := range r.arrival {
			s.Pool = s.Name
		}
		r.play()
		return r
	}
	r := fairly(func(*fair.Config) {})
	inside(t, "J3 without weights (item 3)", r.took(3), 1.5*166, 400)
	inside(t, "J4 without weights (item 3)", r.took(4), 1.5*166, 400)
	r = fairly(func(c *fair.Config) {
		c.Key, c.Weights = "pool", map[string]float64{"simulator": 1, "wordcount": 1.4, "join": 122}
	})
	inside(t, "J3 with weights (item 4)", r.took(3), 110, 150)
	inside(t, "J4 with weights (item 4)", r.took(4), 110, 150)
	inside(t, "J1 with weights, as under max (item 4)", r.took(1), 0.98*4843, 1.02*4843)
}

// spec/deadline 5, item 17: 20 of 60 workers go away at 2,500 s; grants respect
// the new capacity, J2 still meets its goal, J1 becomes borderline.
func TestExperimentFewerWorkers(t *testing.T) {
	r := experiment(t, policy(t, true, nil), 1)
	r.onTick = func() {
		if r.Now == 2499*second {
			for n := topology.NodeID(40); n < 60; n++ {
				r.Send(scheduler.NodeDraining(n))
			}
		}
		if used := r.View().ClusterUsed().Tasks[scheduler.Map]; r.Now > 2700*second && used > 40 {
			t.Fatalf("at %v %d maps run on 40 workers", r.Now, used)
		}
	}
	r.play()
	inside(t, "J2 (item 17)", r.took(2), 2700, 3000)
	inside(t, "J1 (item 17)", r.took(1), 5700, 6200)
	inside(t, "J4 (item 17)", r.took(4), 150, 220)
}
