package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/topology"
)

func placements(r *lab.Recorder) {
	n := r.Seeds(3, 2)
	topo, _, err := mixed.build(wire{})
	r.Must(err)
	p, err := placement.New("two-plus-one", topo)
	r.Must(err)
	const blocks = 10_000
	rng := rand.New(rand.NewPCG(r.Seed(), 1))
	right, up := 0, 0
	replicas := make([]float64, mixed.racks+1)
	for range blocks {
		got, err := p.Place(rng, placement.Request{Writer: topology.NodeID(rng.IntN(topo.NumNodes())), Replicas: 3})
		r.Must(err)
		ups, racks, nodes := 0, map[topology.RackID]bool{}, map[topology.NodeID]bool{}
		for _, node := range got.Nodes {
			racks[topo.RackOf(node)], nodes[node] = true, true
			replicas[topo.RackOf(node)]++
			if mixed.isUp(node) {
				ups++
			}
		}
		up += ups
		if ups == 1 && len(racks) == 2 && len(nodes) == 3 {
			right++
		}
	}
	r.Check(lab.Within("1: blocks with 2 scale-out and 1 scale-up replicas on 3 nodes in 2 racks", float64(right), blocks, 0).Because("of 10,000 blocks"))
	r.Check(lab.Within("1: share of replicas on scale-up, %", 100*float64(up)/(3*blocks), 100.0/3, 0.5))
	drawRacks(r, replicas, blocks)
	stolenLocality(r, n)
}

// stolenLocality compares where the maps of stolen jobs run with those of others.
func stolenLocality(r *lab.Recorder, n int) {
	got := hybrids(r, []hybridVariant{{name: "with", cluster: mixed, base: "delay", on: true, steal: true, literal: true, online: true, jobs: 150}}, n)
	stolen := 0
	var lost []float64
	for _, run := range got["with"] {
		stolen += int(stolenJobs(run))
		if stolenJobs(run) > 0 {
			lost = append(lost, 100*(run.local[0]-run.local[1]))
		}
	}
	if len(lost) == 0 {
		lost = []float64{math.NaN()}
	}
	r.Check(lab.AtMost("1: node- or rack-local maps, unstolen scale-out jobs less stolen ones, points", lab.Number("at most 2 percentage points"), stats.Mean(lost), 2).Because(r.Say("lightly loaded", lab.Facts{"stolen": stolen})).Accept("at most 2 points"))
	drawLocality(r, got["with"])
}

// stealWatch checks the rules of stealing at every launch.
type stealWatch struct {
	cluster  hybridCluster
	jobs     []*sim.Job
	small    []bool
	value    []float64
	launched []int32
	upTasks  []int32
	outTasks []int32
	broken   map[string]int
	steals   int
}

func (w *stealWatch) see(now time.Duration, a sim.Attempt, started bool) {
	if !started {
		return
	}
	j := a.Task.Job
	up := w.cluster.isUp(a.Node)
	switch {
	case up && !w.small[j]:
		w.broken["a large job runs on scale-up"]++
	case up && w.outTasks[j] > 0, !up && w.upTasks[j] > 0:
		w.broken["a job runs on both classes"]++
	case !up && w.small[j] && w.outTasks[j] == 0:
		w.stole(now, j)
	}
	if up {
		w.upTasks[j]++
	} else {
		w.outTasks[j]++
	}
	if a.Task.Kind == scheduler.Map {
		w.launched[j]++
	}
}

func (w *stealWatch) stole(now time.Duration, j scheduler.JobID) {
	w.steals++
	for i, o := range w.jobs {
		here := o.Spec.Submit <= now && w.launched[i] < o.Spec.Maps
		onOut := !w.small[i] || w.outTasks[i] > 0
		if here && onOut && scheduler.JobID(i) != j {
			w.broken["a job is stolen while a scale-out job waits"]++
		}
		unstarted := o.Spec.Submit < now && w.small[i] && w.upTasks[i] == 0 && w.outTasks[i] == 0
		if unstarted && math.Abs(w.value[i]) < math.Abs(w.value[j]) {
			w.broken["a nearer job was there to steal"]++
		}
	}
}

func stealing(r *lab.Recorder) {
	n := r.Seeds(200, 200)
	watches := lab.Repeat(r, n, randomSteals)
	steals := 0
	broken := map[string]int{}
	for _, w := range watches {
		steals += w.steals
		for why, k := range w.broken {
			broken[why] += k
		}
	}
	for _, why := range []string{"a large job runs on scale-up", "a job runs on both classes", "a job is stolen while a scale-out job waits", "a nearer job was there to steal"} {
		r.Check(lab.Within("2: times that "+why, float64(broken[why]), 0, 0).Because(fmt.Sprintf("%d schedules, %d steals", n, steals)))
	}
	r.Check(lab.Reported("2: steals seen", "nothing: the rules must have been put to the test", fmt.Sprint(steals)))
	drawSteals(r, watches)
}

// randomSteals runs random jobs on four scale-out nodes and one scale-up node.
func randomSteals(seed uint64) (*stealWatch, error) {
	rng := rand.New(rand.NewPCG(seed, 2))
	cluster := hybridCluster{2, 2, 1}
	n := 20 + rng.IntN(20)
	w := &stealWatch{
		cluster: cluster, small: make([]bool, n), value: make([]float64, n), launched: make([]int32, n), upTasks: make([]int32, n), outTasks: make([]int32, n),
		broken: map[string]int{},
	}
	at := 0.0
	for i := range n {
		at += 10 * rng.ExpFloat64()
		j := &sim.Job{Spec: &scheduler.JobSpec{
			ID: scheduler.JobID(i), Submit: lab.Seconds(at), Maps: 1 + int32(rng.IntN(6)), Input: scheduler.Bytes(int64((1 + 39*rng.Float64()*rng.Float64()) * hybridGB)),
			Shuffle: scheduler.Bytes(int64(20 * rng.Float64() * hybridGB)), Recurring: rng.IntN(2) == 0,
		}}
		j.Maps = []time.Duration{lab.Seconds(5 + 20*rng.Float64())}
		w.small[i], w.value[i] = (hybrid.ByRule{Rule: rule}).Classify(j.Spec)
		w.jobs = append(w.jobs, j)
	}
	policy, err := hybrid.New(hybrid.DefaultConfig())
	if err != nil {
		return nil, err
	}
	cfg, err := cluster.config(policy)
	if err != nil {
		return nil, err
	}
	for i := range cfg.Capacities {
		cfg.Capacities[i].Containers = 2
	}
	cfg.Heartbeat, cfg.OutOfBand, cfg.Seed, cfg.Watch = time.Second, true, seed, w.see
	_, err = sim.Run(cfg, w.jobs)
	return w, err
}
