package nas

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// A run on the 40 nodes moves the bytes that its jobs shuffle, and repeats.
func TestNASRun(t *testing.T) {
	day, _ := lab.DayOrModel(1)
	c := regimeA
	c.scale = 0.01
	traced := sample(day, 20, 14*time.Second, rand.New(rand.NewPCG(1, 9)))
	for _, name := range []string{"fair", "nas", "sw-delay"} {
		a, err := c.run(name, nil, traced, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.run(name, nil, traced, 1)
		if err != nil {
			t.Fatal(err)
		}
		if a.makespan != b.makespan || a.traffic.Cross() != b.traffic.Cross() || a.overlap < 0.2 {
			t.Errorf("%s: %+v, then %+v", name, a, b)
		}
		var want float64
		for _, j := range traced {
			want += float64(c.shape().Sized(j).ShuffleBytes)
		}
		if got := a.traffic.Shuffle; got > want {
			t.Errorf("%s: %g bytes of shuffle crossed racks, the jobs have %g", name, got, want)
		}
	}
}

// The skew is that of the rack that receives most; what stays in a rack does not count.
func TestInboundSkew(t *testing.T) {
	if got := inboundSkew([][]float64{{9, 1, 1}, {1, 9, 1}, {1, 1, 9}}); got != 1 {
		t.Errorf("even: %v", got)
	}
	if got := inboundSkew([][]float64{{0, 3, 0}, {0, 0, 0}, {0, 0, 0}}); got != 3 {
		t.Errorf("all into one of three: %v", got)
	}
	if got := inboundSkew(nil); got != 1 {
		t.Errorf("nothing: %v", got)
	}
}

// Jobs of a trace on a network give the same, to the last digit, on one core and on two.
func TestNASRepeats(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want string
	for _, cores := range []int{2, 1, 2} {
		runtime.GOMAXPROCS(cores)
		study(t, func(r *lab.Recorder) {
			c := regimeA
			c.scale = 0.02
			runs, _ := compareNAS(r, c, plain("fair", "nas"), 2)
			got := fmt.Sprintf("%+v", runs)
			if want = cmp.Or(want, got); got != want {
				t.Errorf("on %d cores another result", cores)
			}
		})
	}
}

// The runs to watch are those that the experiment has measured: watching changes no decision.
func TestScenesAreTheRuns(t *testing.T) {
	var runs nasRuns
	rep, err := lab.Run(t.Context(), &lab.Experiment{ID: "study", Run: func(r *lab.Recorder) {
		c := regimeA
		c.scale = 0.02
		runs, _ = compareNAS(r, c, plain("fair", "nas"), 1)
	}}, lab.Options{Seed: 1})
	if err != nil || len(rep.Scenes) != 2 {
		t.Fatalf("%d scenes, %v", len(rep.Scenes), err)
	}
	for _, s := range rep.Scenes {
		cfg, jobs, err := s.Setup()
		if err != nil {
			t.Fatal(err)
		}
		res, err := sim.Run(cfg, jobs)
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Jobs {
			if got, want := res.Jobs[i].Completion().Seconds(), runs[s.Name][0].times[i]; got != want {
				t.Fatalf("%s: job %d takes %v s to watch and took %v s", s.Name, i, got, want)
			}
		}
	}
}
