package admission

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	queueMB = 3 * 17 * 1024 // three slaves of 17 GB (spec/marp 2.5)
	amMB    = 2048
	taskMB  = 1024
)

// spec/marp 2.3 and 6, item 1: how many drivers each MARP admits.
func TestSlotsTable(t *testing.T) {
	for marp, want := range map[float64]int64{
		0.039: 0, 0.05: 1, 0.09: 2, 0.10: 2, 0.13: 3, 0.17: 4, 0.20: 5, 0.21: 5, 0.25: 6, 0.30: 7, 0.40: 10, 0.50: 12, 0.60: 15, 0.70: 17, 0.80: 20, 0.90: 22,
	} {
		if got := Slots(marp, queueMB, amMB); got != want {
			t.Errorf("MARP %g admits %d drivers, want %d", marp, got, want)
		}
	}
}

// spec/marp 3.1: PRJ for six jobs needs 0.236; the thesis used 0.250.
func TestSmallest(t *testing.T) {
	if got := Smallest(6, queueMB, amMB); got != 0.236 {
		t.Errorf("six drivers need MARP %g, want 0.236", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		jobs, queue, am := rapid.IntRange(1, 50).Draw(t, "jobs"), rapid.Int64Range(1, 1<<20).Draw(t, "queue"), rapid.Int64Range(1, 1<<12).Draw(t, "am")
		m := Smallest(jobs, queue, am)
		if Slots(m, queue, am) < int64(jobs) || m > 0.001 && Slots(r3(m-0.001), queue, am) >= int64(jobs) {
			t.Fatalf("%g is not the smallest for %d drivers of %d in %d", m, jobs, am, queue)
		}
	})
}

// spec/marp 2.3: the slow-start deadlock needs 17 jobs, that is MARP 0.667 or more.
func TestSafeJobs(t *testing.T) {
	if got := SafeJobs(queueMB, amMB, taskMB, taskMB); got != 16 {
		t.Errorf("%d jobs are safe, want 16", got)
	}
	if m := Smallest(17, queueMB, amMB); m != 0.667 {
		t.Errorf("17 drivers need MARP %g, want 0.667", m)
	}
}

// golden is the table of spec/marp 3.6: progress of the jobs, P, D, and both decisions.
var golden = []struct {
	progress []float64
	p        float64
	d        int
	cbtws    bool
	cbtwat   bool
	thr      int
}{
	{[]float64{50.0}, 50.000, 20, true, true, 2},
	{[]float64{58.3}, 58.300, 15, false, false, 2},
	{[]float64{66.1, 16.4}, 41.250, 2, false, false, 2},
	{[]float64{71.0, 38.2}, 54.600, 7, true, true, 4},
	{[]float64{79.2, 52.0}, 65.600, 9, true, false, 4},
	{[]float64{87.0, 60.5}, 73.750, 9, false, false, 4},
	{[]float64{68.0}, 68.000, 3, false, false, 1},
	{[]float64{76.4, 5.2}, 40.800, -9, false, false, 1},
	{[]float64{82.0, 25.7}, 53.850, 0, true, true, 1},
	{[]float64{88.5, 48.9}, 68.700, 6, true, true, 4},
	{[]float64{56.1}, 56.100, -1, false, false, 4},
	{[]float64{66.0, 6.3}, 36.150, -9, false, false, 4},
	{[]float64{0.4, 74.2, 28.8}, 51.500, 1, true, true, 4},
	{[]float64{82.1, 49.6}, 65.850, 6, true, true, 4},
}

// measure shows c one idle measurement with the given progress of jobs 0, 1, ...
// and then lets it keep house unseen, so that the next one measures again.
func measure(s *smoother, step func(Obs) Act, progress []float64) Act {
	s.apps = s.apps[:0]
	for i := range progress {
		s.apps = append(s.apps, jobID(i))
	}
	act := step(Obs{IdlePct: 80, Pending: 3, Running: len(progress), Prog: func(j jobID) float64 { return progress[j] }})
	s.lockout, s.half = false, false
	return act
}

// spec/marp 3.6, the CBTwS column.
func TestGoldenCBTwS(t *testing.T) {
	c, err := NewCBTwS(DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	c.Init(nil, 0.05)
	for i, row := range golden {
		act := measure(&c.smoother, c.Step, row.progress)
		if p, d := c.Measured(); p != row.p || d != row.d || act.Write != row.cbtws {
			t.Errorf("row %d: P %g D %d inc %v, want %g %d %v", i+1, p, d, act.Write, row.p, row.d, row.cbtws)
		}
	}
}

// spec/marp 3.6, the CBTwAT column: thresholds 2, 4, 1 are explored; draws are all above
// 10.
func TestGoldenCBTwAT(t *testing.T) {
	cfg := CBTwATConfig()
	cfg.EpsilonPct = 0
	c, err := NewCBTwAT(cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	c.initWith([]int{2, 4, 1}, nil, 0.05)
	scores := map[int][]int{3: {0, 0, 0}, 6: {0, 2, 0}, 9: {0, 2, -3}}
	for i, row := range golden {
		act := measure(&c.smoother, c.Step, row.progress)
		if c.progress != row.p || c.delta != row.d || act.Write != row.cbtwat || c.thr != row.thr {
			t.Errorf("row %d: P %g D %d inc %v threshold %d, want %g %d %v %d", i+1, c.progress, c.delta, act.Write, c.thr, row.p, row.d, row.cbtwat, row.thr)
		}
		thresholds, got, explored := c.Scores()
		if want, ok := scores[i+1]; ok && (!slices.Equal(got, want) || explored != (i+1)/3) {
			t.Errorf("row %d: scores of %v are %v, %d explored; want %v", i+1, thresholds, got, explored, want)
		}
		if c.exploits != (i+1 >= 9) {
			t.Errorf("row %d: exploits %v", i+1, c.exploits)
		}
	}
}

// spec/marp 3.4 and 6, item 2: CBTwS is CBTwAT with the threshold fixed at 1, while jobs
// wait, over whole runs with housekeeping.
func TestCBTwSIsCBTwATWithThresholdOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultConfig()
		cfg.Thresholds, cfg.Highest, cfg.EpsilonPct = 1, 1, 0
		a, errA := NewCBTwS(cfg)
		b, errB := NewCBTwAT(cfg, rand.New(rand.NewPCG(1, 1)))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		batch := []jobID{0, 1, 2, 3, 4, 5}
		if x, y := a.Init(batch, 0.05), b.Init(batch, 0.05); x != y {
			t.Fatalf("init: %+v and %+v", x, y)
		}
		percent := rapid.SliceOfN(rapid.Float64Range(0, 100), 6, 6)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			progress := percent.Draw(t, "progress")
			o := Obs{
				IdlePct: rapid.IntRange(0, 40).Draw(t, "idle"), Pending: 1, Running: 3,
				Prog: func(j jobID) float64 { return progress[j] },
			}
			if x, y := a.Step(o), b.Step(o); x != y {
				t.Fatalf("CBTwS %+v, CBTwAT %+v", x, y)
			}
		}
	})
}

// spec/marp 3.7 and 6, item 3: with +0.040 and -0.030 the third decrease admits one job
// more than intended; with -0.039 nothing drifts up to 20 decreases.
func TestSlotDrift(t *testing.T) {
	excess := func(n, m int, dec float64) int64 {
		marp := 0.05
		for range n {
			marp = r3(marp + 0.04)
		}
		for range m {
			marp = r3(marp - dec)
		}
		return Slots(marp, queueMB, amMB) - int64(1+n-m)
	}
	for n := 3; n <= 10; n++ {
		for m, want := range []int64{0, 0, 0, 1} {
			if got := excess(n, m, 0.03); got != want {
				t.Errorf("%d increases, %d decreases: %d jobs more than intended, want %d", n, m, got, want)
			}
			if slackSlots := 0.275 + 0.02*float64(n) + 0.235*float64(m); got64(slackSlots) != want {
				t.Errorf("slack of %g slots at n=%d m=%d does not floor to %d", slackSlots, n, m, want)
			}
		}
	}
	if got := excess(4, 7, 0.03); got != 2 {
		t.Errorf("after 4 increases and 7 decreases %d jobs more than intended, want 2", got)
	}
	for n := range 21 {
		for m := range n + 1 {
			if got := excess(n, m, 0.039); got != 0 {
				t.Errorf("dec 0.039, %d increases, %d decreases: %d jobs more than intended", n, m, got)
			}
		}
	}
}

func got64(slots float64) int64 { return int64(math.Floor(slots)) }

// spec/marp 6, item 10: the first measurement raises MARP when P > 8.75, and for CBTwS
// already when P > 1.25.
func TestFirstDecision(t *testing.T) {
	for seed := range uint64(50) {
		for _, p := range []float64{1.26, 1.5, 8.76, 9, 50, 100} {
			s, _ := NewCBTwS(DefaultConfig())
			s.Init(nil, 0.05)
			if act := measure(&s.smoother, s.Step, []float64{p}); !act.Write || act.MARP != 0.09 {
				t.Errorf("CBTwS at P=%g: %+v", p, act)
			}
			a, _ := NewCBTwAT(CBTwATConfig(), rand.New(rand.NewPCG(seed, 1)))
			a.Init(nil, 0.05)
			if act := measure(&a.smoother, a.Step, []float64{p}); p > 8.75 && !act.Write {
				t.Errorf("CBTwAT with threshold %d at P=%g: %+v", a.thr, p, act)
			}
		}
	}
	s, _ := NewCBTwS(DefaultConfig())
	s.Init(nil, 0.05)
	if act := measure(&s.smoother, s.Step, []float64{1.25}); act.Write {
		t.Errorf("CBTwS at P=1.25: %+v", act)
	}
}

// spec/marp 3.4: while the processors idle, measurements are 17-18 s apart without an
// increase, 47-48 s after one, about 37 s when nothing is pending.
func TestMeasurementCadence(t *testing.T) {
	for _, tc := range []struct {
		name     string
		pending  int
		growth   float64 // of progress per measurement
		from, to time.Duration
	}{
		{"hold", 2, 0, 17 * time.Second, 18 * time.Second},
		{"increase", 2, 1, 47 * time.Second, 48 * time.Second},
		{"nothing pending", 0, 0, 36 * time.Second, 38 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := NewCBTwS(DefaultConfig())
			c.Init([]jobID{0}, 0.05)
			c.progress, c.delta = 40, 0
			now, at := time.Duration(0), []time.Duration(nil)
			progress := 40.0
			for len(at) < 3 {
				measures := !c.lockout && !c.half
				if measures {
					at = append(at, now)
					progress += tc.growth * 5 * float64(len(at))
				}
				act := c.Step(Obs{IdlePct: 90, Pending: tc.pending, Running: 1, Prog: func(jobID) float64 { return progress }})
				now += act.Sleep
				if !act.Resume {
					now += c.cfg.Iteration
				}
			}
			if d := at[1] - at[0]; d < tc.from || d > tc.to {
				t.Errorf("measurements %v apart, want %v to %v", d, tc.from, tc.to)
			}
		})
	}
}

// spec/marp 3.5: the best threshold is used in 93.3 % of exploiting measurements.
func TestEpsilonGreedyShare(t *testing.T) {
	c, _ := NewCBTwAT(CBTwATConfig(), rand.New(rand.NewPCG(7, 7)))
	c.initWith([]int{2, 4, 1}, nil, 0.05)
	c.exploits, c.score = true, []int{0, 2, -3}
	const draws = 100_000
	best := 0
	for range draws {
		if c.choose(); c.thr == 4 {
			best++
		}
	}
	if share := float64(best) / draws; math.Abs(share-0.9333) > 0.005 {
		t.Errorf("best threshold used in %.4f of draws, want 0.9333", share)
	}
}

// spec/marp 3.5: of equal scores the smallest threshold wins.
func TestTiedScores(t *testing.T) {
	c, _ := NewCBTwAT(CBTwATConfig(), rand.New(rand.NewPCG(7, 7)))
	c.initWith([]int{4, 2, 3}, nil, 0.05)
	if c.score = []int{1, 1, 0}; c.best() != 2 {
		t.Errorf("best of scores 1,1,0 for 4,2,3 is %d, want 2", c.best())
	}
	if c.score = []int{-5, -7, -3}; c.best() != 3 {
		t.Errorf("best of scores -5,-7,-3 for 4,2,3 is %d, want 3", c.best())
	}
}

// spec/marp 7.11: the script's random pick takes indices for values.
func TestIndexBug(t *testing.T) {
	cfg := CBTwATConfig()
	cfg.EpsilonPct, cfg.CompatIndexBug = 100, true
	c, _ := NewCBTwAT(cfg, rand.New(rand.NewPCG(7, 7)))
	c.initWith([]int{2, 4, 1}, nil, 0.05)
	c.exploits = true
	seen := map[int]bool{}
	for range 1000 {
		c.choose()
		seen[c.thr] = true
	}
	if !seen[3] || seen[4] || len(seen) != 3 {
		t.Errorf("thresholds drawn: %v, want 1, 2, 3", seen)
	}
}

// spec/marp 2.6 and 3.3: rounding is printf's: of the binary value, exact ties to even.
func TestRounding(t *testing.T) {
	for x, want := range map[float64]float64{0.0625: 0.062, 0.1875: 0.188, 2.0005: 2.001, 1.0005: 1.000, -0.0001: 0, 0.05 + 0.04: 0.09} {
		if got := r3(x); got != want || math.Signbit(got) && got == 0 {
			t.Errorf("r3(%v) = %v, want %v", x, got, want)
		}
	}
	for x, want := range map[float64]int{0.5: 0, 1.5: 2, 2.5: 2, -0.18: 0, -1.44: -1, 8.6: 9} {
		if got := r0(x); got != want {
			t.Errorf("r0(%v) = %d, want %d", x, got, want)
		}
	}
}

// sma is the simple estimator that the scripts did not use (spec/marp 3.3, Algorithm 7).
type sma struct{ last, before float64 }

// next takes a measurement and returns how much faster progress has become.
func (s *sma) next(mean float64) float64 {
	d := (mean - s.last) - (s.last - s.before)
	s.last, s.before = mean, s.last
	return d
}

// spec/marp 3.3, Algorithm 7, and Fig. 5.6: the plain estimator swings more than the
// smoothed one when a job starts.
func TestSMAIsRougher(t *testing.T) {
	var s sma
	e := ema{current: 0.4, previous: 0.6}
	var rough, smooth float64
	for _, row := range golden {
		rough += math.Abs(s.next(row.p))
		before := e.delta
		e.progress, e.delta = e.next(row.p)
		smooth += math.Abs(float64(e.delta - before))
	}
	if rough <= smooth {
		t.Errorf("plain deltas moved %.1f, smoothed %.1f points in all", rough, smooth)
	}
	var two sma
	two.next(10)
	two.next(25)
	if d := two.next(30); d != -10 {
		t.Errorf("SMA of 10, 25, 30 is %g, want (30-25)-(25-10) = -10", d)
	}
}

// spec/marp 2.5: the thresholds that are explored are distinct integers of the range, each of which may be drawn.
func TestThresholdsOfTheRange(t *testing.T) {
	cfg := CBTwATConfig()
	cfg.Lowest, cfg.Highest, cfg.Thresholds = 3, 6, 3
	seen := map[int]int{}
	for seed := range uint64(200) {
		c, err := NewCBTwAT(cfg, rand.New(rand.NewPCG(seed, 7)))
		if err != nil {
			t.Fatal(err)
		}
		c.Init(nil, 0.05)
		mem, scores, explored := c.Scores()
		if len(mem) != 3 || len(scores) != 3 || explored != 0 || mem[0] == mem[1] || mem[1] == mem[2] || mem[0] == mem[2] {
			t.Fatalf("thresholds %v, scores %v, %d explored", mem, scores, explored)
		}
		for _, thr := range mem {
			seen[thr]++
		}
	}
	if len(seen) != 4 || min(seen[3], seen[4], seen[5], seen[6]) < 100 {
		t.Errorf("thresholds drawn: %v, want 3 to 6", seen)
	}
}

// spec/marp 2.3: a driver of no size is always admitted.
func TestDriverOfNoSize(t *testing.T) {
	if got := Slots(0, 100, 0); got != math.MaxInt64 {
		t.Errorf("%d drivers that ask for nothing", got)
	}
	if got := Slots(0, 0, 1); got != 0 {
		t.Errorf("%d drivers in a queue without room", got)
	}
}
