package lab

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// saySample puts the jobs of this run into the set-up.
func (r *Recorder) saySample(jobs int, from string) {
	drawn, arrival := strings.Replace(packDrawn, fromTrace, from, 1), packArrival
	if jobs != packJobs {
		drawn = strings.Replace(drawn, "1,000 jobs", fmt.Sprint(jobs, " jobs"), 1)
		drawn = strings.Replace(drawn, from, from+" (1,000 in a full run)", 1)
		arrival = fmt.Sprintf("Arrivals are uniform within %.0f minutes (90 in a full run, so the rate is the same).", onlineSpan(jobs).Minutes())
	}
	r.report.Setup = strings.NewReplacer(packDrawn, drawn, packArrival, arrival).Replace(r.report.Setup)
}

// onlineSpan is how long jobs arrive: fewer jobs for a shorter time, at the same rate.
func onlineSpan(jobs int) time.Duration { return 90 * time.Minute * time.Duration(jobs) / packJobs }

// counted is "1 sample" or "2 samples".
func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprint(n, " ", what)
}

// oneRack is why Corral uses few circuits.
func oneRack(corral []packRun) string {
	said := fmt.Sprintf("its planner finds one rack best for nearly every job, so that nothing crosses (%d of %s)", idle(corral), counted(len(corral), "repetition"))
	if some := len(corral) - idle(corral); some > 0 {
		said += fmt.Sprintf("; what crosses otherwise comes from a few very large jobs, and most of it is large enough for circuits in %d of %s with such jobs", overCircuits(corral), counted(some, "repetition"))
	}
	return said
}

// overCircuits counts runs that sent most of what crossed over circuits.
func overCircuits(runs []packRun) (n int) {
	for i := range runs {
		if runs[i].optical > 0.5 {
			n++
		}
	}
	return n
}

// idle counts runs in which nothing crossed racks.
func idle(runs []packRun) (n int) {
	for i := range runs {
		if runs[i].cross == 0 {
			n++
		}
	}
	return n
}

// crossed is what crossed racks, in TB.
func crossed(runs []packRun) Estimate {
	var x []float64
	for i := range runs {
		x = append(x, runs[i].cross/1e12)
	}
	return NewEstimate(x)
}

// enoughWhy is why circuits bring less than published, with the ratios of JobPacker and
// of F-EPS to F-Hybrid.
func enoughWhy(jp, eps float64) string {
	said := enoughPackets + fmt.Sprintf(". F-EPS, with 100 Gb/s for everybody, takes %s of F-Hybrid's time", number(eps))
	if jp < eps {
		said += fmt.Sprintf("; JobPacker's %s is lower still, so a part of its gain comes from its plans and not from the network", number(jp))
	}
	return said
}

// unknownBatch is what is known of a ratio of makespans that no reason is known for.
func unknownBatch(runs map[string][]packRun, a, b string, jobs int) string {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range runs[a] {
		v := runs[a][i].makespan / runs[b][i].makespan
		low, high = min(low, v), max(high, v)
	}
	if len(runs[a]) < 2 {
		return fmt.Sprintf("reason not known; this run has a single sample of %d jobs", jobs)
	}
	return fmt.Sprintf("reason not known; by the repetition the ratio is %s to %s", number(low), number(high))
}

// slowdowns says what the slowest packet network costs each system that uses it.
func slowdowns(runs map[string][]packRun) string {
	slowest := slowRates[len(slowRates)-1]
	times := func(name string) string {
		return number(minutes(runs[fmt.Sprint(name, " ", slowest)]) / minutes(runs[name]))
	}
	return fmt.Sprintf("With %g instead of 30 Gb/s the makespan is %s times as long under F-Hybrid, %s times under JobPacker and %s times under Corral, which sends little between racks.",
		slowest, times("f-hybrid"), times("jobpacker"), times("corral"))
}

// meetBoth names the rates of the packet network at which JobPacker and Corral are both
// as close to the published ratios as is accepted.
func meetBoth(runs map[string][]packRun) string {
	var met []string
	for _, gbps := range append([]float64{30}, slowRates...) {
		suffix := ""
		if gbps != 30 {
			suffix = fmt.Sprint(" ", gbps)
		}
		jp, corral := packRatio(runs, "jobpacker"+suffix, "f-hybrid"+suffix, packMakespan), packRatio(runs, "corral"+suffix, "f-hybrid"+suffix, packMakespan)
		if math.Abs(jp-0.65) <= 0.15 && math.Abs(corral-0.85) <= 0.15 {
			met = append(met, fmt.Sprintf("%g", gbps))
		}
	}
	said := "In this run no rate meets both published ratios to F-Hybrid, 0.65 of JobPacker and 0.85 of Corral"
	if len(met) > 0 {
		said = "In this run both published ratios to F-Hybrid, 0.65 of JobPacker and 0.85 of Corral, are met at " + strings.Join(met, " and ") + " Gb/s"
	}
	return said + fmt.Sprintf(" (within 0.15, %s).", counted(len(runs["jobpacker"]), "repetition"))
}
