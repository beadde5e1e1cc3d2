package lab

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// traces points MILLRACE_TRACES at the public traces, where the machine has them.
func traces(t *testing.T) {
	t.Helper()
	if os.Getenv("MILLRACE_TRACES") != "" {
		return
	}
	dir := filepath.Join("..", "..", "shared", "traces")
	if _, err := os.Stat(filepath.Join(dir, fbDay)); err == nil {
		t.Setenv("MILLRACE_TRACES", dir)
	}
}

// What needs no long runs is reproduced.
func TestNASBasics(t *testing.T) {
	traces(t)
	for _, id := range []string{"nas-mix", "nas-skips", "nas-formulas"} {
		r, err := Run(t.Context(), All[id], Options{Quick: true, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range r.Checks {
			if c.Verdict == NotReproduced {
				t.Errorf("%s, %s: published %s, measured %s", id, c.Item, c.Published, c.Measured)
			}
		}
	}
}

// A run on the 40 nodes moves the bytes that its jobs shuffle, and repeats.
func TestNASRun(t *testing.T) {
	day, _ := dayOrModel(1)
	c := nas40
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
			want += float64(j.ShuffleBytes) * c.scale
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
