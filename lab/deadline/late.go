package deadline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/topology"
)

// lateRun is how long after their goals two jobs end, and when everything is done, in seconds.
type lateRun struct {
	late  [2]float64
	total float64
	watch *compare.Watcher // nil after the first repetition
}

// late is two jobs that both miss their goals.
func late(r *lab.Recorder) {
	nodes := r.Int("nodes", ownNodes)
	runs := lab.Repeat(r, r.Seeds(20, 5), func(seed uint64) (lateRun, error) { return runLate(nodes, seed, seed == r.Seed()) })
	r.Check(lab.Between("13: difference of lateness of two late jobs, s", lab.Sign("equalised"), lab.Mean(runs, func(l lateRun) float64 { return math.Abs(l.late[0] - l.late[1]) }), 0, 25).
		Because("mean over runs of one job's lateness minus the other's, without sign"))
	r.Check(lab.Within("13: time for all their work, s", lab.Mean(runs, func(l lateRun) float64 { return l.total }), 205, 15).Quoted(lab.Nobody("nothing; 205 by arithmetic")).Because(r.Say("waves")))
	first := runs[0]
	lines := first.watch.Lines("Slots of the two late jobs", lab.Seconds(first.total),
		chart.Mark{Name: "goal 10 s", Value: 10, Vertical: true}, chart.Mark{Name: "goal 60 s", Value: 60, Vertical: true})
	lines.Y.Label = "slots (running maps)"
	r.Figure("slots", lines, lab.Facts{"one": first.late[0], "other": first.late[1]})
}

func runLate(nodes int, seed uint64, watched bool) (out lateRun, err error) {
	jobs := lateJobs(rand.New(rand.NewPCG(seed, 13)))
	cfg, err := workers(nodes, "deadline-max", nil, seed)
	if err != nil {
		return out, err
	}
	if watched {
		out.watch = &compare.Watcher{Keys: []string{"goal 10 s", "goal 60 s"}, Of: compare.MapsOf(2)}
	}
	res, err := seen(cfg, jobs, out.watch)
	if err != nil {
		return out, err
	}
	for k := range out.late {
		out.late[k] = (res.Jobs[k].Finished - jobs[k].Spec.Deadline).Seconds()
	}
	out.total = res.Makespan.Seconds()
	return out, nil
}

// lateJobs makes two jobs that cannot meet their goals.
func lateJobs(rng *rand.Rand) (jobs []*sim.Job) {
	for k, goal := range []float64{10, 60} {
		j := &sim.Job{Spec: &scheduler.JobSpec{ID: scheduler.JobID(k), Maps: 600, Deadline: lab.Seconds(goal)}}
		for range 600 {
			j.Maps = append(j.Maps, lab.Seconds(8+4*rng.Float64()))
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// shrink is experiment three with a smaller cluster from 2,500 s on.
func shrink(r *lab.Recorder) {
	names := []string{"min", "max", "fair"}
	var faults []sim.Fault
	for node := range 20 {
		faults = append(faults, sim.Fault{Node: topology.NodeID(node), At: 2500 * time.Second, KeepOutput: true})
	}
	runs := goalRuns(r, names, r.Seeds(20, 3), faults)
	_, high, said := spanOf("s", runs["max"], done(1))
	r.Check(lab.Holds("17: J2 under max still meets its goal of 3,000 s", lab.Nobody("2,943 s in the model of the specification"), said, high <= 3000, "all runs at most 3,000 s").
		Because("tasks of lost workers start again here; that model lets them finish"))
	area := runs["max"][0].area("max, 20 workers leave at 2,500 s", chart.Mark{Name: "20 leave", Value: 2500, Vertical: true})
	r.Check(lab.Between("17: most map slots in use afterwards", lab.Nobody("40"), mostAfter(area, 2500), 1, 40.5).Because("first repetition under max").Mark(40))
	shrinkModel(r, runs)
	r.Figure("slots", area)
	drawOverGoals(r, runs, names)
}

// mostAfter returns the largest sum of all layers after a time.
func mostAfter(area chart.Area, from float64) (most float64) {
	for i, at := range area.At {
		sum := 0.0
		for _, s := range area.Series {
			sum += s.Values[i]
		}
		if at > from {
			most = max(most, sum)
		}
	}
	return most
}

// shrinkModel shows the specification's own model beside what is measured.
func shrinkModel(r *lab.Recorder, runs map[string][]goalRun) {
	for _, c := range []struct {
		policy string
		job    int
		want   float64
	}{{"max", 0, 5932}, {"max", 3, 179}, {"min", 0, 7466}, {"min", 1, 3153}, {"fair", 3, 408}} {
		r.Check(lab.Reported(fmt.Sprintf("17: J%d under %s, s", c.job+1, c.policy), stats.Text(c.want)+" in the model of the specification", stats.Text(avg(runs[c.policy], done(c.job)))).Because(r.Say("start again")))
	}
}
