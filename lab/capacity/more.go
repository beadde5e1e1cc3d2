package capacity

import (
	"fmt"
	"math"
	"slices"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// inert compares settings that cannot differ, job by job.
func inert(r *lab.Recorder) {
	n := r.Seeds(3, 1)
	var first map[string]capMean
	for _, g := range capGroups {
		runs := map[string]capMean{}
		for _, s := range capSettings {
			if s.name == "a" || s.name == "c" {
				continue
			}
			runs[s.name] = average(r, g, s, capBase(), n)
		}
		inertChecks(r, g, runs)
		if g.first == 1 {
			first = runs
		}
	}
	all := average(r, capGroups[0], capSettings[1], capBase(), n)
	o := capBase()
	o.longOnly = true
	long := average(r, capGroups[0], capSettings[1], o, n)
	r.Check(lab.Within("7: makespan without the small jobs / with them, experiment 2", long.makespan["q1"]/all.makespan["q1"], 1, 0.1).Quoted(lab.Nobody("nothing; no change, 1")).Because("long jobs decide it"))
	drawInert(r, first)
}

// inertChecks is spec/capacity 6, item 8 for one group.
func inertChecks(r *lab.Recorder, g capGroup, runs map[string]capMean) {
	same := func(one, other, published string, within float64, accepted, why string) {
		apart := farthest(runs[one], runs[other])
		item := fmt.Sprintf("8: experiments %d and %d have the same schedule", g.first+settingIndex(one), g.first+settingIndex(other))
		r.Check(lab.Holds(item, lab.Order(published), stats.Text(apart)+" s apart at most", apart == 0 || apart < within, accepted).Because(why))
	}
	for _, pair := range [][2]string{{"e", "b"}, {"h", "f"}} {
		same(pair[0], pair[1], "equal within noise", 0, "0 s apart", "same random numbers; ends of the same job compared")
	}
	if g.first == 1 || g.first == 17 {
		same("g", "d", "about equal", 60, "below 60 s apart", "they can differ only where a lone user meets an idle queue")
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

// variability is spec/capacity 6, item 9.
func variability(r *lab.Recorder) {
	n := r.Seeds(10, 10)
	cv := map[string][]float64{}
	for _, name := range []string{"b", "f"} {
		m := average(r, capGroups[0], capSettings[settingIndex(name)], capBase(), n)
		cv[name] = variations(m.runs)
	}
	variationReadings(r, min(n, remarkRuns), cv)
	two := cv["b"]
	for _, t := range []int{0, 2} {
		r.Check(lab.Between(fmt.Sprintf("9: variation of type %d, experiment 2", t+1), lab.Number("below 0.1"), two[t], 0, 0.1))
	}
	r.Check(lab.AtMost("9: variation of type 2, experiment 2", lab.Number("below 0.1"), two[1], 0.1).Missed(r.Say("single reduce", lab.Facts{"smooth": cv["no noise"][1]})))
	published := map[string][]float64{"b": {4: 0.18, 5: 0.12, 6: 0.13}, "f": {4: 0.18, 5: 0.31, 6: 0.49}}
	for t := longTypes; t < len(capTypes); t++ {
		want := published["b"][t]
		r.Check(lab.Within(fmt.Sprintf("9: variation of type %d, experiment 2", t+1), two[t], want, small*want).Direction(two[t] > two[2]).Missed("above that of type 3, as published"))
	}
	for _, t := range []int{5, 6} {
		want := published["f"][t] / published["b"][t]
		r.Check(lab.Within(fmt.Sprintf("9: variation of type %d, MULP 25 / 100", t+1), cv["f"][t]/cv["b"][t], want, small*want).SameSide(1).Because("experiments 6 and 2").Missed(r.Say("variation tried", lab.Facts{
			"plain": cv["no constant, MULP 25"][t] / cv["no constant"][t], "smooth": cv["no noise, MULP 25"][t] / cv["no noise"][t], "exact": cv["exact books"][t] / cv["b"][t], "jobs": cv["users by jobs"][t] / cv["b"][t],
		})))
	}
	for t := longTypes; t < len(capTypes); t++ {
		r.Check(lab.Reported(fmt.Sprintf("9: variation of type %d, experiment 6", t+1), stats.Text(published["f"][t]), stats.Text(cv["f"][t])).
			Because(r.Say("contradiction")).Because(r.Say("tried", lab.Facts{"jobs": cv["users by jobs"][t], "exact": cv["exact books"][t], "smooth": cv["no noise, MULP 25"][t]})))
	}
	frame := chart.Frame{Title: "Variation of execution time, by type of job", X: chart.Axis{Label: "coefficient of variation over repetitions, mean of the type's jobs"}}
	r.Figure("cv", byType(frame, userLimits, func(t, k int) chart.Bar {
		name := []string{"b", "f"}[k]
		if t < longTypes {
			return chart.Plain("", cv[name][t])
		}
		return chart.Plain("", cv[name][t]).Beside(published[name][t])
	}))
}

// variationReadings runs experiments 2 and 6 under other readings.
func variationReadings(r *lab.Recorder, n int, cv map[string][]float64) {
	quiet := sim.DefaultDevices()
	quiet.Noise, quiet.ReduceNoise = 0, 0
	plain := withoutConstant()
	for name, c := range map[string]struct {
		setting string
		options capOptions
	}{
		"no noise":             {"b", capOptions{lag: capLag, copies: capCopies, devices: &quiet}},
		"no noise, MULP 25":    {"f", capOptions{lag: capLag, copies: capCopies, devices: &quiet}},
		"no constant":          {"b", capOptions{lag: capLag, copies: capCopies, devices: &plain}},
		"no constant, MULP 25": {"f", capOptions{lag: capLag, copies: capCopies, devices: &plain}},
		"exact books":          {"f", capOptions{lag: "0s", copies: capCopies}},
		"users by jobs":        {"f", capOptions{lag: capLag, copies: capCopies, params: map[string]string{"users-by": "jobs"}}},
	} {
		cv[name] = variations(average(r, capGroups[0], capSettings[settingIndex(c.setting)], c.options, n).runs)
	}
}

// variations averages each job's coefficient of variation over seeds by type.
func variations(runs []capRun) []float64 {
	byType := make([][]float64, len(capTypes))
	for k, t := range runs[0].types {
		times := lab.Each(runs, func(run capRun) float64 { return run.exec[k] })
		byType[t] = append(byType[t], stats.Deviation(times)/stats.Mean(times))
	}
	return lab.Each(byType, stats.Mean)
}

// delay is the extension of spec/capacity 6, item 16.
func delay(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	base := average(r, capGroups[0], capSettings[1], capBase(), n)
	o := capBase()
	o.params = map[string]string{"rack-wait": "1"}
	patient := average(r, capGroups[0], capSettings[1], o, n)
	r.Check(lab.Between("16: type 5 maps that are only rack-local with patience, %", lab.Nobody("nothing; by arithmetic about 4, against 90"), 100*patient.rack[4], 0, 12).Mark(4))
	r.Check(lab.Reported("16: response ratio of type 5, patient / not", "some extra waiting", stats.Text(patient.ratio[4]/base.ratio[4])).Because("an extension; nothing was published"))
	frame := chart.Frame{Title: "Maps that are only rack-local, by type of job", X: chart.Axis{Label: "% of the type's maps"}}
	r.Figure("locality", byType(frame, []string{"takes what is offered", "patient"}, func(t, k int) chart.Bar {
		return chart.Plain("", 100*[]capMean{base, patient}[k].rack[t])
	}), lab.Facts{"change": 100 * (patient.ratio[4]/base.ratio[4] - 1)})
}
