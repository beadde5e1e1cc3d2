package hybrid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// seen is what a run showed of one job.
type seen struct {
	maps                    int32
	input, limit            float64 // GB; from its limit on a job is large
	small                   bool    // by the label rule, with its true shuffle size
	called                  bool    // small by the classifier, where the policy asks it
	up                      bool    // every task ran on a scale-up machine
	submitted, began, ended float64 // s
}

// look extracts from a result what is known of its jobs. onOut and truth are by job.
func (v hybridVariant) look(res *sim.Result, onOut []bool, truth []float64) []seen {
	out := make([]seen, len(res.Jobs))
	for i := range res.Jobs {
		j := &res.Jobs[i]
		input, limit := float64(j.Job.Spec.Input.Bytes), rule.Crosspoint(truth[i])
		called, _ := v.classifier().Classify(j.Job.Spec)
		out[i] = seen{
			maps: j.Job.Spec.Maps, input: input / hybridGB, limit: limit / hybridGB, small: input < limit, called: called && v.on, up: !onOut[i],
			submitted: j.Submitted.Seconds(), began: j.FirstStart.Seconds(), ended: j.Finished.Seconds(),
		}
	}
	return out
}

// count returns how many jobs of a run satisfy so.
func (h hybridRun) count(so func(seen) bool) (n float64) {
	for _, j := range h.jobs {
		if so(j) {
			n++
		}
	}
	return n
}

// last returns the last small, or large, job of a run to end; ok is false if there is none.
func (h hybridRun) last(small bool) (at int, ok bool) {
	for i, j := range h.jobs {
		if j.small == small && (!ok || j.ended > h.jobs[at].ended) {
			at, ok = i, true
		}
	}
	return at, ok
}

func smallEndOf(h hybridRun) float64 {
	if at, ok := h.last(true); ok {
		return h.jobs[at].ended
	}
	return 0
}

// stolenJobs returns how many jobs of a run were called small but ran on scale-out machines.
func stolenJobs(h hybridRun) float64 { return h.count(func(j seen) bool { return j.called && !j.up }) }

// calledSmall returns how many jobs of a run the classifier called small.
func calledSmall(h hybridRun) float64 { return h.count(func(j seen) bool { return j.called }) }

// leftOut returns how many small jobs ran on scale-out machines, stolen or called large.
func leftOut(h hybridRun) float64 { return h.count(func(j seen) bool { return j.small && !j.up }) }

// largestUp returns 1 if the job with the largest input ran on scale-up machines.
func largestUp(h hybridRun) float64 {
	largest := slices.MaxFunc(h.jobs, func(a, b seen) int { return cmp.Compare(a.input, b.input) })
	if largest.up {
		return 1
	}
	return 0
}

// smallWait returns how long a small job waits for its first task on average.
func smallWait(h hybridRun) float64 {
	var x []float64
	for _, j := range h.jobs {
		if j.small {
			x = append(x, j.began-j.submitted)
		}
	}
	return stats.Mean(x)
}

// describe returns what a job is and when and where it ran.
func (j seen) describe() string {
	class := map[bool]string{true: "small", false: "large"}[j.small]
	return fmt.Sprintf("%s GB of a limit of %s (%s), %s, %s, %s to %s s", stats.Text(j.input), stats.Text(j.limit), class, human.Many(int64(j.maps), "map"), j.where(), stats.Text(j.began), stats.Text(j.ended))
}

func (j seen) where() string { return map[bool]string{true: "scale-up", false: "scale-out"}[j.up] }

// lasts describes, for each repetition, the job that ends last under a system (of all jobs or of the small ones), and
// when it runs under another.
func lasts(under, other []hybridRun, last func(hybridRun) int) string {
	var said []string
	for i, run := range under {
		at := last(run)
		there := other[i].jobs[at]
		said = append(said, fmt.Sprintf("%s; there %s, %s to %s s, the last ends at %s s", run.jobs[at].describe(), there.where(), stats.Text(there.began), stats.Text(there.ended), stats.Text(other[i].jobs[last(other[i])].ended)))
	}
	return strings.Join(said, " | ")
}

func lastOfAll(h hybridRun) (at int) {
	for i, j := range h.jobs {
		if j.ended > h.jobs[at].ended {
			at = i
		}
	}
	return at
}

func lastOfSmall(h hybridRun) int { at, _ := h.last(true); return at }

// lastFacts returns, for the jobs of lasts, the share of the limit, the wait, and the time from the first task to the
// end here and there.
func lastFacts(under, other []hybridRun, last func(hybridRun) int) lab.Facts {
	var part, waited, took, there []float64
	ups, small := 0, 0
	for i, run := range under {
		j, k := run.jobs[last(run)], other[i].jobs[last(run)]
		part, waited, took, there = append(part, 100*j.input/j.limit), append(waited, j.began), append(took, j.ended-j.began), append(there, k.ended-k.began)
		if j.up {
			ups++
		}
		if j.small {
			small++
		}
	}
	return lab.Facts{"part": stats.Mean(part), "waited": stats.Mean(waited), "took": stats.Mean(took), "there": stats.Mean(there), "ups": ups, "small": small, "n": len(part)}
}

// smallRun returns how long a small job takes from its first task on average.
func smallRun(h hybridRun) float64 { return meanSmall(h) - smallWait(h) }

// smallFacts are what is known of small jobs beside their ratio.
func smallFacts(with, without []hybridRun) lab.Facts {
	var each []float64
	for i, base := range without {
		each = append(each, meanSmall(with[i])/meanSmall(base))
	}
	low, _, high := stats.Range(each)
	return lab.Facts{
		"low": low, "high": high, "wait": lab.Mean(with, smallWait), "waited": lab.Mean(without, smallWait), "takes": lab.Mean(with, meanSmall),
		"left": lab.Mean(with, leftOut), "rest": lab.Ratio(with, without, smallRun).Mean, "large": lab.Ratio(with, without, meanLarge).Mean,
	}
}
