package slowdown

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
)

// compReading is a filling of what the source leaves open of COMP at load 0.9 (spec/slowdown 6.14): how wrong predictions are, and how much of the
// work is in maps.
type compReading struct {
	name  string
	noise string // sigma of the prediction's error
	from  fb1121
}

var compReadings = []compReading{
	{"predictions off by exp(0.2 N(0,1)), as judged", "0.2", drawn},
	{"exact ones", "0", drawn},
	{"off by exp(0.5 N(0,1))", "0.5", drawn},
	{"off by exp(N(0,1))", "1", drawn},
	{"off by exp(2 N(0,1))", "2", drawn},
	{"at most 20 reduces a job", "0.2", fb1121{reduces: 20}},
	{"20 % of the work for reduces", "0.2", fb1121{reduces: 100, part: 0.2}},
	{"15 %", "0.2", fb1121{reduces: 100, part: 0.15}},
	{"10 %", "0.2", fb1121{reduces: 100, part: 0.1}},
}

// tailOfComp reports the 95th percentile of COMP under every reading beside FIFO's over the same jobs, and returns what a remark says of them. A quick
// run has none.
func tailOfComp(r *lab.Recorder, n int) lab.Facts {
	if r.Quick() {
		return lab.Facts{"n": 0, "predicted": "", "above": "", "worse": 0}
	}
	var list []setting
	for _, c := range compReadings {
		one := setting{policy: "comp", params: map[string]string{"noise": c.noise}, load: 0.9, slowstart: usualStart, from: c.from}
		list = append(list, one)
		one.policy, one.params = "fifo", nil
		list = append(list, one)
	}
	runs := spreadRuns(r, list, n)
	var said, above, predicted []string
	worse := 0
	for i, c := range compReadings {
		comp, fifo, maps := average(runs[2*i]).q[95], average(runs[2*i+1]).q[95], c.from.mapLoad(r.Seed(), 0.9)
		said = append(said, fmt.Sprintf("%s: %s (FIFO %s; load of the map slots %s)", c.name, stats.Text(comp), stats.Text(fifo), stats.Text(maps)))
		if c.from == drawn {
			predicted = append(predicted, stats.Text(comp))
		}
		if comp >= 60 {
			above = append(above, fmt.Sprintf("%s (load of the map slots %s)", c.name, stats.Text(maps)))
		}
		if comp > fifo {
			worse++
		}
	}
	r.Check(lab.Reported("9: p95 COMP, load 0.9, by reading", "above 60 (R11)", strings.Join(said, "; ")))
	return lab.Facts{"predicted": strings.Join(predicted, ", "), "above": strings.Join(above, ", "), "worse": worse, "n": len(compReadings)}
}

// mapLoad returns the load of the map slots when that of all slots is load.
func (f fb1121) mapLoad(seed uint64, load float64) float64 {
	var maps, all float64
	for _, j := range f.workload(seed, arrival{load, ownNodes, usualStart}) {
		for _, d := range j.Maps {
			maps += d.Seconds()
		}
		all += j.Spec.Work.Seconds()
	}
	return load * maps / all * 8 / 6
}
