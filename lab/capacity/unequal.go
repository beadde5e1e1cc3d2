package capacity

import (
	"fmt"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// unequalPublished are the response ratios by type of experiments with queues of 70 and 30 % (Tables 6.8 and 6.9 in spec/capacity 5.5), by setting and queue.
var unequalPublished = map[string][2][]float64{
	"b": {{1.15, 1.6, 1.42, 5.38, 12.5, 10.28, 5.2}, {1.32, 2.3, 1.87, 10.78, 26, 22.8, 14.6}},
	"e": {{1.14, 1.67, 1.43, 5.5, 12.4, 10.43, 5.2}, {1.32, 2.28, 1.86, 10.8, 26, 22, 14}},
	"f": {{1.02, 1.39, 1.12, 1.45, 1.9, 1.9, 1.81}, {1.01, 1.71, 1.22, 1.64, 6, 5.3, 3.3}},
	"h": {{1.01, 1.38, 1.12, 1.45, 1.8, 1.9, 1.78}, {1.01, 1.69, 1.22, 1.64, 6.1, 5.3, 3.4}},
}

var sides = []string{"q1", "q2"}

// unequal is spec/capacity 6, item 6: experiments 10, 13, 14 and 16, and what the text says of 12 and 14.
func unequal(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	runs := map[string]capMean{}
	for _, name := range []string{"b", "d", "e", "f", "h"} {
		runs[name] = average(r, capGroups[1], capSettings[settingIndex(name)], capBase(), n)
	}
	// The user limit factor, in which these pairs differ, changes no schedule (capacity-inert).
	other := map[string]map[string]capMean{"b": otherReadings(r, "b", n), "f": otherReadings(r, "f", n)}
	other["e"], other["h"] = other["b"], other["f"]
	for _, name := range []string{"b", "e", "f", "h"} {
		unequalRatios(r, name, runs[name], other[name])
	}
	for _, name := range []string{"b", "e"} {
		m, plain := runs[name], other[name]["no constant"]
		for t := longTypes; t < len(capTypes); t++ {
			want := unequalPublished[name][1][t] / unequalPublished[name][0][t]
			apart := func(m capMean) float64 { return m.byQueue["q2"][t] / m.byQueue["q1"][t] }
			r.Check(lab.Within(fmt.Sprintf("6: experiment %d, response ratio of type %d, 30 %% / 70 %%", 9+settingIndex(name), t+1), apart(m), want, small*want).SameSide(1).Missed(r.Say("no constant", lab.Facts{"plain": apart(plain)})))
		}
	}
	b := runs["b"]
	r.Check(lab.Between("6: makespan of the 30 % queue / the 70 % queue", lab.Number("1399 / 1001 = 1.40"), b.makespan["q2"]/b.makespan["q1"], 1.3, 1.8).Mark(1.40))
	text := capBase()
	text.params = map[string]string{"queue-order": "ratio"}
	unequalWaits(r, runs["d"], runs["f"], average(r, capGroups[1], capSettings[settingIndex("d")], text, n))
	frame := chart.Frame{Title: "Response ratio by type of job, queues of 70 and 30 %, capped", X: chart.Axis{Label: "elapsed over execution time", Log: true}}
	r.Figure("ratio", byType(frame, []string{"70 % queue", "30 % queue"}, func(t, k int) chart.Bar {
		over := lab.Each(b.runs, func(run capRun) float64 { return run.ratio[sides[k]][t] })
		return stats.NewEstimate(over).Bar("", unequalPublished["b"][k][t])
	}))
}

// unequalRatios judges the long types; of the small ones under MULP 25 our specification reports the values only.
func unequalRatios(r *lab.Recorder, name string, m capMean, other map[string]capMean) {
	for k, q := range sides {
		for t, want := range unequalPublished[name][k] {
			item := fmt.Sprintf("6: experiment %d, %s, response ratio of type %d", 9+settingIndex(name), q, t+1)
			switch got := m.byQueue[q][t]; {
			case t < longTypes:
				r.Check(lab.Within(item, got, want, wide(t)*want).SameSide(1).Missed(r.Say("no constant", lab.Facts{"plain": other["no constant"].byQueue[q][t]})))
			case capSettings[settingIndex(name)].userLimit == 25:
				r.Check(lab.Within(item, got, want, small*want).Because(r.Say("small readings", lab.Facts{
					"jobs": other["users by jobs"].byQueue[q][t], "exact": other["exact books"].byQueue[q][t], "smooth": other["no noise"].byQueue[q][t],
					"plain": other["no constant"].byQueue[q][t],
				})))
			}
		}
	}
}

// remarkRuns is how often a reading runs that only a remark mentions.
const remarkRuns = 3

// otherReadings runs an experiment with queues of 70 and 30 % under readings of what the thesis does not say.
func otherReadings(r *lab.Recorder, name string, n int) map[string]capMean {
	quiet := sim.DefaultDevices()
	quiet.Noise, quiet.ReduceNoise = 0, 0
	plain := withoutConstant()
	out := map[string]capMean{}
	n = min(n, remarkRuns)
	for reading, change := range map[string]func(o *capOptions){
		"users by jobs": func(o *capOptions) { o.params = map[string]string{"users-by": "jobs"} },
		"exact books":   func(o *capOptions) { o.lag = "0s" },
		"no noise":      func(o *capOptions) { o.devices = &quiet },
		"no constant":   func(o *capOptions) { o.devices = &plain },
	} {
		o := capBase()
		change(&o)
		out[reading] = average(r, capGroups[1], capSettings[settingIndex(name)], o, n)
	}
	return out
}

// unequalWaits is Figures 6.4 and 6.5: how long small jobs wait in each queue, without a cap (experiment 12) and with one (14).
func unequalWaits(r *lab.Recorder, free, capped, text capMean) {
	for _, c := range []struct {
		item  string
		m     capMean
		says  string
		worse int // the queue whose small jobs wait longer, as published
		why   string
	}{
		{"experiment 12, order by backlog", free, "longer in the 70 % queue (Figure 6.4)", 0, "the reading that gives the published numbers (capacity-uncapped)"},
		{"experiment 12, order of the text", text, "longer in the 70 % queue (Figure 6.4)", 0, ""},
		{"experiment 14", capped, "low at 70 %, very high at 30 % (Figure 6.5)", 1, ""},
	} {
		waits := [2]float64{smallWait(c.m, 0), smallWait(c.m, 1)}
		r.Check(lab.Holds(c.item+": mean wait of the small jobs, s", lab.Sign(c.says), fmt.Sprintf("%s at 70 %%, %s at 30 %%", stats.Text(waits[0]), stats.Text(waits[1])),
			waits[c.worse] > waits[1-c.worse], "longer in the queue that is named").Because(c.why).Contradicted(r.Say("two orders")))
	}
}

// smallWait is the mean wait of the small jobs of a side.
func smallWait(m capMean, side int) float64 {
	return lab.Mean(m.runs, func(run capRun) float64 {
		var waits []float64
		half := len(run.types) / 2
		for k, t := range run.types {
			if t >= longTypes && k/half == side {
				waits = append(waits, run.waited[k])
			}
		}
		return stats.Mean(waits)
	})
}
