package deadline

import (
	"math"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// strips are completion over goal: of the Joins, which the rule aims at the goal, and of J1, which divides min from max.
func strips(r *lab.Recorder, runs map[string][]goalRun) {
	over := func(name, policy string, job int) lab.Reading {
		return lab.Read(name, stats.NewEstimate(lab.Each(runs[policy], func(g goalRun) float64 { return g.completion[job] / goalSeconds[job] })))
	}
	r.Headline(lab.Headline{Name: "J1", What: "Completion of J1 over its goal", Unit: "completion / goal", Published: "min above 1, max below", Line: 1, None: math.NaN(), Policies: true},
		over("max", "max", 0), over("min", "min", 0), over("max with tail reserve", "max-tail", 0), over("min with tail reserve", "min-tail", 0), over("fair", "fair", 0), over("fair with weights", "weighted", 0))
	r.Headline(lab.Headline{Name: "Joins", What: "Completion of the first Join over its goal", Unit: "completion / goal", Published: "nothing; the formula aims at 1", Line: math.NaN(), None: math.NaN(), Judges: -1, Policies: true},
		over("max", "max", 2), over("min", "min", 2), over("max with tail reserve", "max-tail", 2), over("min with tail reserve", "min-tail", 2), over("fair with weights", "weighted", 2), over("fair", "fair", 2))
}
