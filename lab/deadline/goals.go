package deadline

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
)

// goalRun is one run of the four jobs.
type goalRun struct {
	completion [4]float64
	peak       [4]int
	early      float64 // mean slots of J1 from 100 s to S2
	share      float64 // mean slots of J3 while it runs
	busy       float64 // utilisation of map slots until the last job ends
	makespan   time.Duration
	watch      *compare.Watcher // of the slots of the four jobs; nil after the first repetition
}

// area draws the slots of the four jobs.
func (g goalRun) area(title string, marks ...chart.Mark) chart.Area {
	marks = append([]chart.Mark{{Name: "goal of J1", Value: 6000, Vertical: true}, {Name: "goal of J2", Value: 4000, Vertical: true}}, marks...)
	area := g.watch.Area(title, g.makespan, marks...)
	area.Y.Label = "slots (running maps)"
	return area
}

// goalPolicies are the schedulers compared.
var goalPolicies = map[string]struct {
	policy string
	params map[string]string
}{
	"min":      {"deadline-min", nil},
	"max":      {"deadline-max", nil},
	"fair":     {"fair", nil},
	"weighted": {"fair", map[string]string{"key": "pool", "weights": "j1=1,j2=1.4,joins=122"}},
	"min-tail": {"deadline-min", map[string]string{"tail-reserve": "max"}},
	"max-tail": {"deadline-max", map[string]string{"tail-reserve": "max"}},
}

// goalRuns runs the four jobs under policies; workers may be taken away.
func goalRuns(r *lab.Recorder, names []string, n int, faults []sim.Fault) map[string][]goalRun {
	at := newGoalSetup(r)
	return lab.Named(r, names, n, func(name string) string { return name }, func(name string, seed uint64) (goalRun, error) {
		return at.run(name, seed, seed == r.Seed(), faults)
	})
}

// goalSetup is what a user may set.
type goalSetup struct {
	nodes int
	goal  float64 // times the goals of the source
}

func newGoalSetup(r *lab.Recorder) goalSetup {
	return goalSetup{r.Int("nodes", ownNodes), r.Float("goal", 1)}
}

// config sets up a run of the four jobs.
func (g goalSetup) config(name string, seed uint64) (sim.Config, []*sim.Job, error) {
	p, jobs := goalPolicies[name], goals(seed)
	if g.goal != 1 {
		for _, j := range jobs {
			j.Spec.Deadline = j.Spec.Submit + lab.Seconds(g.goal*(j.Spec.Deadline-j.Spec.Submit).Seconds())
		}
	}
	cfg, err := workers(g.nodes, p.policy, p.params, seed)
	return cfg, jobs, err
}

func (g goalSetup) run(name string, seed uint64, watched bool, faults []sim.Fault) (goalRun, error) {
	cfg, jobs, err := g.config(name, seed)
	if err != nil {
		return goalRun{}, err
	}
	cfg.Faults = faults
	var out goalRun
	slots := slotCount{run: &out}
	cfg.Watch = slots.see
	if watched {
		out.watch = &compare.Watcher{Keys: []string{"J1 Simulator", "J2 WordCount", "J3 Join", "J4 Join"}, Of: compare.MapsOf(4)}
	}
	res, err := seen(cfg, jobs, out.watch)
	if err != nil {
		return out, err
	}
	for i := range res.Jobs {
		out.completion[i] = res.Jobs[i].Completion().Seconds()
	}
	out.early, out.share = slots.early/900, slots.share/out.completion[2]
	out.makespan, out.busy = res.Makespan, res.Busy[scheduler.Map].Seconds()/(float64(g.nodes)*res.Makespan.Seconds())
	return out, nil
}

// seen runs a simulation, with a watcher if there is one.
func seen(cfg sim.Config, jobs []*sim.Job, w *compare.Watcher) (*sim.Result, error) {
	if w != nil {
		w.Attach(&cfg)
	}
	return sim.Run(cfg, jobs)
}

// slotCount follows how many map slots each job holds.
type slotCount struct {
	run          *goalRun
	running      [4]int
	early, share float64 // slot-seconds of J1 from 100 s to S2, and of J3
	last         time.Duration
}

func (s *slotCount) see(now time.Duration, a sim.Attempt, started bool) {
	s.early += float64(s.running[0]) * max(0, (min(now, 1000*time.Second)-max(s.last, 100*time.Second)).Seconds())
	s.share += float64(s.running[2]) * (now - s.last).Seconds()
	s.last = now
	if a.Task.Kind != scheduler.Map {
		return
	}
	j := int(a.Task.Job)
	if started {
		s.running[j]++
	} else {
		s.running[j]--
	}
	s.run.peak[j] = max(s.run.peak[j], s.running[j])
}

// fourGoals compares the schedulers, and redraws figures 4 to 7 of the source from the first repetition.
func fourGoals(r *lab.Recorder) {
	names := []string{"min", "max", "fair", "weighted", "min-tail", "max-tail"}
	runs := goalRuns(r, names, r.Seeds(20, 5), nil)
	checkGoals(r, runs)
	checkSlots(r, runs)
	for _, f := range [][2]string{
		{"min", "min: as many slots as needed (Fig. 4)"},
		{"max", "max: all slots, most needy first (Fig. 5)"},
		{"fair", "fair without weights (Fig. 6)"},
		{"weighted", "fair with weights 1, 1.4 and 122 (Fig. 7)"},
	} {
		r.Figure("slots-"+f[0], runs[f[0]][0].area(f[1]))
	}
	drawOverGoals(r, runs, names)
	strips(r, runs)
	at := newGoalSetup(r)
	scene := func(name string) lab.Scene {
		return lab.Scene{Name: goalPolicies[name].policy, Setup: func() (sim.Config, []*sim.Job, error) { return at.config(name, r.Seed()) }}
	}
	r.Watch(scene("min"), scene("max"))
}

// drawOverGoals draws each job's completion over its goal under some policies.
func drawOverGoals(r *lab.Recorder, runs map[string][]goalRun, names []string) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Completion over goal", X: chart.Axis{Label: "completion / goal; 1 is just in time"}}, Groups: []string{"J1", "J2", "J3", "J4"}, Reference: "goal"}
	for j, goal := range goalSeconds {
		for _, name := range names {
			over := stats.NewEstimate(lab.Each(runs[name], func(g goalRun) float64 { return g.completion[j] / goal }))
			bars.Bars = append(bars.Bars, over.Bar(fmt.Sprintf("J%d %s", j+1, name), 1).In(j))
		}
	}
	r.Figure("goals", bars)
}
