package jobpacker

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/trace"
)

// drawn are the workloads that are judged: both reduce rules at all three task rates, with random samples. Which of them the
// source had is not known (spec/jobpacker 5, item 7). A quick run has the first two.
func drawn() []workload {
	swim, out := usual, []workload{}
	swim.tasks = trace.SWIM
	for _, rate := range []string{usual.rate, "slow", "copy"} {
		for _, w := range []workload{usual, swim} {
			w.rate = rate
			out = append(out, w)
		}
	}
	return out
}

// elephantJobs is how many jobs a batch of elephants has: each has about eleven times the tasks of a job of the trace.
const elephantJobs = 200

// A reading is a workload that is reported beside those that are judged.
type reading struct {
	workload
	jobs, runs int
}

// sharedJobs is how many jobs a batch has in which Fair's reduces fill the cluster, and the deadlock rule lets maps run one by one.
const sharedJobs = 600

// readings are the workloads that are judged with elephants only, and some with more containers for waiting reduces.
func readings() (out []reading) {
	for _, w := range drawn() {
		w.elephants = true
		out = append(out, reading{w, elephantJobs, 1})
	}
	for _, c := range []struct {
		tasks, share string
		jobs         int
	}{{trace.Fine, "0.95", packJobs}, {trace.Fine, "1", sharedJobs}, {trace.SWIM, "1", packJobs}} {
		w := usual
		w.tasks, w.reduceShare = c.tasks, c.share
		out = append(out, reading{w, c.jobs, 1})
	}
	return out
}

// name says what a workload is in the words of the page.
func (w workload) name() string {
	parts := []string{map[string]string{trace.Fine: "a reduce for each GiB", trace.SWIM: "SWIM's reduces"}[w.tasks], w.rate}
	if w.elephants {
		parts = append(parts, "elephants only")
	}
	if w.reduceShare != usual.reduceShare {
		parts = append(parts, "reduce-share "+w.reduceShare)
	}
	return strings.Join(parts, ", ")
}

// on returns the set-up with another workload.
func (h hybridNet) on(w workload) hybridNet {
	h.workload = w
	return h
}

// systemsOn are the four systems on a set-up.
func systemsOn(net hybridNet) (variants []packVariant) {
	for _, name := range packNames {
		variants = append(variants, packVariant{name: name, policy: name, net: net})
	}
	return variants
}

// A tally is which workloads have the published order and ratios.
type tally struct {
	jobpacker, corral []lab.Reading
	met               []string
	all, judged       int // workloads; the judged ones come first
}

func (t *tally) add(w workload, runs map[string][]packRun) {
	over := func(name string) stats.Estimate { return lab.Ratio(runs[name], runs["f-hybrid"], packMakespan) }
	read := func(e stats.Estimate) lab.Reading {
		one := lab.Read(w.name(), e)
		one.Apart = w.reduceShare != usual.reduceShare // F-Hybrid itself takes several times as long
		return one
	}
	t.jobpacker, t.corral = append(t.jobpacker, read(over("jobpacker"))), append(t.corral, read(over("corral")))
	jp, corral := over("jobpacker").Mean, over("corral").Mean
	if t.all++; math.Abs(jp-0.65) <= 0.15 && math.Abs(corral-0.85) <= 0.15 && jp < corral && corral < 1 {
		t.met = append(t.met, w.name())
	}
}

func (t *tally) say(r *lab.Recorder) {
	r.Check(lab.Reported("7: workloads with the published order and both ratios", "0.65, 0.85, 1", fmt.Sprintf("%d of %d: %s", len(t.met), t.all, cmp.Or(strings.Join(t.met, "; "), "none"))).
		Because(r.Say("searched")))
}

// readWorkloads reports spec/jobpacker 5, item 7 with every reading.
func readWorkloads(r *lab.Recorder, day []trace.Job, t *tally) {
	for _, c := range readings() {
		runs := runPacks(r, day, systemsOn(simulated.on(c.workload)), c.jobs, c.runs)
		over := func(name string) float64 { return packRatio(runs, name, "f-hybrid", packMakespan) }
		r.Check(lab.Reported("7: makespans over F-Hybrid's, "+c.name(), "JobPacker 0.65, Corral 0.85",
			fmt.Sprintf("JobPacker %s, Corral %s, F-EPS %s", stats.Text(over("jobpacker")), stats.Text(over("corral")), stats.Text(over("f-eps")))).
			Because(fmt.Sprintf("%s of %s jobs; F-Hybrid takes %s s", human.Many(int64(c.runs), "sample"), human.Count(int64(c.jobs)), stats.Text(lab.Mean(runs["f-hybrid"], packMakespan)))))
		t.add(c.workload, runs)
	}
}
