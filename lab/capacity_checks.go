package lab

import (
	"fmt"
	"math"
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

var capPublishedRack = []string{"10.3-14.2", "4.5-7.7", "2.3-3.6", "1.0-2.4", "80-95", "75-90", "52-68"}

func capacityLocality(r *Recorder) error {
	n := r.seeds(5, 3)
	types := len(capTypes)
	low, high, avg := make([]float64, types), make([]float64, types), make([]float64, types)
	for t := range low {
		low[t], high[t] = math.Inf(1), math.Inf(-1)
	}
	for _, g := range capGroups {
		for _, s := range capSettings {
			m, err := r.capacity(g, s, capLag, capCopies, n)
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
		item := fmt.Sprintf("1: type %d (%d maps), maps that are only rack-local, %%", t+1, c.maps)
		if t < longTypes {
			r.between(item, capPublishedRack[t], avg[t], 0.85*law, 2.3*law, fmt.Sprintf("the law gives %s", number(law)))
		} else {
			r.between(item, capPublishedRack[t], avg[t], law-7, law+7, fmt.Sprintf("the law gives %s", number(law)))
			r.between(fmt.Sprintf("1: type %d moves over all 32 settings, points", t+1), "15 at most", high[t]-low[t], 0, 15, "")
		}
	}
	one, err := r.capacity(capGroups[0], capSettings[1], capLag, 1, n)
	if err != nil {
		return err
	}
	r.within("1: type 5 with one replica, % (control)", 100*one.rack[4], 96.7, 4, "")
	return nil
}

func capacityPhased(r *Recorder) error {
	n := r.seeds(5, 2)
	g := capGroups[0]
	runs := map[string]capMean{}
	for _, s := range capSettings {
		m, err := r.capacity(g, s, capLag, capCopies, n)
		if err != nil {
			return err
		}
		runs[s.name] = m
	}
	fifo := map[int]float64{0: 1.205, 1: 1.96, 2: 1.51, 3: 6.72}
	shared := map[int]float64{0: 1.01, 1: 1.52, 2: 1.145, 3: 1.54}
	for t := range longTypes {
		wide := 0.15
		if t == 3 {
			wide = 0.25
		}
		mulp100 := (runs["b"].ratio[t] + runs["c"].ratio[t] + runs["e"].ratio[t]) / 3
		mulp25 := (runs["d"].ratio[t] + runs["f"].ratio[t] + runs["g"].ratio[t] + runs["h"].ratio[t]) / 4
		r.within(fmt.Sprintf("2: response ratio of type %d, user limit 100", t+1), mulp100, fifo[t], wide*fifo[t], "")
		r.within(fmt.Sprintf("2: response ratio of type %d, user limit 25", t+1), mulp25, shared[t], wide*shared[t], "")
	}
	for t := longTypes; t < len(capTypes); t++ {
		r.between(fmt.Sprintf("2: response ratio of type %d, limit 100 / 25", t+1), "4 to 6", runs["b"].ratio[t]/runs["f"].ratio[t], 3, inf, "")
	}
	delayed := runs["a"].ratio[3]
	r.between("3: type 4 in experiment 1 / in 2 and 3", "2.1 / 6.7 = 0.31", 2*delayed/(runs["b"].ratio[3]+runs["c"].ratio[3]), 0, 0.5, "delayed map execution, lag 0.3 s")
	exact, err := r.capacity(g, capSettings[0], "0s", capCopies, n)
	if err != nil {
		return err
	}
	r.within("3: the same with exact books", 2*exact.ratio[3]/(runs["b"].ratio[3]+runs["c"].ratio[3]), 1, 0.05, "")
	spanOf := 0.0
	for _, s := range capSettings {
		for _, q := range []string{"q1", "q2"} {
			spanOf = max(spanOf, runs[s.name].makespan[q]/runs["b"].makespan["q1"])
		}
	}
	r.between("7: largest makespan over settings / experiment 2", "1.03", spanOf, 0.94, 1.06, "")
	r.within("7: makespan of experiment 2, s", runs["b"].makespan["q1"], 1230, 123, "disk rates calibrated in capacity.md 2.5")
	return nil
}

func capacitySeparate(r *Recorder) error {
	n := r.seeds(5, 2)
	shared, apart := map[string]capMean{}, map[string]capMean{}
	for _, s := range capSettings {
		var err error
		if shared[s.name], err = r.capacity(capGroups[2], s, capLag, capCopies, n); err != nil {
			return err
		}
		if !s.capped {
			continue
		}
		if apart[s.name], err = r.capacity(capGroups[3], s, capLag, capCopies, n); err != nil {
			return err
		}
	}
	published := map[string][]float64{
		"b": {1.18, 1.94, 1.51, 8.70, 2.02, 4.16, 6.91}, "d": {1.02, 1.46, 1.15, 1.79, 1.41, 2.47, 1.90},
	}
	for _, name := range []string{"b", "d"} {
		for t, want := range published[name] {
			wide := 0.15
			if t >= longTypes {
				wide = 0.45
			}
			r.within(fmt.Sprintf("5: interleaved, setting %s, response ratio of type %d", name, t+1), shared[name].ratio[t], want, wide*want, "")
		}
	}
	r.between("5: response ratio of type 4, limit 100 / 25", "4.9", shared["b"].ratio[3]/shared["d"].ratio[3], 4, inf, "")
	r.between("3: interleaved, type 3 in 17 / in 18", "1.35 / 1.51 = 0.89", shared["a"].ratio[2]/shared["b"].ratio[2], 0, 0.97, "delayed map execution")
	for _, name := range []string{"b", "e", "f", "h"} {
		worst, lower := 0.0, true
		for t := longTypes; t < len(capTypes); t++ {
			worst = max(worst, apart[name].ratio[t])
			lower = lower && apart[name].ratio[t] < shared[name].ratio[t]
		}
		r.between("4: separate queues, setting "+name+", worst response ratio of small types", "1.65 at most", worst, 1, 1.8, "")
		r.holds("4: and lower than in a shared queue", "lower", fmt.Sprint(lower), lower, "")
		r.between("4: makespan of small queues / long queues, setting "+name, "0.33",
			max(apart[name].makespan["small1"], apart[name].makespan["small2"])/max(apart[name].makespan["long1"], apart[name].makespan["long2"]), 0, 0.4, "")
	}
	for t, want := range []float64{1.01, 1.555, 1.155} {
		r.within(fmt.Sprintf("4: experiments 30 and 32, response ratio of type %d", t+1), (apart["f"].ratio[t]+apart["h"].ratio[t])/2, want, 0.15*want, "")
	}
	return nil
}

func capacityUnequal(r *Recorder) error {
	n := r.seeds(5, 2)
	m, err := r.capacity(capGroups[1], capSettings[1], capLag, capCopies, n)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		queue string
		want  []float64
	}{{"q1", []float64{1.15, 1.6, 1.42, 5.38}}, {"q2", []float64{1.32, 2.3, 1.87, 10.78}}} {
		for t, want := range c.want {
			wide := 0.15
			if t == 3 {
				wide = 0.25
			}
			r.within(fmt.Sprintf("6: experiment 10, %s, response ratio of type %d", c.queue, t+1), m.byQueue[c.queue][t], want, wide*want, "")
		}
	}
	r.between("6: makespan of the 30 % queue / the 70 % queue", "1399 / 1001 = 1.40", m.makespan["q2"]/m.makespan["q1"], 1.3, 1.8, "")
	for t := longTypes; t < len(capTypes); t++ {
		r.between(fmt.Sprintf("6: response ratio of type %d, 30 %% / 70 %%", t+1), "2", m.byQueue["q2"][t]/m.byQueue["q1"][t], 1.5, inf, "")
	}
	return nil
}
