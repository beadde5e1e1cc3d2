package live

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/stats"
)

// TestHowFarTableIICanBeForetold: tasks that take a thousandth longer, each by another amount, hardly change the mean of a job of table-ii under
// fifo, sita and tags, and change it much under fbq and comp: whoever crosses a limit, or leaves the ring of the last jobs, a moment earlier meets
// other jobs, and a large one then waits or does not. A difference between simulator and cluster within this spread says nothing about
// either. docs/lab/live.md has what `go test ./lab/live -run Foretold -v` prints.
func TestHowFarTableIICanBeForetold(t *testing.T) {
	for _, c := range []struct {
		arm         string
		least, most float64 // the largest mean over the smallest
	}{{"fifo", 1, 1.03}, {"sita", 1, 1.03}, {"fbq", 1.03, 1.5}, {"tags", 1, 1.03}, {"comp", 1.3, 2.5}} {
		var means []float64
		for seed := range uint64(40) {
			means = append(means, table2.meanWithNoise(t, c.arm, 0.001, rand.New(rand.NewPCG(seed, 7))))
		}
		low, mid, high := stats.Range(means)
		t.Logf("%s: a job takes %.2f to %.2f s, median %.2f", c.arm, low, high, mid)
		if f := high / low; f < c.least || f > c.most {
			t.Errorf("%s: %.2f to %.2f s, a factor of %.2f, want %g to %g", c.arm, low, high, f, c.least, c.most)
		}
	}
}

// meanWithNoise simulates an arm whose tasks take longer by a random share, with that mean.
func (l *Laboratory) meanWithNoise(t *testing.T, arm string, share float64, rng *rand.Rand) float64 {
	t.Helper()
	o := Overheads{Submit: 2 * time.Millisecond, Start: 15 * time.Millisecond, End: 15 * time.Millisecond}
	longer := func(times []time.Duration, n int32) (out []time.Duration) {
		for i := range int(n) {
			out = append(out, time.Duration(float64(times[i%len(times)])*(1+share*rng.ExpFloat64())))
		}
		return out
	}
	for _, j := range l.Jobs(false) {
		o.Maps, o.Reduces = append(o.Maps, longer(j.Maps, j.Spec.Maps)), append(o.Reduces, longer(j.Reduces, j.Spec.Reduces))
	}
	for _, a := range l.Arms {
		if a.Name == arm {
			out, err := l.Simulate(&a, o, false)
			if err != nil {
				t.Fatal(err)
			}
			return stats.Mean(out.Seconds)
		}
	}
	t.Fatalf("there is no arm %s", arm)
	return 0
}
