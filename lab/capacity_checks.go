package lab

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// lawOf is the locality law of capacity.md 6, item 1, in per cent.
func lawOf(maps int32, copies int) float64 {
	miss := 1 - float64(copies)/capNodes
	sum := 0.0
	for k := 1; k <= int(maps); k++ {
		sum += math.Pow(miss, float64(k))
	}
	return 100 * sum / float64(maps)
}

var capPublishedRack = []string{"10.3 to 14.2", "4.5 to 7.7", "2.3 to 3.6", "1.0 to 2.4", "80 to 95", "75 to 90", "52 to 68"}

func capacityLocality(r *Recorder) error {
	n := r.seeds(5, 3)
	types := len(capTypes)
	low, high, avg := make([]float64, types), make([]float64, types), make([]float64, types)
	for t := range low {
		low[t], high[t] = math.Inf(1), math.Inf(-1)
	}
	for _, g := range capGroups {
		for _, s := range capSettings {
			m, err := r.capacity(g, s, capBase(), n)
			if err != nil {
				return err
			}
			for t := range types {
				v := 100 * m.rack[t]
				low[t], high[t], avg[t] = min(low[t], v), max(high[t], v), avg[t]+v/32
			}
		}
	}
	for t, c := range capTypes {
		law := lawOf(c.maps, capCopies)
		item := fmt.Sprintf("1: type %d (%s), maps that are only rack-local, %%", t+1, several(int(c.maps), "map"))
		if t < longTypes {
			r.between(item, capPublishedRack[t], avg[t], 0.85*law, 2.3*law, fmt.Sprintf("the law gives %s", number(law)+" %"))
		} else {
			r.between(item, capPublishedRack[t], avg[t], law-7, law+7, fmt.Sprintf("the law gives %s", number(law)+" %"))
			r.between(fmt.Sprintf("1: type %d moves over all 32 settings, points", t+1), "15 at most", high[t]-low[t], 0, 15, "")
		}
	}
	r.fallsWithMaps(avg)
	bars := chart.Bars{Frame: chart.Frame{Title: "Maps that are only rack-local, by type of job", X: chart.Axis{Label: "% of the type's maps"}}, Reference: "the law"}
	for t, c := range capTypes {
		bars.Bars = append(bars.Bars, chart.Bar{Label: fmt.Sprintf("type %d (%s)", t+1, several(int(c.maps), "map")), Value: avg[t], Low: low[t], High: high[t], Published: lawOf(c.maps, capCopies)})
	}
	r.figure("locality", "Means over all 32 experiments; the whiskers are the smallest and the largest of them. The thick line is the law, not a published value; what was published stands in the table.", bars)
	one, err := r.capacity(capGroups[0], capSettings[1], capOptions{lag: capLag, copies: 1}, n)
	if err != nil {
		return err
	}
	r.within("1: type 5 with one replica, % (control)", 100*one.rack[4], 96.7, 4, "the law for one replica: 29 of 30 nodes do not hold the block")
	return nil
}

// fallsWithMaps checks that jobs with more maps have a smaller share of maps without a local block.
func (r *Recorder) fallsWithMaps(avg []float64) {
	order := make([]int, len(avg))
	for t := range order {
		order[t] = t
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(capTypes[a].maps, capTypes[b].maps) })
	falls, values := true, []string{}
	for i, t := range order {
		falls = falls && (i == 0 || avg[t] < avg[order[i-1]])
		values = append(values, number(avg[t]))
	}
	r.holds("1: the share falls with the number of maps", "falls from 89.4 to 1.5 %", strings.Join(values, ", ")+" %", falls, "types in the order of 1, 2, 10, 100, 200, 400 and 800 maps, means over all 32 experiments")
	r.accept("falls at each step")
}

func capacityPhased(r *Recorder) error {
	n := r.seeds(5, 2)
	g := capGroups[0]
	runs := map[string]capMean{}
	watched := map[string]*Watcher{"b": watchTypes(), "f": watchTypes()}
	for _, s := range capSettings {
		o := capBase()
		if s.name == "b" || s.name == "f" {
			o.watch = watched[s.name]
		}
		m, err := r.capacity(g, s, o, n)
		if err != nil {
			return err
		}
		runs[s.name] = m
	}
	for k, name := range []string{"b", "f"} {
		area := watched[name].Area("Running maps by type, MULP "+[]string{"100", "25"}[k], runs[name].runs[0].end)
		area.Y.Label = "running maps"
		r.figure("types-"+name, "Running maps of each type of job, both sides together, first repetition. Experiment "+[]string{"2: under MULP 100 one job of a side after the other.", "6: under MULP 25 up to four jobs of a side at once."}[k], area)
	}
	phasedRatios(r, runs)
	delayed := runs["a"].ratio[3]
	r.between("3: type 4 in experiment 1 / in 2 and 3", "2.1 / 6.7 = 0.31", 2*delayed/(runs["b"].ratio[3]+runs["c"].ratio[3]), 0, 0.5, "response ratios; delayed map execution, with books that lag 0.3 s")
	r.mark(0.31)
	exact, err := r.capacity(g, capSettings[0], capOptions{lag: "0s", copies: capCopies}, n)
	if err != nil {
		return err
	}
	r.within("3: the same with exact books", 2*exact.ratio[3]/(runs["b"].ratio[3]+runs["c"].ratio[3]), 1, 0.05, "not published: without a lag no difference is expected")
	spanOf := 0.0
	for _, s := range capSettings {
		for _, q := range []string{"q1", "q2"} {
			spanOf = max(spanOf, runs[s.name].makespan[q]/runs["b"].makespan["q1"])
		}
	}
	r.between("7: largest makespan over settings / experiment 2", "1.03", spanOf, 0.94, 1.06, "")
	r.mark(1.03)
	drawPhased(r, runs)
	r.within("7: makespan of experiment 2, s", runs["b"].makespan["q1"], 1230, 123, "calibrated: the thesis does not print its disk rates, our specification chose 95 and 65 MB/s so that its tables come out")
	return nil
}

// phasedRatios is item 2: response ratios by type.
func phasedRatios(r *Recorder, runs map[string]capMean) {
	fifo := map[int]float64{0: 1.205, 1: 1.96, 2: 1.51, 3: 6.72}
	shared := map[int]float64{0: 1.01, 1: 1.52, 2: 1.145, 3: 1.54}
	for t := range longTypes {
		wide := 0.15
		if t == 3 {
			wide = 0.25
		}
		mulp100 := (runs["b"].ratio[t] + runs["c"].ratio[t] + runs["e"].ratio[t]) / 3
		mulp25 := (runs["d"].ratio[t] + runs["f"].ratio[t] + runs["g"].ratio[t] + runs["h"].ratio[t]) / 4
		r.within(fmt.Sprintf("2: response ratio of type %d, user limit 100", t+1), mulp100, fifo[t], wide*fifo[t], "mean over experiments 2, 3 and 5; the chart has experiment 2 only")
		r.within(fmt.Sprintf("2: response ratio of type %d, user limit 25", t+1), mulp25, shared[t], wide*shared[t], "mean over experiments 4, 6, 7 and 8; the chart has experiment 6 only")
	}
	for t := longTypes; t < len(capTypes); t++ {
		r.between(fmt.Sprintf("2: response ratio of type %d, limit 100 / 25", t+1), "4 to 6", runs["b"].ratio[t]/runs["f"].ratio[t], 3, inf, "experiments 2 and 6")
	}
}

// watchTypes watches the maps of the seven types.
func watchTypes() *Watcher {
	w := &Watcher{}
	for t := range capTypes {
		w.Keys = append(w.Keys, fmt.Sprintf("type %d", t+1))
	}
	order := capOrder(true)
	w.Of = func(a sim.Attempt) int {
		if a.Task.Kind != scheduler.Map {
			return -1
		}
		return order[int(a.Task.Job)%len(order)]
	}
	return w
}

func drawPhased(r *Recorder, runs map[string]capMean) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Response ratio by type of job, phased, queues of 50 %", X: chart.Axis{Label: "elapsed over execution time", Log: true}}, Groups: []string{"MULP 100 (experiment 2)", "MULP 25 (experiment 6)"}}
	published := map[string][]float64{"b": {1.21, 1.96, 1.51, 6.70, 15, 12.9, 10.4}, "f": {1.01, 1.53, 1.15, 1.54, 3.6, 3, 1.83}}
	for t := range capTypes {
		for k, name := range []string{"b", "f"} {
			var over []float64
			for _, run := range runs[name].runs {
				over = append(over, (run.ratio["q1"][t]+run.ratio["q2"][t])/2)
			}
			b := NewEstimate(over).bar(fmt.Sprintf("type %d", t+1), published[name][t])
			b.Group = k
			bars.Bars = append(bars.Bars, b)
		}
	}
	r.figure("ratio", "Means with 95 % intervals; the thick line: published.", bars)
}
