package jobpacker

import (
	"fmt"
	"math"
	"time"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/trace"
)

func online(r *lab.Recorder) {
	n := r.Seeds(8, 1)
	jobs := packJobs
	if r.Quick() {
		jobs = 200
	}
	runs := comparePacks(r, onlineVariants(jobs), jobs, n)
	onlineChecks(r, runs)
	drawPackOnline(r, runs)
}

// otherIntervals are times between two choices of circuits beside the usual second.
var otherIntervals = []time.Duration{100 * time.Millisecond, 3 * time.Second}

func onlineVariants(jobs int) (variants []packVariant) {
	online := simulated
	online.span = onlineSpan(jobs)
	mixed := online
	mixed.adhoc = 0.5
	add := func(name, policy string, net hybridNet, params map[string]string) {
		variants = append(variants, packVariant{name: name, policy: policy, net: net, params: params})
	}
	for _, name := range packNames {
		add(name, name, online, nil)
	}
	add("mixed f-hybrid", "f-hybrid", mixed, nil)
	for _, ratio := range []string{"0", "1", "2"} {
		add("mixed "+ratio, "jobpacker", mixed, map[string]string{"over-provision": ratio})
	}
	add("mixed aggregated", "jobpacker-adhoc-agg", mixed, map[string]string{"over-provision": "1"})
	for _, d := range otherIntervals {
		net := online
		net.interval = d
		add("interval "+d.String(), "jobpacker", net, nil)
	}
	for _, s := range []string{"0.2", "0.5", "0.8"} {
		net := online
		net.slowstart = s
		add("slowstart "+s, "jobpacker", net, nil)
	}
	wrong := online
	wrong.sizeError, wrong.lateJobs = 0.5, 0.5
	add("wrong jobpacker", "jobpacker", wrong, nil)
	add("wrong corral", "corral", wrong, nil)
	swim := online
	swim.tasks = trace.SWIM
	for _, name := range []string{"f-hybrid", "corral", "jobpacker"} {
		add("swim "+name, name, swim, nil)
	}
	return variants
}

// sayMedians is what else is known of a ratio of medians: its range, and the ratio over all jobs.
func sayMedians(r *lab.Recorder, runs map[string][]packRun, a, b string, of, all func(packRun) float64) string {
	var x []float64
	for i := range runs[a] {
		x = append(x, of(runs[a][i])/of(runs[b][i]))
	}
	low, _, high := stats.Range(x)
	return r.Say("medians", lab.Facts{"low": low, "high": high, "n": human.Many(int64(len(x)), "repetition"), "all": packRatio(runs, a, b, all)})
}

func onlineChecks(r *lab.Recorder, runs map[string][]packRun) {
	of := func(name, base string) float64 { return packRatio(runs, name, base, packMedian) }
	say := func(name, base string) string { return sayMedians(r, runs, name, base, packMedian, packMedianAll) }
	aim := func(item, name, base string, want float64) {
		r.Check(lab.Within(item, of(name, base), want, 0.15).SameSide(1).Shown("%.3f", of(name, base)).Because(say(name, base)))
	}
	aim("8: median completion of JobPacker over F-Hybrid", "jobpacker", "f-hybrid", 0.57)
	aim("8: median completion of Corral over F-Hybrid", "corral", "f-hybrid", 0.79)
	jp, corral := of("jobpacker", "f-hybrid"), of("corral", "f-hybrid")
	r.Check(lab.Holds("8: median completion, JobPacker < Corral < F-Hybrid", "0.57, 0.79, 1", fmt.Sprintf("%s, %s, 1", stats.Text(jp), stats.Text(corral)), jp < corral && corral < 1, "in this order").
		Direction(jp < min(corral, 1)).Missed(say("jobpacker", "corral")))
	aim("8: with SWIM's reduces, JobPacker over F-Hybrid", "swim jobpacker", "swim f-hybrid", 0.57)
	aim("8: with SWIM's reduces, Corral over F-Hybrid", "swim corral", "swim f-hybrid", 0.79)
	r.Check(lab.Between("12, 16: shuffle over circuits, JobPacker, %", "much higher than the others", lab.Mean(runs["jobpacker"], opticalShare), 90, 100).Because("Figures 4.12 and 4.16 of the source, not items of that number"))
	aim("9: mixed, recurring jobs, JobPacker over F-Hybrid", "mixed 1", "mixed f-hybrid", 0.60)
	adhoc := packRatio(runs, "mixed 1", "mixed f-hybrid", adhocMedian)
	r.Check(lab.Within("9: mixed, ad-hoc jobs, JobPacker over F-Hybrid", adhoc, 0.62, 0.15).SameSide(1).Shown("%.3f", adhoc).Because(sayMedians(r, runs, "mixed 1", "mixed f-hybrid", adhocMedian, adhocMedianAll)))
	vary := 0.0
	for _, d := range otherIntervals {
		vary = max(vary, math.Abs(of("interval "+d.String(), "jobpacker")-1))
	}
	r.Check(lab.Between("11: median by reconfiguration interval, change from 1 s", "minimal", vary, 0, 0.1).Because("the larger of the changes with 0.1 and 3 s; 0.1 is 10 %").Accept("at most 0.1").Shown("%.4f", vary).Missed(say("interval 3s", "jobpacker")))
	three := of("interval 3s", "f-hybrid")
	r.Check(lab.Between("11: median with an interval of 3 s over F-Hybrid", "0.62 (38 % below)", three, 0, 0.75).Mark(0.62).Accept("at most 0.75").SameSide(1).Missed(say("interval 3s", "f-hybrid")))
	slowstarts(r, of, say)
	provisions(r, of, say)
	for _, c := range []struct {
		kind    string
		of, all func(packRun) float64
	}{{"recurring", packMedian, packMedianAll}, {"ad-hoc", adhocMedian, adhocMedianAll}} {
		v := packRatio(runs, "mixed aggregated", "mixed 1", c.of)
		r.Check(lab.AtLeast("15: aggregating ad-hoc jobs, "+c.kind+" median over without", "not better", v, 1).Shown("%.4f", v).Because("1 is accepted").Missed(sayMedians(r, runs, "mixed aggregated", "mixed 1", c.of, c.all)))
	}
}

// slowstarts is item 12.
func slowstarts(r *lab.Recorder, of func(name, base string) float64, say func(name, base string) string) {
	for _, s := range []string{"0.5", "0.8"} {
		v := of("slowstart "+s, "jobpacker")
		r.Check(lab.Between("12: median with slow start "+s+" over 0.7", "flat", v, 0.95, 1.05).Mark(1).Shown("%.4f", v).Missed(say("slowstart "+s, "jobpacker")))
	}
	v := of("slowstart 0.2", "jobpacker")
	r.Check(lab.AtLeast("12: median with slow start 0.2 over 0.7", "not better (slightly worse)", v, 0.995).Shown("%.4f", v).Missed(say("slowstart 0.2", "jobpacker")))
}

// provisions is items 13 and 14.
func provisions(r *lab.Recorder, of func(name, base string) float64, say func(name, base string) string) {
	none, twice := of("mixed 0", "mixed 1"), of("mixed 2", "mixed 1")
	r.Check(lab.AtLeast("13: mixed, no over-provisioning over ratio 1", "worse (above 1)", none, math.Nextafter(1, 2)).Accept("above 1").Shown("%.4f", none).Missed(say("mixed 0", "mixed 1")))
	r.Check(lab.Between("13: mixed, ratio 2 over ratio 1", "flat", twice, 0.93, 1.07).Mark(1).Shown("%.4f", twice).Missed(say("mixed 2", "mixed 1")))
	const told = "the planner is told sizes off by up to half, and half of the arrivals off by up to 200 s"
	for _, c := range []struct{ title, base, published string }{
		{"F-Hybrid", "f-hybrid", "below 1 (0.67 with wrong sizes, 0.77 with wrong arrivals)"}, {"Corral", "wrong corral", "below 1 (0.75 with wrong sizes, 0.78 with wrong arrivals)"},
	} {
		v := of("wrong jobpacker", c.base)
		r.Check(lab.Between("14: with wrong plans, JobPacker over "+c.title, c.published, v, 0, 1).Because(told).Accept("at most 1").Shown("%.3f", v).Missed(say("wrong jobpacker", c.base)))
	}
}
