package sizebased

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// spec/slowdown 3.4 and 6.6: a predicted size in (L_(k-1), L_k] goes to queue k.
func TestSITABoundaries(t *testing.T) {
	p := policy(t, SITA, func(c *Config) {
		c.K, c.Limits, c.Shares = 3, []float64{100, 200}, []float64{0.3, 0.3, 0.4}
	})
	for size, want := range map[float64]int32{0: 0, 100: 0, 100.001: 1, 200: 1, 200.001: 2, 1e12: 2} {
		if got := p.queueFor(size); got != want {
			t.Errorf("size %g goes to queue %d, want %d", size, got+1, want+1)
		}
	}
}

// spec/slowdown 6.1: limit 160 s separates small from large jobs of Table II:
// 34 or 38 small jobs of 50, as GREP 50/5 is read.
func TestSITATable2(t *testing.T) {
	p := policy(t, SITA, func(c *Config) { c.Limits = []float64{160} })
	for grep, want := range map[float64]int{1553.2: 34, 155.32: 38} {
		small := 0
		for _, row := range []struct {
			size float64
			jobs int
		}{{63.14, 26}, {60.20, 4}, {126.14, 4}, {grep, 4}, {3790.46, 3}, {5194.64, 3}, {15697.18, 3}, {26662.53, 3}} {
			if p.queueFor(row.size) == 0 {
				small += row.jobs
			}
		}
		if small != want {
			t.Errorf("%d small jobs with GREP 50/5 of %g s, want %d", small, grep, want)
		}
	}
}

// spec/slowdown 3.4: the job stays in its queue although it turns out bigger.
func TestSITAStays(t *testing.T) {
	r := newRig(t, policy(t, SITA, func(c *Config) { c.Limits = []float64{10} }), 2, scheduler.Capacity{MapSlots: 1})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9, Work: 9 * second})
	r.Serve(0)
	r.Now = 1000 * second
	r.Want(r.Serve(1))
	if q, _ := r.Policy().(*Policy).QueueOf(r.View().Job(1)); q != 1 {
		t.Errorf("moved to queue %d", q)
	}
}

// spec/slowdown 3.5: the ring holds K-1 sizes, ties are not larger, a short ring
// counts what it has.
func TestCOMPRing(t *testing.T) {
	r := newRing(3)
	ranks := func(want ...int) {
		t.Helper()
		for i, size := range []float64{5, 10, 15, 100} {
			if got := r.rank(size); got != want[i] {
				t.Errorf("ring %v: rank of %g is %d, want %d", r.sizes, size, got, want[i])
			}
		}
	}
	ranks(0, 0, 0, 0)
	r.push(10)
	ranks(0, 0, 1, 1)
	r.push(4)
	r.push(12)
	ranks(1, 1, 3, 3)
	r.push(50) // drops 10
	ranks(1, 1, 2, 3)
	if one := newRing(0); one.rank(7) != 0 {
		t.Error("with K = 1 there is one queue")
	}
}

// spec/slowdown 3.5: a job larger than the last finished one waits behind smaller
// ones, and stays.
func TestCOMPOrder(t *testing.T) {
	r := newRig(t, policy(t, COMP, nil), 1, scheduler.Capacity{MapSlots: 1})
	r.Submit(&scheduler.JobSpec{ID: 1, Maps: 1, Work: 10 * second})
	r.Serve(0)
	r.Now = 10 * second
	r.Finish(1, scheduler.Map, 0, 0)
	r.Send(scheduler.JobFinished(1))
	r.Submit(&scheduler.JobSpec{ID: 2, Maps: 1, Work: 11 * second}, &scheduler.JobSpec{ID: 3, Maps: 1, Work: 10 * second})
	r.Want(r.Serve(0), 3)
}

// spec/slowdown 6.7: the ring holds actual sizes in the unit of the prediction. Given work has no waiting reduces in it;
// what is learnt from finished jobs has.
func TestCOMPRingIsInTheUnitOfThePrediction(t *testing.T) {
	for _, c := range []struct {
		from  string
		given time.Duration
		want  float64
	}{{"auto", 15 * second, 15}, {"work", 15 * second, 15}, {"auto", 0, 50}, {"input", 15 * second, 50}} {
		p := policy(t, COMP, func(cfg *Config) { cfg.Predict.From = c.from })
		p.learn(&scheduler.Lesson{MapTime: 10 * second, ReduceTime: 40 * second, ReduceWork: 5 * second, Input: 1e9, Work: c.given})
		if got := p.ring.sizes[0]; got != c.want {
			t.Errorf("predicted from %s, %v given: the ring holds %g s, want %g", c.from, c.given, got, c.want)
		}
	}
}

// spec/slowdown 3.4: size = a * input bytes, a from finished jobs of that name,
// else of all, else the configured constant.
func TestPredictFromInput(t *testing.T) {
	cfg := DefaultPredictConfig()
	cfg.SecondsPerGB = 100
	p := make2(NewPredictor(cfg))(t)
	spec := func(name string, gb int64) *scheduler.JobSpec {
		return &scheduler.JobSpec{Name: name, Maps: 1, Input: scheduler.Bytes(gb * 1e9)}
	}
	near := func(s *scheduler.JobSpec, want float64) {
		t.Helper()
		if got := p.Size(s); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s: %g, want %g", s.Name, got, want)
		}
	}
	near(spec("sort", 2), 200)
	learn := func(id scheduler.JobID, s *scheduler.JobSpec, took time.Duration) {
		r := newRig(t, policy(t, FBQ, nil), 1, scheduler.Capacity{MapSlots: 1})
		s.ID = id
		r.Submit(s)
		r.Serve(0)
		r.Now = took
		r.Finish(id, scheduler.Map, 0, 0)
		p.Learn(r.View().Job(id).Lesson())
	}
	learn(1, spec("sort", 1), 50*second)
	learn(2, spec("grep", 3), 30*second)
	near(spec("sort", 2), 100)
	near(spec("grep", 2), 20)
	near(spec("join", 2), 40) // (50+30) s over 4 GB
	near(&scheduler.JobSpec{Name: "new"}, 40)
	near(&scheduler.JobSpec{Name: "profiled", Maps: 3, Reduces: 1, MapTime: second, ReduceTime: 2 * second}, 5)
}

// spec/slowdown 3.4: with noise sigma the predicted size is the true one times
// exp(sigma*N(0,1)): the mean of its logarithm is 0, its deviation sigma; the
// same job always gets the same error.
func TestPredictNoise(t *testing.T) {
	p := make2(NewPredictor(DefaultPredictConfig()))(t)
	sum, square, n := 0.0, 0.0, 4000
	for id := range scheduler.JobID(n) {
		s := &scheduler.JobSpec{ID: id, Work: 100 * second}
		e := math.Log(p.Size(s) / 100)
		sum += e
		square += e * e
		if p.Size(s) != p.Size(s) {
			t.Fatal("the error of a job changed")
		}
	}
	mean, dev := sum/float64(n), math.Sqrt(square/float64(n))
	if math.Abs(mean) > 0.01 || math.Abs(dev-0.2) > 0.01 {
		t.Errorf("log error has mean %.4f and deviation %.4f, want 0 and 0.2", mean, dev)
	}
}

// spec/slowdown 3.8: round(share*nodes), at least one node each; 6.16: by node,
// hence both kinds of slot in proportion.
func TestPartitionSizes(t *testing.T) {
	for _, tc := range []struct {
		shares []float64
		nodes  int
		want   []int
	}{
		{[]float64{0.3, 0.7}, 100, []int{30, 70}},
		{[]float64{0.3, 0.7}, 10, []int{3, 7}},
		{[]float64{0.01, 0.99}, 10, []int{1, 9}},
		{[]float64{0.25, 0.25, 0.5}, 5, []int{1, 1, 3}},
		{[]float64{0.5, 0.5}, 5, []int{2, 3}},
		{[]float64{0.98, 0.01, 0.01}, 3, []int{1, 1, 1}},
	} {
		got := sizes(tc.shares, tc.nodes)
		sum := 0
		for _, n := range got {
			sum += n
		}
		if sum != tc.nodes || slices.Min(got) < 1 {
			t.Errorf("shares %v of %d nodes: %v", tc.shares, tc.nodes, got)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("shares %v of %d nodes: %v, want %v", tc.shares, tc.nodes, got, tc.want)
		}
	}
}

// With fewer nodes than queues every queue still has a node.
func TestPartitionOfFewNodes(t *testing.T) {
	p := policy(t, SITA, func(c *Config) {
		c.K, c.Limits, c.Shares = 3, []float64{1, 2}, []float64{0.2, 0.2, 0.6}
	})
	r := newRig(t, p, 2, scheduler.Capacity{MapSlots: 1})
	_, last := p.PartitionOf(0, r.View())
	first, end := p.PartitionOf(1, r.View())
	if first != last+1 || end != 3 {
		t.Errorf("node 0 serves up to %d, node 1 %d to %d of 3", last, first, end)
	}
	r.Send(scheduler.NodeDown(1))
	if a, b := p.PartitionOf(0, r.View()); a != 1 || b != 3 {
		t.Errorf("the last node serves %d to %d of 3", a, b)
	}
}

// spec/slowdown 3.7: SRPT serves the least remaining work, SPTP the least product
// of size and remaining work.
func TestSRPTAndSPTP(t *testing.T) {
	for product, want := range map[bool]scheduler.JobID{false: 1, true: 2} {
		cfg := DefaultSRPTConfig()
		cfg.Product = product
		r := newRig(t, make2(NewSRPT(cfg))(t), 1, scheduler.Capacity{MapSlots: 1})
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 9, Work: 90 * second})
		r.Serve(0)
		r.Now = 60 * second
		r.Finish(1, scheduler.Map, 0, 0)                                    // 30 s remain of 90: product 2,700
		r.Submit(&scheduler.JobSpec{ID: 2, Maps: 4, Work: 40 * second})     // product 1,600
		r.Submit(&scheduler.JobSpec{ID: 3, Maps: 4, Work: 60 * second * 2}) // last either way
		r.Want(r.Serve(0), want)
	}
}

// spec/slowdown 4.3, Table II on its own terms: occupancy sizes of equal maps m and
// reduces r run in waves on 60+20 slots, reduces launched after the first wave,
// are what the policies count as attained service.
func TestOccupancyOfTable2(t *testing.T) {
	for _, row := range []struct {
		maps, reduces int
		m, r, size    float64
	}{
		{2, 1, 27.04, 9.06, 63.14},
		{4, 1, 9.17, 23.53, 60.21},
		{50, 5, 29.76, 13.07, 1553.35},
		{100, 10, 32.47, 21.86, 3790.30},
		{400, 40, 29.01, 15.27, 15696.00},
		{600, 60, 25.98, 106.65, 26663.40},
	} {
		waves := math.Ceil(float64(row.maps) / 60)
		first := math.Min(float64(row.reduces), 20)
		wait := first * (waves - 1) * row.m
		size := float64(row.maps)*row.m + float64(row.reduces)*row.r + wait
		if math.Abs(size-row.size)/row.size > 0.001 {
			t.Errorf("%d/%d: occupancy %.2f s, want %.2f", row.maps, row.reduces, size, row.size)
		}
	}
}

// Wrong configurations are refused with the reason.
func TestValidate(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no queue":          func(c *Config) { c.K = 0 },
		"limits missing":    func(c *Config) { c.K = 3 },
		"limits falling":    func(c *Config) { c.K, c.Limits = 3, []float64{2, 1} },
		"limit zero":        func(c *Config) { c.Limits = []float64{0} },
		"limit NaN":         func(c *Config) { c.Limits = []float64{math.NaN()} },
		"shares of 0.9":     func(c *Config) { c.Shares = []float64{0.2, 0.7} },
		"a share of zero":   func(c *Config) { c.Shares = []float64{0, 1} },
		"three shares":      func(c *Config) { c.Shares = []float64{0.2, 0.2, 0.6} },
		"restart elsewhere": func(c *Config) { c.Restart = true },
		"noise":             func(c *Config) { c.Predict.Noise = -1 },
		"source":            func(c *Config) { c.Predict.From = "tea leaves" },
	} {
		c := DefaultConfig(SITA)
		change(&c)
		if _, err := New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A predictor that could predict nothing is refused.
func TestRefusedPredictors(t *testing.T) {
	for _, tt := range []struct {
		change func(*PredictConfig)
		want   string
	}{
		{func(c *PredictConfig) { c.From = "stars" }, `"stars" is not auto, work or input`},
		{func(c *PredictConfig) { c.Noise = -0.1 }, "noise -0.1"},
		{func(c *PredictConfig) { c.Noise = math.Inf(1) }, "noise +Inf"},
		{func(c *PredictConfig) { c.Noise = math.NaN() }, "noise NaN"},
		{func(c *PredictConfig) { c.SecondsPerGB = 0 }, "0 seconds per GB"},
		{func(c *PredictConfig) { c.SecondsPerGB = math.NaN() }, "NaN seconds per GB"},
	} {
		c := DefaultPredictConfig()
		tt.change(&c)
		if p, err := NewPredictor(c); p != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	c := DefaultPredictConfig()
	c.Noise = 0
	if _, err := NewPredictor(c); err != nil {
		t.Errorf("an oracle: %v", err)
	}
}
