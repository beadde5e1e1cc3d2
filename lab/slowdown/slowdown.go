// Package slowdown runs the experiments of the paper on the variability of job slowdown (spec/slowdown).
package slowdown

import (
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

//go:embed words.md
var words string

// Document is the paper with its experiments.
var Document = sync.OnceValue(func() *lab.Document {
	return lab.NewDocument("slowdown", words, []lab.Table{policyTable(), validationTable()},
		&lab.Experiment{ID: "slowdown-table2", Seconds: 1, Run: tableII},
		&lab.Experiment{ID: "slowdown-policies", Seconds: 450, Run: besideFIFO},
		&lab.Experiment{ID: "slowdown-halving", Seconds: 600, Run: halving},
		&lab.Experiment{ID: "slowdown-limits", Seconds: 700, Run: limits},
		&lab.Experiment{ID: "slowdown-validation", Seconds: 6, Run: validation},
		&lab.Experiment{ID: "slowdown-heartbeat", Seconds: 30, Run: heartbeat},
		&lab.Experiment{ID: "slowdown-restart", Seconds: 12, Run: restart},
		&lab.Experiment{ID: "slowdown-analytic", Seconds: 75, Run: analytic},
	)
})

// tableJob is a row of Table II with the task lengths of spec/slowdown 4.3.
type tableJob struct {
	name            string
	maps, reduces   int32
	m, r, size, run float64
	jobs            int // how many of the fifty validation jobs are of it
}

var tableIIJobs = []tableJob{
	{"GREP 2/1", 2, 1, 27.04, 9.06, 63.14, 36.10, 26},
	{"SORT 4/1", 4, 1, 9.17, 23.53, 60.20, 32.70, 4},
	{"WCOUNT 4/1", 4, 1, 28.03, 14.01, 126.14, 42.04, 4},
	{"GREP 50/5", 50, 5, 29.76, 13.07, 1553.2, 42.83, 4},
	{"WCOUNT 100/10", 100, 10, 32.47, 21.86, 3790.46, 86.80, 3},
	{"SORT 200/20", 200, 20, 12.20, 101.11, 5194.64, 149.92, 3},
	{"GREP 400/40", 400, 40, 29.01, 15.27, 15697.18, 233.63, 3},
	{"WCOUNT 600/60", 600, 60, 25.98, 106.65, 26662.53, 579.73, 3},
}

// job makes a job of a row.
func (c tableJob) job() *sim.Job {
	spec := &scheduler.JobSpec{Maps: c.maps, Reduces: c.reduces, Work: lab.Seconds(float64(c.maps)*c.m + float64(c.reduces)*c.r)}
	return &sim.Job{Spec: spec, Maps: []time.Duration{lab.Seconds(c.m)}, Reduces: []time.Duration{lab.Seconds(c.r)}}
}

func tableII(r *lab.Recorder) {
	r.Seeds(1, 1)
	run := chart.Bars{Frame: chart.Frame{Title: "Run time of each job alone", X: chart.Axis{Label: "s", Log: true}}}
	size := chart.Bars{Frame: chart.Frame{Title: "Occupancy of each job", X: chart.Axis{Label: "slot-seconds", Log: true}}}
	var watch *compare.Watcher // of the last and largest
	for _, c := range tableIIJobs {
		cfg, err := lab.Slotted(10, 6, 2, "fifo", nil)
		r.Must(err)
		watch = &compare.Watcher{Keys: []string{"maps", "reduces (waiting until all maps are done)"}, Of: compare.ByKind}
		watch.Attach(&cfg)
		res, err := sim.Run(cfg, []*sim.Job{c.job()})
		r.Must(err)
		why := "task lengths calibrated by our specification"
		if c.name == "GREP 50/5" {
			why += "; " + r.Say("decimal slip")
		}
		took, held := res.Jobs[0].Execution().Seconds(), res.Jobs[0].Occupied.Seconds()
		r.Check(lab.Within("4: "+c.name+" run time, s", took, c.run, 0.001*c.run).Because(why),
			lab.Within("4: "+c.name+" occupancy, s", held, c.size, 0.001*c.size).Because("in slot-seconds; "+why))
		run.Bars, size.Bars = append(run.Bars, chart.Plain(c.name, took).Beside(c.run)), append(size.Bars, chart.Plain(c.name, held).Beside(c.size))
	}
	r.Figure("run", run)
	r.Figure("occupancy", size)
	last := tableIIJobs[len(tableIIJobs)-1]
	area := watch.Area("Slots held by "+last.name+" alone", lab.Seconds(last.run))
	area.Y.Label = "slots"
	r.Figure("waves", area)
}

func policyTable() lab.Table {
	limits := func(p map[string]string) string { return p["limits"] }
	return lab.Table{
		Title: "The policies and the parameters used here, unless a page varies them (limits in slot-seconds)",
		Head:  []string{"policy", "queues", "own nodes for each queue", "jobs sink", "job sizes", "limits", "shares of nodes"},
		Rows: [][]string{
			{"FIFO", "1", "no", "no", "unknown", "", ""},
			{"FBQ", "2", "no", "yes", "unknown", limits(fbq2), ""},
			{"FBQ, K=4", fbq4["k"], "no", "yes", "unknown", limits(fbq4), ""},
			{"TAGS", "2", "yes", "yes", "unknown", limits(tags), tags["shares"]},
			{"SITA", "2", "yes", "no", "predicted", limits(sita), sita["shares"]},
			{"COMP", "2, or " + comp4["k"] + " where said", "no", "no", "predicted, compared", "", ""},
		},
	}
}

func validationTable() lab.Table {
	t := lab.Table{
		Title: "The eight validation jobs (Table II of the paper); task lengths are our specification's, found so that both published columns are met",
		Head:  []string{"job, maps/reduces", "one map, s", "one reduce, s", "occupancy, slot-seconds", "run time alone, s", "of the fifty jobs"},
	}
	for _, j := range tableIIJobs {
		t.Rows = append(t.Rows, []string{j.name, fmt.Sprintf("%.2f", j.m), fmt.Sprintf("%.2f", j.r), fmt.Sprintf("%.2f", j.size), fmt.Sprintf("%.2f", j.run), fmt.Sprint(j.jobs)})
	}
	return t
}
