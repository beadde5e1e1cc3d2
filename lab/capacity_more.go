package lab

import (
	"fmt"
	"math"
	"slices"

	"github.com/millrace/millrace/internal/chart"
)

// capacityInert compares settings that cannot differ, job by job.
func capacityInert(r *Recorder) error {
	n := r.seeds(3, 1)
	var first map[string]capMean
	for _, g := range capGroups {
		runs := map[string]capMean{}
		for _, s := range capSettings {
			if s.name == "a" || s.name == "c" {
				continue
			}
			var err error
			if runs[s.name], err = r.capacity(g, s, capBase(), n); err != nil {
				return err
			}
		}
		inertChecks(r, g, runs)
		if g.first == 1 {
			first = runs
		}
	}
	all, err := r.capacity(capGroups[0], capSettings[1], capBase(), n)
	if err != nil {
		return err
	}
	o := capBase()
	o.longOnly = true
	long, err := r.capacity(capGroups[0], capSettings[1], o, n)
	if err != nil {
		return err
	}
	r.within("7: makespan without the small jobs / with them, experiment 2", long.makespan["q1"]/all.makespan["q1"], 1, 0.1, "long jobs decide it")
	drawInert(r, first)
	return nil
}

// inertChecks is item 8 for one group.
func inertChecks(r *Recorder, g capGroup, runs map[string]capMean) {
	for _, pair := range [][2]string{{"e", "b"}, {"h", "f"}} {
		item := fmt.Sprintf("8: experiments %d and %d have the same schedule", g.first+settingIndex(pair[0]), g.first+settingIndex(pair[1]))
		apart := farthest(runs[pair[0]], runs[pair[1]])
		r.holds(item, "equal within noise", fmt.Sprintf("%s s apart at most", number(apart)), apart == 0, "same random numbers; ends of the same job compared")
		r.accept("0 s apart")
	}
	if g.first == 1 || g.first == 17 {
		item := fmt.Sprintf("8: experiments %d and %d have the same schedule", g.first+settingIndex("g"), g.first+settingIndex("d"))
		apart := farthest(runs["g"], runs["d"])
		r.holds(item, "about equal", fmt.Sprintf("%s s apart at most", number(apart)), apart < 60, "they can differ only where a lone user meets an idle queue")
		r.accept("below 60 s apart")
	}
}

func settingIndex(name string) int {
	return slices.IndexFunc(capSettings, func(s capSetting) bool { return s.name == name })
}

// farthest is the largest difference between the ends of the same job, over all seeds.
func farthest(a, b capMean) (apart float64) {
	for i := range a.runs {
		for k := range a.runs[i].ended {
			apart = max(apart, math.Abs(a.runs[i].ended[k]-b.runs[i].ended[k]))
		}
	}
	return apart
}

// capacityVariability is item 9.
func capacityVariability(r *Recorder) error {
	n := r.seeds(10, 10)
	cv := map[string][]float64{}
	for _, name := range []string{"b", "f"} {
		m, err := r.capacity(capGroups[0], capSettings[settingIndex(name)], capBase(), n)
		if err != nil {
			return err
		}
		cv[name] = variations(m.runs)
	}
	two := cv["b"]
	for _, t := range []int{0, 2} {
		r.between(fmt.Sprintf("9: variation of type %d, experiment 2", t+1), "below 0.1", two[t], 0, 0.1, "")
	}
	r.between("9: variation of type 2, experiment 2", "below 0.1", two[1], 0, 0.3, "a wider bound, because the type has a single reduce: our specification accepts 0.3")
	for i, published := range []string{"0.18", "0.12"} {
		t := longTypes + i
		r.between(fmt.Sprintf("9: variation of type %d, experiment 2", t+1), published, two[t], max(0.05, 2*two[2]), 1.5, "at least 0.05 and twice that of type 3")
		r.mark([]float64{0.18, 0.12}[i])
	}
	for _, t := range []int{5, 6} {
		r.between(fmt.Sprintf("9: variation of type %d, MULP 25 / 100", t+1), "rises", cv["f"][t]/cv["b"][t], 1, inf, "experiments 6 and 2")
	}
	published := map[string][]float64{"b": {4: 0.18, 5: 0.12, 6: 0.13}, "f": {4: 0.18, 5: 0.31, 6: 0.49}}
	for t := longTypes; t < len(capTypes); t++ {
		why := "no agreement is asked for here; the reason of the difference is not known"
		if t == longTypes {
			why += ". The published table itself has 0.18 for experiment 4 and 0.49 for experiment 7, which differ in a setting without effect"
		}
		r.add(Check{
			Item: fmt.Sprintf("9: variation of type %d, experiment 6", t+1), Published: number(published["f"][t]), Measured: number(cv["f"][t]), Tolerance: "reported", Verdict: ShapeOnly,
			Why: why,
		})
	}
	drawVariation(r, cv, published)
	return nil
}

func drawVariation(r *Recorder, cv, published map[string][]float64) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Variation of execution time, by type of job", X: chart.Axis{Label: "coefficient of variation over repetitions, mean of the type's jobs"}}, Groups: []string{"MULP 100 (experiment 2)", "MULP 25 (experiment 6)"}}
	for t := range capTypes {
		for k, name := range []string{"b", "f"} {
			b := chart.Plain(fmt.Sprintf("type %d", t+1), cv[name][t])
			b.Group = k
			if t >= longTypes {
				b.Published = published[name][t]
			}
			bars.Bars = append(bars.Bars, b)
		}
	}
	r.figure("cv", "The thick line: the published value of the small types; of the long types only \"below 0.1\" was published. Under MULP 25 types 5 and 6 vary far more than published, type 7 less.", bars)
}

// variations averages each job's coefficient of variation over seeds by type.
func variations(runs []capRun) []float64 {
	byType := make([][]float64, len(capTypes))
	for k, t := range runs[0].types {
		var times []float64
		for _, run := range runs {
			times = append(times, run.exec[k])
		}
		byType[t] = append(byType[t], deviation(times)/mean(times))
	}
	out := make([]float64, len(byType))
	for t, v := range byType {
		out[t] = mean(v)
	}
	return out
}

// capacityUncapped reports the documented order of queues beside the inferred one.
func capacityUncapped(r *Recorder) error {
	n := r.seeds(5, 2)
	cases := []struct {
		group, setting int
		queue          string
		types          []int
		published      []float64
		small          string
	}{
		{1, 0, "q2", []int{0, 1, 2, 3}, []float64{1.14, 1.78, 1.2, 3.74}, ""},
		{3, 0, "long1", []int{0, 1, 2, 3}, []float64{1.14, 1.76, 1.19, 2.46}, "1196"},
		{3, 3, "long1", []int{0, 1, 2, 3}, []float64{1.01, 1.39, 1.12, 1.55}, "1232 to 1242"},
	}
	var drawn uncappedBars
	for _, c := range cases {
		g := capGroups[c.group]
		for _, order := range queueOrders {
			o := capBase()
			o.params = map[string]string{"queue-order": order}
			m, err := r.capacity(g, capSettings[c.setting], o, n)
			if err != nil {
				return err
			}
			uncappedChecks(r, g.first+c.setting, order, c.queue, c.types, c.published, m)
			drawn.add(g.first+c.setting, order, c.queue, c.published, m)
			if c.small != "" {
				r.add(Check{
					Item: fmt.Sprintf("experiment %d, order by %s: makespan of the small queues, s", g.first+c.setting, order), Published: c.small,
					Measured: number(max(m.makespan["small1"], m.makespan["small2"])), Tolerance: "reported", Verdict: ShapeOnly, Why: "the later of the two 10 % queues",
				})
			} else {
				r.add(Check{
					Item: fmt.Sprintf("experiment %d, order by %s: makespan of the 70 %% and 30 %% queues, s", g.first+c.setting, order), Published: "1211 and 1244",
					Measured: number(m.makespan["q1"]) + " and " + number(m.makespan["q2"]), Tolerance: "reported", Verdict: ShapeOnly,
				})
			}
		}
	}
	drawn.draw(r)
	return nil
}

func uncappedChecks(r *Recorder, experiment int, order, queue string, types []int, published []float64, m capMean) {
	for i, t := range types {
		item := fmt.Sprintf("experiment %d, %s, order by %s: response ratio of type %d", experiment, queue, order, t+1)
		got := m.byQueue[queue][t]
		if order == "backlog" {
			wide := 0.15
			if t == 3 {
				wide = 0.25
			}
			r.within(item, got, published[i], wide*published[i], "an order inferred from the published numbers; no text describes it")
			continue
		}
		r.add(Check{
			Item: item, Published: number(published[i]), Measured: number(got), Tolerance: "reported", Verdict: ShapeOnly,
			Why: fmt.Sprintf("by the documented rule; %.0f %% from the published number", 100*math.Abs(got/published[i]-1)),
		})
	}
}

// capacityDelay is the extension of item 16.
func capacityDelay(r *Recorder) error {
	n := r.seeds(5, 2)
	base, err := r.capacity(capGroups[0], capSettings[1], capBase(), n)
	if err != nil {
		return err
	}
	o := capBase()
	o.params = map[string]string{"rack-wait": "1"}
	patient, err := r.capacity(capGroups[0], capSettings[1], o, n)
	if err != nil {
		return err
	}
	r.between("16: type 5 maps that are only rack-local with patience, %", "about 4, against 90", 100*patient.rack[4], 0, 12, "expected by arithmetic, not published; our specification accepts at most 12")
	r.mark(4)
	r.add(Check{
		Item: "16: response ratio of type 5, patient / not", Published: "some extra waiting", Measured: number(patient.ratio[4] / base.ratio[4]),
		Tolerance: "reported", Verdict: ShapeOnly, Why: "an extension; nothing was published",
	})
	bars := chart.Bars{Frame: chart.Frame{Title: "Maps that are only rack-local, by type of job", X: chart.Axis{Label: "% of the type's maps"}}, Groups: []string{"takes what is offered", "patient"}}
	for t := range capTypes {
		for k, m := range []capMean{base, patient} {
			b := chart.Plain(fmt.Sprintf("type %d", t+1), 100*m.rack[t])
			b.Group = k
			bars.Bars = append(bars.Bars, b)
		}
	}
	r.figure("locality", fmt.Sprintf("Means over the repetitions. Jobs that pass up to thirty offers nearly always find their data. The response ratio of type 5 changes by %+.1f %%.", 100*(patient.ratio[4]/base.ratio[4]-1)), bars)
	return nil
}
