package jobpacker

import (
	"fmt"
	"math"
	"strings"
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
	onlineStrips(r, runs)
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
	add("mixed f-eps", "f-eps", mixed, nil)
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
	add("held", "jobpacker", online, map[string]string{"agg-max-hold": "1h"})
	add("loose", "jobpacker", online, map[string]string{"agg-wait-all": "false"})
	wrong := online
	wrong.sizeError, wrong.lateJobs = 0.5, 0.5
	add("wrong jobpacker", "jobpacker", wrong, nil)
	add("wrong corral", "corral", wrong, nil)
	swim := online
	swim.tasks = trace.SWIM
	for _, name := range packNames {
		add("swim "+name, name, swim, nil)
	}
	return variants
}

// sayMedians is what else is known of a ratio of medians: its range, the ratio over all jobs and, where it is over F-Hybrid's, what a
// faster network alone gains.
func sayMedians(r *lab.Recorder, runs map[string][]packRun, a, b string, of, all func(packRun) float64) string {
	var x []float64
	for i := range runs[a] {
		x = append(x, of(runs[a][i])/of(runs[b][i]))
	}
	low, _, high := stats.Range(x)
	said := r.Say("medians", lab.Facts{"low": low, "high": high, "n": human.Many(int64(len(x)), "repetition"), "all": packRatio(runs, a, b, all)})
	if set, fair := strings.CutSuffix(b, "f-hybrid"); fair {
		said += "; " + r.Say("network", lab.Facts{"eps": fmt.Sprintf("%.3f", packRatio(runs, set+"f-eps", b, of)), "took": lab.Mean(runs[b], of)})
	}
	return said
}

// sayCircuits is the share of circuits under everything that was tried with it.
func sayCircuits(r *lab.Recorder, runs map[string][]packRun) string {
	low, _, high := stats.Range(lab.Each(runs["jobpacker"], opticalShare))
	var tried []string
	for _, c := range [][2]string{
		{"interval 100ms", "circuits chosen every 0.1 s"},
		{"interval 3s", "every 3 s"},
		{"slowstart 0.2", "slow start 0.2"},
		{"slowstart 0.5", "0.5"},
		{"slowstart 0.8", "0.8"},
		{"held", "shuffles held for an hour at most, not 30 s"},
		{"loose", "pairs of racks not held until all their reduces are placed"},
		{"swim jobpacker", "SWIM's reduces"},
	} {
		tried = append(tried, c[1]+" "+stats.Text(lab.Mean(runs[c[0]], opticalShare)))
	}
	return r.Say("circuits", lab.Facts{
		"low": low, "high": high, "n": human.Many(int64(len(runs["jobpacker"])), "repetition"), "tried": strings.Join(tried, ", "), "heavy": lab.Mean(runs["jobpacker"], heavyShare),
	})
}

// sayRoom is how long jobs of the mixed workload wait for their first task without over-provisioning, and with ratio 1.
func sayRoom(r *lab.Recorder, runs map[string][]packRun) string {
	wait := func(name string, class int) float64 {
		return lab.Mean(runs[name], func(p packRun) float64 { return stats.Mean(p.waits[class]) })
	}
	return r.Say("room", lab.Facts{"none": wait("mixed 0", 1), "one": wait("mixed 1", 1), "noneR": wait("mixed 0", 0), "oneR": wait("mixed 1", 0)})
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
	r.Check(lab.Holds("8: median completion, JobPacker < Corral < F-Hybrid", lab.Order("0.57, 0.79, 1"), fmt.Sprintf("%s, %s, 1", stats.Text(jp), stats.Text(corral)), jp < corral && corral < 1, "in this order").
		Missed(say("jobpacker", "f-hybrid")))
	aim("8: with SWIM's reduces, JobPacker over F-Hybrid", "swim jobpacker", "swim f-hybrid", 0.57)
	aim("8: with SWIM's reduces, Corral over F-Hybrid", "swim corral", "swim f-hybrid", 0.79)
	r.Check(lab.Between("12, 16: shuffle over circuits, JobPacker, %", lab.Sign("much higher than the others"), lab.Mean(runs["jobpacker"], opticalShare), 90, 100).Because("Figures 4.12 and 4.16 of the source, not items of that number").Missed(sayCircuits(r, runs)))
	aim("9: mixed, recurring jobs, JobPacker over F-Hybrid", "mixed 1", "mixed f-hybrid", 0.60)
	adhoc := packRatio(runs, "mixed 1", "mixed f-hybrid", adhocMedian)
	r.Check(lab.Within("9: mixed, ad-hoc jobs, JobPacker over F-Hybrid", adhoc, 0.62, 0.15).SameSide(1).Shown("%.3f", adhoc).Because(sayMedians(r, runs, "mixed 1", "mixed f-hybrid", adhocMedian, adhocMedianAll)))
	vary := 0.0
	for _, d := range otherIntervals {
		vary = max(vary, math.Abs(of("interval "+d.String(), "jobpacker")-1))
	}
	r.Check(lab.Between("11: median by reconfiguration interval, change from 1 s", lab.Number("minimal: 0"), vary, 0, 0.1).Because(r.Say("changes of the interval")).Accept("at most 0.1").Shown("%.4f", vary).Missed(say("interval 3s", "jobpacker")))
	three := of("interval 3s", "f-hybrid")
	r.Check(lab.Between("11: median with an interval of 3 s over F-Hybrid", lab.Number("0.62 (38 % below)"), three, 0, 0.75).Mark(0.62).Accept("at most 0.75").SameSide(1).Missed(say("interval 3s", "f-hybrid")))
	slowstarts(r, of, say)
	provisions(r, runs, of, say)
	wrongPlansRows(r, of, say)
	for _, c := range []struct {
		kind    string
		of, all func(packRun) float64
	}{{"recurring", packMedian, packMedianAll}, {"ad-hoc", adhocMedian, adhocMedianAll}} {
		v := packRatio(runs, "mixed aggregated", "mixed 1", c.of)
		r.Check(lab.AtLeast("15: aggregating ad-hoc jobs, "+c.kind+" median over without", lab.Sign("not better"), v, 1).Shown("%.4f", v).Because("1 is accepted").Because(sayMedians(r, runs, "mixed aggregated", "mixed 1", c.of, c.all)))
	}
}

// slowstarts is spec/jobpacker 5, item 12.
func slowstarts(r *lab.Recorder, of func(name, base string) float64, say func(name, base string) string) {
	for _, s := range []string{"0.5", "0.8"} {
		v := of("slowstart "+s, "jobpacker")
		r.Check(lab.Between("12: median with slow start "+s+" over 0.7", lab.Number("flat: 1"), v, 0.95, 1.05).Mark(1).Shown("%.4f", v).Missed(say("slowstart "+s, "jobpacker")))
	}
	v := of("slowstart 0.2", "jobpacker")
	r.Check(lab.AtLeast("12: median with slow start 0.2 over 0.7", lab.Sign("not better (slightly worse)"), v, 0.995).Shown("%.4f", v).Because(say("slowstart 0.2", "jobpacker")))
}

// provisions is spec/jobpacker 5, item 13.
func provisions(r *lab.Recorder, runs map[string][]packRun, of func(name, base string) float64, say func(name, base string) string) {
	none, twice := of("mixed 0", "mixed 1"), of("mixed 2", "mixed 1")
	r.Check(lab.AtLeast("13: mixed, no over-provisioning over ratio 1", lab.Sign("worse (above 1)"), none, math.Nextafter(1, 2)).Accept("above 1").Shown("%.4f", none).Missed(say("mixed 0", "mixed 1")).Missed(sayRoom(r, runs)))
	r.Check(lab.Between("13: mixed, ratio 2 over ratio 1", lab.Number("flat: 1"), twice, 0.93, 1.07).Mark(1).Shown("%.4f", twice).Missed(say("mixed 2", "mixed 1")))
}

// wrongPlansRows is spec/jobpacker 5, item 14. The source has a value with wrong sizes and one with wrong arrivals; here both are wrong at once.
func wrongPlansRows(r *lab.Recorder, of func(name, base string) float64, say func(name, base string) string) {
	for _, c := range []struct {
		title, base     string
		sizes, arrivals float64
	}{{"F-Hybrid", "f-hybrid", 0.67, 0.77}, {"Corral", "wrong corral", 0.75, 0.78}} {
		v := of("wrong jobpacker", c.base)
		published := fmt.Sprintf("%s with wrong sizes, %s with wrong arrivals", stats.Text(c.sizes), stats.Text(c.arrivals))
		r.Check(lab.Between("14: with wrong plans, JobPacker over "+c.title, lab.Number(published), v, c.sizes-0.15, c.arrivals+0.15).Direction(v < 1).Because(r.Say("told")).Shown("%.3f", v).Missed(say("wrong jobpacker", c.base)))
	}
}
