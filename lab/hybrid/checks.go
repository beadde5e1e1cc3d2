package hybrid

import (
	"fmt"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// strategies are the variants of spec/hybrid 3.7 that differ without a network.
func strategies(online bool, jobs int) []hybridVariant {
	return []hybridVariant{
		{name: "FS", cluster: traditional, base: "fair", online: online, jobs: jobs},
		{name: "DS", cluster: traditional, base: "delay", online: online, jobs: jobs},
		{name: "H-FS-w/o", cluster: mixed, base: "fair", online: online, jobs: jobs},
		{name: "H-DS-w/o", cluster: mixed, base: "delay", online: online, jobs: jobs},
		{name: "H-FS-with", cluster: mixed, base: "fair", on: true, steal: true, online: online, jobs: jobs},
		{name: "H-DS-with", cluster: mixed, base: "delay", on: true, steal: true, online: online, jobs: jobs},
		{name: "H-w/o-JS", cluster: mixed, base: "fair", on: true, online: online, jobs: jobs},
	}
}

// hybridCount jobs in an hour are the source's.
const hybridCount = 1000

// largeWork is the share of the maps of FB-2010 that belongs to large jobs (spec/hybrid 2.6).
const largeWork = 0.975

// containers are the facts of the work conservation of spec/hybrid 6.20.
func containers() lab.Facts {
	before, after := traditional.slots(), mixed.racks*mixed.perRack*outSlots
	return lab.Facts{
		"before": before, "after": after, "hybrid": mixed.slots(), "percent": 100 * largeWork,
		"work": largeWork, "part": float64(after) / float64(before), "over": largeWork * float64(before) / float64(after),
	}
}

func online(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	at := newSetting(r)
	list := strategies(true, hybridCount)
	list = append(list, hybridVariant{name: "literal", cluster: mixed, base: "fair", on: true, steal: true, literal: true, online: true, jobs: hybridCount})
	got := hybrids(r, at.of(list, judgedScale), n)
	ablations(r, got)
	wired := dataPlacement(r, at, true, n)
	benefits(r, got)
	order(r, got)
	tail(r, got)
	guardStudy(r, got)
	rows := scaleRows(r, at, got, true, n, []quantity{
		{"6: mean completion, H-w/o-JS / H-FS-with", "1.19", "H-w/o-JS", "H-FS-with", meanAll},
		{"6: mean completion, H-w/o-P / H-FS-with", "1.27", "H-FS-w/o", "H-FS-with", meanAll},
		{"7: mean completion of small jobs, H-FS-with / FS", "below 0.45", "H-FS-with", "FS", meanSmall},
		{"7: mean completion of large jobs, H-FS-with / FS", "0.80 and more", "H-FS-with", "FS", meanLarge},
		{"9: mean completion, H-FS-with / FS", "0.49 real", "H-FS-with", "FS", meanAll},
		{"9: median completion, H-FS-with / FS", "about 0.40 real", "H-FS-with", "FS", medianAll},
		{"10: completion of the largest job, H-FS-with / FS", "slower (above 1)", "H-FS-with", "FS", topOf},
	})
	rows = append(rows, scaled{"x50/3000, stealing by the literal rule", map[string][]hybridRun{"FS": got["FS"], "H-FS-with": got["literal"]}})
	rows = append(rows, wired...)
	rows = append(rows, wholeDay(r, at, true)...)
	const unit = "mean completion over FS's"
	strips(r, rows, []headline{
		{"small", "Mean completion of small jobs, H-FS-with over FS", unit, "below 0.45", 0.45, meanSmall, 1},
		{"all", "Mean completion of all jobs, H-FS-with over FS", unit, "0.49", 0.49, meanAll, 1},
	})
	errorSweep(r, at, true, n)
	replacementSweep(r, at, n)
	drawOnline(r, got)
	watched := at.of(list, judgedScale)
	r.Watch(watched[0].scene(r), watched[4].scene(r))
}

func ablations(r *lab.Recorder, got map[string][]hybridRun) {
	js := lab.Ratio(got["H-w/o-JS"], got["H-FS-with"], meanAll)
	r.Check(lab.Between("6: mean completion, H-w/o-JS / H-FS-with", lab.Number("1.19"), js.Mean, 1.04, 1.34).Mark(1.19).SameSide(1).Shown("%.3f", js.Mean).Missed(r.Say("never dry", lab.Facts{"stolen": lab.Mean(got["H-FS-with"], stolenJobs), "literal": lab.Mean(got["literal"], stolenJobs)})))
	p := lab.Ratio(got["H-FS-w/o"], got["H-FS-with"], meanAll)
	r.Check(lab.Between("6: mean completion, H-w/o-P / H-FS-with", lab.Number("1.27"), p.Mean, 1.12, 1.42).Because("without a network H-w/o-P is the same as H-FS-w/o, which was run").Mark(1.27).SameSide(1).Missed(r.Say("placed", placedFacts(got))))
}

func benefits(r *lab.Recorder, got map[string][]hybridRun) {
	small, large := lab.Ratio(got["H-FS-with"], got["FS"], meanSmall), lab.Ratio(got["H-FS-with"], got["FS"], meanLarge)
	facts := smallFacts(got["H-FS-with"], got["FS"])
	r.Check(lab.Between("7: mean completion of small jobs, H-FS-with / FS", lab.Number("below 0.45"), small.Mean, 0, 0.6).Accept("at most 0.6").Direction(small.Mean < 1).Missed(r.Say("speed")).Missed(r.Say("waits", facts)))
	r.Check(lab.Between("7: mean completion of large jobs, H-FS-with / FS", lab.Number("0.80 and more (up to 20 % shorter)"), large.Mean, 0.75, 1.05).Missed(r.Say("fewer machines")))
	r.Check(lab.Holds("7: small jobs gain more than large ones", lab.Sign("small jobs' ratio to FS is the lower one"), fmt.Sprintf("%s for small jobs, %s for large ones", stats.Text(small.Mean), stats.Text(large.Mean)), small.Mean < large.Mean, "small below large").Because("ratios of the mean completion time to FS's").Missed(r.Say("waits", facts)))
}

// order is spec/hybrid 5, item 9: where the source printed a value the row is judged by it, with the tolerance of item 6 or the bound of item 7.
func order(r *lab.Recorder, got map[string][]hybridRun) {
	for _, c := range []struct {
		with, without string
		mean          float64
	}{{"H-FS-with", "FS", 0.49}, {"H-DS-with", "DS", 0.48}} {
		name := ", " + c.with + " / " + c.without
		of := func(q func(hybridRun) float64) float64 { return lab.Ratio(got[c.with], got[c.without], q).Mean }
		facts := smallFacts(got[c.with], got[c.without])
		speed, waits := r.Say("speed"), r.Say("waits", facts)
		r.Check(lab.Within("9: mean completion"+name, of(meanAll), c.mean, 0.15).SameSide(1).Missed(speed).Missed(r.Say("large jobs", facts)))
		r.Check(lab.Within("9: median completion"+name, of(medianAll), 0.40, 0.15).Quoted(lab.Number("about 0.40")).SameSide(1).Missed(speed))
		small := of(meanSmall)
		r.Check(lab.Between("9: mean completion of small jobs"+name, lab.Number("below 0.45"), small, 0, 0.6).Accept("at most 0.6").Direction(small < 1).Missed(speed).Missed(waits))
		r.Check(lab.Between("9: median completion of small jobs"+name, lab.Sign("below 1"), of(medianSmall), 0, 0.9999).Accept("below 1").Because(waits))
	}
}

// tail is the rest of spec/hybrid 5, item 9, and item 10.
func tail(r *lab.Recorder, got map[string][]hybridRun) {
	e := lab.Ratio(got["H-FS-w/o"], got["FS"], meanAll)
	r.Check(lab.AtLeast("9: mean completion, H-FS-w/o / FS", lab.Number("about 1"), e.Mean, 0.95).Mark(1))
	top, median := lab.Ratio(got["H-FS-with"], got["FS"], topOf), lab.Ratio(got["H-FS-with"], got["FS"], medianAll)
	r.Check(lab.AtLeast("10: completion of the largest job, H-FS-with / FS", lab.Sign("slower (above 1)"), top.Mean, 0.98).Because(r.Say("the largest of 1,000")).Because(r.Say("largest", lab.Facts{"ups": fmt.Sprintf("%.0f", float64(len(got["H-FS-with"]))*lab.Mean(got["H-FS-with"], largestUp)), "n": len(got["H-FS-with"])})))
	fallen := lab.Between("10: the median falls, %", lab.Number("about 60"), 100*(1-median.Mean), 40, 100).Mark(60).SameSide(0).Accept("by at least 40 %").Missed(r.Say("speed"))
	if median.Mean > 1 {
		fallen = fallen.Shown("it rises, to %s times FS's", stats.Text(median.Mean))
	}
	r.Check(fallen)
}

func guardStudy(r *lab.Recorder, got map[string][]hybridRun) {
	stolen, called := lab.Mean(got["literal"], stolenJobs), lab.Mean(got["literal"], calledSmall)
	r.Check(lab.Reported("12: small jobs stolen by the literal rule, %", "nothing: our question", stats.Text(100*stolen/called)).Because(r.Say("literal", lab.Facts{"stolen": lab.Mean(got["H-FS-with"], stolenJobs), "literal": stolen, "called": called})))
	e := lab.Ratio(got["H-FS-with"], got["literal"], meanSmall)
	r.Check(lab.Reported("12: mean completion of small jobs, with the guard / literal", "nothing: we expect it not to be higher", stats.Text(e.Mean)))
}

// placedFacts are how much longer small and large jobs take where any job runs on any machine.
func placedFacts(got map[string][]hybridRun) lab.Facts {
	return lab.Facts{
		"small": lab.Ratio(got["H-FS-w/o"], got["H-FS-with"], meanSmall).Mean, "large": lab.Ratio(got["H-FS-w/o"], got["H-FS-with"], meanLarge).Mean,
	}
}
