package deadline

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// avg returns the mean of a quantity over runs.
func avg(runs []goalRun, of func(goalRun) float64) float64 {
	_, mean, _ := stats.Range(lab.Each(runs, of))
	return mean
}

// spanOf returns the smallest and the largest of a quantity over runs, and a text of mean, unit and both.
func spanOf(unit string, runs []goalRun, of func(goalRun) float64) (low, high float64, said string) {
	x := lab.Each(runs, of)
	return slices.Min(x), slices.Max(x), stats.Span(x, unit)
}

func done(job int) func(goalRun) float64 { return func(g goalRun) float64 { return g.completion[job] } }

func peak(job int) func(goalRun) float64 {
	return func(g goalRun) float64 { return float64(g.peak[job]) }
}

func early(g goalRun) float64 { return g.early }

func checkGoals(r *lab.Recorder, runs map[string][]goalRun) {
	low, high, said := spanOf("s", runs["min"], done(0))
	r.Check(lab.Holds("1: J1 under min misses its goal of 6,000 s in every run", lab.Order("misses (V-C)"), said, low > 6050 && high < 7000, "all runs within 6,050 to 7,000 s").Because(r.Say("built in")))
	low, high, said = spanOf("s", runs["max"], done(0))
	r.Check(lab.Holds("1: J1 under max meets its goal in every run", lab.Order("meets (V-D)"), said, low > 4500 && high < 5600, "all runs within 4,500 to 5,600 s"))
	r.Check(lab.Within("2: mean slots of J1 alone under min", avg(runs["min"], early), 20, 3).Because(r.Say("level")))
	r.Check(lab.Within("2: mean slots of J1 alone under max", avg(runs["max"], early), 60, 0.6).Because("from 100 s until J2 comes"))
	r.Check(lab.Between("2: first burst of J1 under min, slots", lab.Number("60 (V-C)"), slices.Min(lab.Each(runs["min"], peak(0))), 60, 60).Because("smallest of all runs").Mark(60))
	for _, j := range []int{2, 3} {
		name := fmt.Sprintf("J%d", j+1)
		under := func(policy string) float64 { return avg(runs[policy], done(j)) }
		low, _, said := spanOf("s", runs["fair"], done(j))
		r.Check(lab.Holds("3: "+name+" misses 150 s under unweighted fair in every run", lab.Order("misses (V-E)"), said, low > 150, "all runs above 150 s"))
		r.Check(lab.AtLeast("3: "+name+" fair / max", lab.Sign("longer"), under("fair")/under("max"), 1.5).Because("completion times"))
		_, _, said = spanOf("s", runs["weighted"], done(j))
		r.Check(lab.Holds("4: "+name+" under weights 1, 1.4, 122, s", lab.Sign("close to max (V-E)"), said, under("weighted") >= 115 && under("weighted") <= 150, "a mean of 115 to 150 s").Because(r.Say("beside max", lab.Facts{"max": under("max")})))
		for _, v := range []string{"min", "max"} {
			r.Check(lab.Between("11: "+name+" under "+v+" over its goal", lab.Nobody("nothing; about 1 by the published formula"), under(v)/150, 0, 1.25).Because(r.Say("evenly spread")).Mark(1))
			r.Check(lab.Between("11: the same with tail reserve", lab.Nobody("nothing; our own parameter"), under(v+"-tail")/150, 0, 1.03).Because(name + " under " + v))
		}
	}
	r.Check(lab.Within("4: J1 under weights / under max", avg(runs["weighted"], done(0))/avg(runs["max"], done(0)), 1, 0.02).Because("completion times"))
	r.Check(lab.Within("5: J2 under min, s", avg(runs["min"], done(1)), 3000, 150).Because("completion; published as close to its goal"))
	r.Check(lab.Between("5: J2 under max over its goal", lab.Number("close to 1 (V-D)"), avg(runs["max"], done(1))/3000, 0.78, 1).Because(r.Say("slots that nobody needs")).Mark(1))
}

func checkSlots(r *lab.Recorder, runs map[string][]goalRun) {
	r.Check(lab.Within("3: mean slots of J3 under fair", avg(runs["fair"], func(g goalRun) float64 { return g.share }), 20, 3).Because("a third of 60, while three jobs run"))
	for _, v := range []string{"min", "max"} {
		for _, j := range []int{2, 3} {
			low, _, said := spanOf("slots", runs[v], peak(j))
			r.Check(lab.Holds(fmt.Sprintf("6: peak slots of J%d under %s", j+1, v), lab.Number("most of 60"), said, low >= 40, "all runs at least 40"))
		}
	}
	r.Check(lab.Between("6: peak slots of J2's burst under min", lab.Number("60"), slices.Min(lab.Each(runs["min"], peak(1))), 55, 60).Because("smallest of all runs").Mark(60))
	low, _, said := spanOf("slots", runs["weighted"], peak(2))
	r.Check(lab.Holds("4: peak slots of J3 under weights", lab.Number("most of 60"), said, low >= 55, "all runs at least 55"))
	busy := func(g goalRun) float64 { return 100 * g.busy }
	for _, v := range []string{"max", "fair"} {
		r.Check(lab.Between("7: map slots in use under "+v+", %", lab.Sign("work conserving"), avg(runs[v], busy), 95, 100))
	}
	r.Check(lab.Between("7: map slots in use under min, %", lab.Sign("leaves slots idle"), avg(runs["min"], busy), 0, 80))
}
