package live

import (
	"math"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/stats"
)

// TestHowFarTableIICanBeForetold: tasks that take a thousandth longer, each by another amount, hardly change the mean of a job of table-ii under
// fifo, sita, fbq and tags, and change it much under comp: whoever leaves the ring of the last jobs a moment earlier meets
// other jobs, and a large one then waits or does not. A difference between simulator and cluster within this spread says nothing about
// either. docs/lab/live/table-ii.md and docs/lab/live.md have what `go test ./lab/live -run Foretold -v` prints.
func TestHowFarTableIICanBeForetold(t *testing.T) {
	for _, c := range []struct {
		arm         string
		least, most float64 // the largest mean over the smallest
	}{{"fifo", 1, 1.03}, {"sita", 1, 1.03}, {"fbq", 1, 1.03}, {"tags", 1, 1.03}, {"comp", 1.3, 2.5}} {
		var means []float64
		for seed := range uint64(40) {
			means = append(means, stats.Mean(table2.withNoise(t, c.arm, 0.001, seed).Seconds))
		}
		low, mid, high := stats.Range(means)
		t.Logf("%s: a job takes %.2f to %.2f s, median %.2f", c.arm, low, high, mid)
		if f := high / low; f < c.least || f > c.most {
			t.Errorf("%s: %.2f to %.2f s, a factor of %.2f, want %g to %g", c.arm, low, high, f, c.least, c.most)
		}
	}
}

// TestHowFarFullLinksCanBeForetold: two simulations of one laboratory whose tasks differ by a hundredth differ in the time of a job, where links are
// full, by more than the tenth that simulator and cluster may differ by: who ends a moment earlier gets another node, and its bytes another link.
func TestHowFarFullLinksCanBeForetold(t *testing.T) {
	for _, c := range []struct {
		lab         *Laboratory
		arm         string
		least, most float64 // the median error of a job
	}{
		{&narrowLinks, "fair", 0.1, 0.4},
		{&narrowLinks, "nas", 0.03, 0.2},
		{&batches, "fair", 0.1, 0.4},
		{&batches, "jobpacker", 0.03, 0.2},
		{&batches, "corral", 0, 0.05},
		{&circuits, "fair", 0.1, 0.4},
		{&queues, "capacity", 0, 0.03},
	} {
		var errors []float64
		for seed := range uint64(20) {
			a, b := c.lab.withNoise(t, c.arm, 0.01, 2*seed), c.lab.withNoise(t, c.arm, 0.01, 2*seed+1)
			for i := range a.Seconds {
				errors = append(errors, math.Abs(a.Seconds[i]-b.Seconds[i])/b.Seconds[i])
			}
		}
		got := stats.Median(errors)
		t.Logf("%s, %s: a job of two simulations differs by %.1f %% in the median", c.lab.ID, c.arm, 100*got)
		if got < c.least || got > c.most {
			t.Errorf("%s, %s: %.3f, want %g to %g", c.lab.ID, c.arm, got, c.least, c.most)
		}
	}
}

// TestPlansAreForTheTimesThatWereSaid: jobs of a batch that come a few milliseconds late are planned for when they were to come, in the simulator as on
// the cluster. A plan for when they came would send a twelfth less between racks.
func TestPlansAreForTheTimesThatWereSaid(t *testing.T) {
	crosses := func(late time.Duration) (megabytes float64) {
		var o Overheads
		for i, j := range batches.Jobs(false) {
			o.At = append(o.At, j.Spec.Submit+late*time.Duration(i))
		}
		got, err := batches.Foretell(&batches.Arms[2], o, false)
		if err != nil {
			t.Fatal(err)
		}
		return got[0].Cross / 1e6
	}
	if inTime, late := crosses(0), crosses(2*time.Millisecond); math.Abs(inTime-late) > 0.5 {
		t.Errorf("%.1f MB between racks, and %.1f if jobs are late", inTime, late)
	}
}

// withNoise simulates an arm whose tasks take longer by a random share, with that mean.
func (l *Laboratory) withNoise(t *testing.T, arm string, share float64, seed uint64) *Outcome {
	t.Helper()
	o := Overheads{Submit: 2 * time.Millisecond, Start: 15 * time.Millisecond, End: 15 * time.Millisecond}
	for _, a := range l.Arms {
		if a.Name == arm {
			out, err := l.simulate(&a, o, longer(o.measured(l.Jobs(false), &l.Machines), share, seed))
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	t.Fatalf("there is no arm %s", arm)
	return nil
}
