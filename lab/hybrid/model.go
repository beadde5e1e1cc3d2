package hybrid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

func classifier(r *lab.Recorder) {
	r.Seeds(1, 1)
	cfg := hybrid.DefaultTrainConfig()
	if r.Quick() {
		cfg = quickTraining()
	}
	r.Fact("fitted", cfg.FitPoints)
	train, judge := labelled(25_428, r.Seed()), labelled(24_442, r.Seed()+1)
	unsafeRule := 0
	for _, j := range judge {
		if rule.Small(j.input, 0) && !j.Small {
			unsafeRule++
		}
	}
	r.Check(lab.Within("3: large jobs that the rule calls small without their shuffle size", float64(unsafeRule), 0, 0))
	var samples []hybrid.Sample
	for _, j := range train {
		samples = append(samples, j.Sample)
	}
	trained := lab.Repeat(r, 1, func(seed uint64) (*hybrid.Trained, error) {
		c, _, err := hybrid.Train(rand.New(rand.NewPCG(seed, 3)), samples, cfg)
		return c, err
	})
	compareLabels(r, trained[0], judge)
}

// compareLabels compares what a classifier says with the labels.
func compareLabels(r *lab.Recorder, c *hybrid.Trained, judge []labelledJob) {
	right, mixedRight, unsafe := 0, 0, 0
	blind := make([]bool, len(judge))
	for i, j := range judge {
		known, _ := c.Classify(j.spec(true))
		unknown, _ := c.Classify(j.spec(false))
		blind[i] = unknown
		if known == j.Small {
			right++
		}
		if i%2 == 0 && known == j.Small || i%2 == 1 && unknown == j.Small {
			mixedRight++
		}
		if unknown && !j.Small {
			unsafe++
		}
	}
	all, half := 100*float64(right)/float64(len(judge)), 100*float64(mixedRight)/float64(len(judge))
	r.Check(lab.Within("3: large jobs that the trained classifier calls small without their shuffle size", float64(unsafe), 0, 0).Because(r.Say("margin")))
	r.Check(lab.Between("3: right on recurring jobs, %", lab.Number("96.2"), all, 95, 100).Because(r.Say("label rule")).Mark(96.2))
	r.Check(lab.Between("3: right when half of the jobs are not recurring, %", lab.Number("85.7"), half, 80, all).Because(r.Say("not knowing")).Mark(85.7))
	drawClasses(r, judge, blind, all, half)
}

// labelledJob is a job of the model with its label.
type labelledJob struct {
	hybrid.Sample
	input float64
}

func (j labelledJob) spec(known bool) *scheduler.JobSpec {
	return &scheduler.JobSpec{
		Maps: int32(j.Maps), Reduces: int32(j.Reduces), Input: scheduler.Bytes(int64(j.input)), Shuffle: scheduler.Bytes(int64(j.Shuffle)), Recurring: known,
	}
}

func labelled(n int, seed uint64) []labelledJob {
	var out []labelledJob
	for _, t := range trace.FB2010.Generate(n, rand.New(rand.NewPCG(seed, 4))) {
		j := labelledJob{input: float64(t.InputBytes)}
		j.Maps, j.Shuffle = int(max(1, (t.InputBytes+mapBlock-1)/mapBlock)), float64(t.ShuffleBytes)
		if t.ShuffleBytes > 0 {
			j.Reduces = int(max(1, (t.ShuffleBytes+t.OutputBytes)>>30))
		}
		j.Small = rule.Small(j.input, j.Shuffle)
		out = append(out, j)
	}
	return out
}

func crosspoint(r *lab.Recorder) {
	r.Seeds(1, 1)
	lines := chart.Lines{
		Frame: chart.Frame{Title: "Time on five scale-out machines over time on one scale-up machine", X: chart.Axis{Label: "input, GB", Log: true}, Y: chart.Axis{Label: "ratio of times"}},
		Marks: []chart.Mark{{Name: "equal", Value: 1}, {Name: "32 GB", Value: 32, Vertical: true}, {Name: "64 GB", Value: 64, Vertical: true}},
	}
	for _, c := range []struct {
		name         string
		ratio, cross float64
	}{{"TeraSort", 1, 32}, {"WordCount", 1.6, 64}} {
		s := chart.Series{Name: c.name}
		cross := math.NaN()
		for gb := 0.5; gb <= 512; gb *= math.Pow(2, 0.25) {
			v, err := outOverUp(gb*hybridGB, gb*hybridGB*c.ratio)
			r.Must(err)
			if k := len(s.Y); k > 0 && s.Y[k-1] >= 1 && v < 1 {
				cross = s.X[k-1] + (gb-s.X[k-1])*(s.Y[k-1]-1)/(s.Y[k-1]-v)
			}
			s.X, s.Y = append(s.X, gb), append(s.Y, v)
		}
		lines.Series = append(lines.Series, s)
		r.Check(lab.Within("4: crosspoint of "+c.name+", GB", cross, c.cross, 0.25*c.cross).Because("the model is fitted to this"))
		r.Check(lab.Within("4: ratio of a small "+c.name, s.Y[0], 1.7, 0.1).Because(r.Say("times over times")))
		r.Check(lab.Within("4: ratio of a large "+c.name, s.Y[len(s.Y)-1], 0.65, 0.1).Because(fmt.Sprintf("the same, %.0f GB of input", s.X[len(s.X)-1])))
	}
	r.Figure("ratio", lines)
}

// outOverUp runs one job of maps alone on either side.
func outOverUp(input, shuffle float64) (float64, error) {
	var took [2]float64
	for k, cluster := range []hybridCluster{{1, 5, 0}, {0, 0, 1}} {
		policy, err := policies.Policy("fifo", nil)
		if err != nil {
			return 0, err
		}
		cfg, err := cluster.config(policy)
		if err != nil {
			return 0, err
		}
		maps := int32(math.Ceil(input / mapBlock))
		res, err := sim.Run(cfg, []*sim.Job{{
			Spec: &scheduler.JobSpec{Maps: maps, Input: scheduler.Bytes(int64(input)), Shuffle: scheduler.Bytes(int64(shuffle))},
			Maps: []time.Duration{10 * time.Second},
		}})
		if err != nil {
			return 0, err
		}
		took[k] = res.Makespan.Seconds()
	}
	return took[0] / took[1], nil
}
