package capacity

import (
	"fmt"
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// overheads are tried, in seconds of a map of a small job: our specification suspects that the thesis has one that it does not name.
var overheads = []float64{5, 10, 20}

// withOverhead is the cost of a job whose maps take more seconds of a core.
func withOverhead(c sim.Cost, seconds float64) sim.Cost {
	c.MapCycles += seconds * sim.DefaultDevices().Hz / capBlock
	return c
}

// loaded is experiments 2 and 6 with an overhead.
type loaded struct {
	seconds          float64
	hundred, quarter capMean
}

// over is the response ratio of a type at a user limit of 100 over that at 25.
func (l loaded) over(typ int) stats.Estimate { return l.hundred.over(l.quarter, typ) }

// phasedOverheads says what an overhead does to the response ratios of small jobs in experiments 2 and 6.
func phasedOverheads(r *lab.Recorder, n int) (all []loaded) {
	for _, seconds := range overheads {
		o := capBase()
		o.overhead = seconds
		l := loaded{seconds, average(r, capGroups[0], capSettings[settingIndex("b")], o, n), average(r, capGroups[0], capSettings[settingIndex("f")], o, n)}
		var said []string
		for t := longTypes; t < len(capTypes); t++ {
			said = append(said, fmt.Sprintf("type %d: %s and %s, %s", t+1, stats.Text(l.hundred.ratio[t]), stats.Text(l.quarter.ratio[t]), l.over(t).Text()))
		}
		all = append(all, l)
		r.Check(lab.Reported(fmt.Sprintf("2: response ratios of small types at 100 and 25, and 100 / 25, if their maps take %g s more", seconds), "15 and 3.6, 4.17; 12.9 and 3, 4.3; 10.4 and 1.83, 5.68", strings.Join(said, "; ")).Because(r.Say("overhead")))
	}
	return all
}

// separateOverheads says what an overhead does to the end of the last small job in experiment 26.
func separateOverheads(r *lab.Recorder, n int) {
	var said []string
	for _, seconds := range overheads {
		o := capBase()
		o.overhead = seconds
		m := average(r, capGroups[3], capSettings[settingIndex("b")], o, n)
		worst := 0.0
		for _, v := range m.ratio[longTypes:] {
			worst = max(worst, v)
		}
		said = append(said, fmt.Sprintf("%g s: %s s, %s", seconds, stats.Text(max(m.makespan["small1"], m.makespan["small2"])), stats.Text(worst)))
	}
	r.Check(lab.Reported("4: end of the last small job and worst response ratio of small types, setting b, if their maps take more", "409 s, 1.65", strings.Join(said, "; ")).Because(r.Say("overhead")))
}
