package slowdown

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

// split counts the work that is done in each of two partitions: the run times of tasks, without the waiting of reduces.
type split struct {
	nodes topology.NodeID // of partition 1, which has the first ones; 0: there are no partitions
	all   int
	jobs  []*sim.Job
	done  [2]time.Duration
}

// newSplit takes the shares of a policy's parameters; "" means none.
func newSplit(shares string, nodes int, jobs []*sim.Job) *split {
	first, _, _ := strings.Cut(shares, ",")
	part, _ := strconv.ParseFloat(first, 64)
	return &split{nodes: topology.NodeID(math.Round(float64(nodes) * part)), all: nodes, jobs: jobs}
}

// attach makes a run report its tasks to the split.
func (s *split) attach(cfg *sim.Config) {
	if s.nodes == 0 {
		return
	}
	cfg.Watch = func(_ time.Duration, a sim.Attempt, started bool) {
		if started {
			return
		}
		times := s.jobs[a.Task.Job].Maps
		if a.Task.Kind == scheduler.Reduce {
			times = s.jobs[a.Task.Job].Reduces
		}
		p := 0
		if a.Node >= s.nodes {
			p = 1
		}
		s.done[p] += times[int(a.Task.Index)%len(times)]
	}
}

// measure returns the part of the work that was done in partition 1, and the utilisation of both until the end.
func (s *split) measure(end time.Duration) (first float64, used [2]float64) {
	if s.nodes == 0 {
		return 0, used
	}
	first = s.done[0].Seconds() / (s.done[0] + s.done[1]).Seconds()
	for i, nodes := range []float64{float64(s.nodes), float64(s.all) - float64(s.nodes)} {
		used[i] = s.done[i].Seconds() / (8 * nodes * end.Seconds())
	}
	return first, used
}

// partitionLoads is R9 (Figure 9; spec/slowdown 4.4) and the work that the source says partition 1 completed.
func partitionLoads(r *lab.Recorder, at, over atLoad) {
	bars := chart.Bars{Frame: chart.Frame{Title: "Utilisation of the partitions, load 0.7 (Fig. 9)", X: chart.Axis{Label: "run time of tasks over slot time"}}, Groups: []string{"partition 1", "partition 2"}}
	for _, share := range sitaShares {
		limit := bestLimit(at, "sita", share, sitaGrid)
		s := over(limited("sita", share, limit), 0.7)
		e := estimate(func(s ...spread) float64 { return s[0].first / (1 - s[0].first) }, s)
		r.Check(workApart(r, &bars, fmt.Sprintf("SITA %d %%, limit %g", share, limit), lab.Sign("clearly below 1 (R9)"), s).Over(e).Missed(r.Say("young work")))
	}
	for _, share := range sitaShares[1:] {
		limit := bestLimit(at, "tags", share, tagsGrid)
		said := lab.Nobody("nothing at this limit of ours; the last two rows have that of the source")
		r.Check(workApart(r, &bars, fmt.Sprintf("TAGS %d %%, limit %g", share, limit), said, at(limited("tags", share, limit), 0.7)).Missed(r.Say("young work")))
	}
	r.Figure("partitions", bars)
	statedLoads(r, over)
}

// workApart is how much work is done in partition 1 over that in 2.
func workApart(r *lab.Recorder, bars *chart.Bars, name string, said lab.Said, s spread) lab.Check {
	for k, u := range s.partitions {
		bars.Bars = append(bars.Bars, chart.Plain(name, u).In(k))
	}
	return lab.AtMost("R9: work done in partition 1 / in 2, "+name, said, s.first/(1-s.first), 1).
		Because(r.Say("load as work", lab.Facts{"first": s.partitions[0], "second": s.partitions[1]}))
}

// statedLoads are the rows of spec/slowdown 4.4, R9 at limits that the source or our specification names.
func statedLoads(r *lab.Recorder, over atLoad) {
	of := func(policy string, share int, limit float64, what func(spread) float64) stats.Estimate {
		return estimate(func(s ...spread) float64 { return what(s[0]) }, over(limited(policy, share, limit), 0.7))
	}
	first := func(s spread) float64 { return 100 * s.first }
	used := of("sita", 30, 12000, func(s spread) float64 { return s.partitions[0] / s.partitions[1] })
	r.Check(lab.AtMost("R9: utilisation of partition 1 / of 2, SITA 30 %, limit 12000", lab.Sign("below 1 (R9)"), used.Mean, 1).Over(used).Because(r.Say("load as utilisation")))
	e := of("sita", 30, 18000, first)
	r.Check(lab.Within("SITA 30 %, limit 18000: work done in partition 1, %", e.Mean, 35, 6).Over(e))
	e = of("tags", 50, 14000, first)
	r.Check(lab.Within("TAGS 50 %, limit 14000: work done in partition 1, %", e.Mean, 35, 6).Over(e).Missed(r.Say("young work")))
	e = of("tags", 50, 14000, func(s spread) float64 { return s.partitions[1] })
	r.Check(lab.Within("R9: TAGS 50 %, limit 14000: utilisation of partition 2", e.Mean, 0.91, 0.1).Quoted(lab.Sign("very high (R9); 0.91 if 35 % of the work is in partition 1")).Over(e).Missed(r.Say("young work")))
}
