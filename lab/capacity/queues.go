package capacity

import (
	"fmt"
	"slices"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

func separate(r *lab.Recorder) {
	n := r.Seeds(5, 2)
	shared, apart := map[string]capMean{}, map[string]capMean{}
	queues := watchQueues()
	for _, s := range capSettings {
		shared[s.name] = average(r, capGroups[2], s, capBase(), n)
		if !s.capped {
			continue
		}
		o := capBase()
		if s.name == "b" {
			o.watch = queues
		}
		apart[s.name] = average(r, capGroups[3], s, o, n)
	}
	interleavedChecks(r, shared)
	separateChecks(r, shared, apart, n)
	for t, want := range []float64{1.01, 1.555, 1.155} {
		r.Check(lab.Within(fmt.Sprintf("4: experiments 30 and 32, response ratio of type %d", t+1), (apart["f"].ratio[t]+apart["h"].ratio[t])/2, want, 0.15*want))
	}
	drawSeparate(r, shared["b"], apart["b"])
	drawQueues(r, queues, apart["b"].runs[0])
	o := capBase().in(r)
	scene := func(name string, g capGroup) lab.Scene {
		return lab.Scene{Name: name, Admission: "capacity-init", Setup: func() (sim.Config, []*sim.Job, error) { return g.config(capSettings[1], o, r.Seed()) }}
	}
	r.Watch(scene("capacity, shared queues", capGroups[2]), scene("capacity, queues of their own", capGroups[3]))
}

// drawQueues draws what the separate queues held in one run.
func drawQueues(r *lab.Recorder, queues *compare.Watcher, run capRun) {
	area := queues.Area("Running maps of each queue, separate queues with caps", run.end, chart.Mark{Name: "all map slots", Value: 4 * capNodes})
	area.Y.Label = "running maps"
	r.Figure("queues", area, lab.Facts{"small": max(run.makespan["small1"], run.makespan["small2"]), "long": max(run.makespan["long1"], run.makespan["long2"])})
}

// interleavedChecks is spec/capacity 6, item 5, and item 3 for the interleaved pattern.
func interleavedChecks(r *lab.Recorder, shared map[string]capMean) {
	published := map[string][]float64{
		"b": {1.18, 1.94, 1.51, 8.70, 2.02, 4.16, 6.91}, "d": {1.02, 1.46, 1.15, 1.79, 1.41, 2.47, 1.90},
	}
	for _, name := range []string{"b", "d"} {
		for t, want := range published[name] {
			wide := 0.15
			if t >= longTypes {
				wide = 0.45
			}
			r.Check(lab.Within(fmt.Sprintf("5: interleaved, setting %s, response ratio of type %d", name, t+1), shared[name].ratio[t], want, wide*want))
		}
	}
	r.Check(lab.AtLeast("5: response ratio of type 4, limit 100 / 25", lab.Number("4.9"), shared["b"].ratio[3]/shared["d"].ratio[3], 4).Because("experiments 18 and 20").Mark(4.9))
	r.Check(lab.Between("3: interleaved, type 3 in 17 / in 18", lab.Number("1.35 / 1.51 = 0.89"), shared["a"].ratio[2]/shared["b"].ratio[2], 0.85*0.89, 0.97).Because("response ratios; delayed map execution, with books that lag 0.3 s").Mark(0.89))
}

// separateChecks is spec/capacity 6, item 4: small jobs with queues of their own.
func separateChecks(r *lab.Recorder, shared, apart map[string]capMean, n int) {
	devices := withoutConstant()
	o := capBase()
	o.devices = &devices
	plain := slices.Max(average(r, capGroups[3], capSettings[settingIndex("b")], o, n).ratio[longTypes:])
	for _, name := range []string{"b", "e", "f", "h"} {
		worst, lower := 0.0, true
		for t := longTypes; t < len(capTypes); t++ {
			worst = max(worst, apart[name].ratio[t])
			lower = lower && apart[name].ratio[t] < shared[name].ratio[t]
		}
		most := map[string]float64{"b": 1.65, "e": 1.48, "f": 1.27, "h": 1.25}[name]
		r.Check(lab.Within("4: separate queues, setting "+name+", worst response ratio of small types", worst, most, 0.15*most).SameSide(1).Missed(r.Say("no constant", lab.Facts{"plain": plain})))
		r.Check(lab.Holds("4: and lower than in a shared queue", lab.Sign("lower for types 5, 6 and 7"), stats.Texts(apart[name].ratio[longTypes:]...)+" against "+stats.Texts(shared[name].ratio[longTypes:]...), lower, "each is lower").Because("response ratios of types 5, 6, 7, setting " + name))
		ended := map[string]float64{"b": 409. / 1242, "e": 387. / 1262, "f": 432. / 1243, "h": 438. / 1262}[name]
		shorter := max(apart[name].makespan["small1"], apart[name].makespan["small2"])
		r.Check(lab.Within("4: makespan of small queues / long queues, setting "+name, shorter/max(apart[name].makespan["long1"], apart[name].makespan["long2"]), ended, 0.15*ended).SameSide(1).
			Missed(r.Say("small end", lab.Facts{"ends": shorter, "published": map[string]float64{"b": 409, "e": 387, "f": 432, "h": 438}[name]})))
	}
}

// watchQueues watches the maps of the four separate queues.
func watchQueues() *compare.Watcher {
	names := []string{"long1", "long2", "small1", "small2"}
	order := capOrder(false)
	return &compare.Watcher{Keys: names, Of: func(a sim.Attempt) int {
		if a.Task.Kind != scheduler.Map {
			return -1
		}
		id := int(a.Task.Job)
		return slices.Index(names, bySize(id/len(order), order[id%len(order)]))
	}}
}
