package sizebased

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// fitted limits follow the cluster and its jobs. L_k is cut where the finished jobs below it have done (k/K)^2 of all
// work, halfway, in ratio, to the next larger job. The published limits lie there in the workload of the source: 21 to
// 32 % for K = 2; 4, 17 and 48 % for K = 4 (spec/slowdown 4.5).
type fitted struct {
	sizes *ring // slot-seconds of the last jobs that finished
}

const (
	fitJobs  = 200 // finished jobs that make the limits
	fitLeast = 5   // with fewer, the cluster alone says what is small
	// fitStart is L_1 without finished jobs, in seconds of the whole cluster: 160 of 80 slots in the validation of
	// spec/slowdown 4.3. Each further limit is fitStep times the one before, as those of K = 4.
	fitStart, fitStep = 2, 3
	// fitSlack is how much a limit must change, in ratio, before it is moved: each move examines every job.
	fitSlack = 1.1
	// fitFloor is the smallest limit, in slot-seconds.
	fitFloor = 1e-3
)

// limits returns L_1..L_(k-1).
func (f *fitted) limits(k int, places int32) []float64 {
	out := make([]float64, k-1)
	if len(f.sizes.sizes) < fitLeast {
		for i := range out {
			out[i] = fitStart * float64(max(places, 1)) * math.Pow(fitStep, float64(i))
		}
		return out
	}
	sorted, total := slices.Sorted(slices.Values(f.sizes.sizes)), 0.0
	for _, s := range sorted {
		total += s
	}
	at, done, last := 0, 0.0, 0.0
	for i := range out {
		share := math.Pow(float64(i+1)/float64(k), 2) * total
		for at+1 < len(sorted) && done+sorted[at] <= share {
			done += sorted[at]
			at++
		}
		cut := math.Sqrt(sorted[max(at-1, 0)] * sorted[at])
		out[i] = max(cut, fitFloor, last*(1+1e-9))
		last = out[i]
	}
	return out
}

// refit moves the limits to where they should be.
func (p *Policy) refit(now time.Duration, v *scheduler.View) {
	want := p.fit.limits(p.cfg.K, v.Total().Places())
	if slices.EqualFunc(want, p.cfg.Limits, func(a, b float64) bool { return max(a, b) <= fitSlack*min(a, b) }) {
		return
	}
	p.cfg.Limits = want
	if p.feedback == nil {
		return
	}
	p.feedback.setLimits(want)
	for j := range v.Jobs().All() {
		p.feedback.watch(now, j, p.at(j), true)
	}
}

// Figures implements scheduler.Figurer: the limits in use, in slot-seconds.
func (p *Policy) Figures(time.Duration, *scheduler.View) (out []scheduler.Figure) {
	for k, l := range p.cfg.Limits {
		out = append(out, scheduler.Figure{Name: fmt.Sprint("limit-", k+1), Job: scheduler.NoJob, Value: l})
	}
	return out
}
