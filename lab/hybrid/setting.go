package hybrid

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/topology"
	"github.com/millrace/millrace/trace"
)

// The public generator with which the source made its jobs scales sizes by the machines of the cluster over those of the traced one:
// 3,000 by its pages, 600 by the source (spec/hybrid 4.1).
const (
	judgedScale = machines / 3000.0
	otherScale  = machines / 600.0
	wideScale   = wideMachines / 3000.0
)

// trainingDay is the public trace that the source trained with.
const trainingDay = "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv"

// A setting is where the jobs of an experiment come from, and what classifies them, by scale.
type setting struct {
	day     []trace.Job
	learned map[float64]hybrid.Classifier
	wide    map[float64]func() hybrid.Classifier // of the jobs on 600 machines, by scale
	larger  float64                              // times each scale; the reader may set it
}

// newSetting reads the traces and trains a classifier for each scale.
func newSetting(r *lab.Recorder) setting {
	day, _ := r.Day()
	other, err := lab.PublicTrace(trainingDay)
	if errors.Is(err, lab.ErrNoTraces) {
		other = trace.FB2010.Generate(25_428, rand.New(rand.NewPCG(r.Seed(), 0xfc)))
		err = nil
	}
	r.Must(err)
	s := setting{day: day, learned: map[float64]hybrid.Classifier{}, larger: r.Float("scale", 1)}
	for _, scale := range []float64{judgedScale, otherScale, 1} {
		s.learned[scale] = train(r, other, machines, s.larger*scale)
	}
	s.wide = map[float64]func() hybrid.Classifier{}
	for _, scale := range []float64{1, wideScale} {
		s.wide[scale] = sync.OnceValue(func() hybrid.Classifier { return train(r, other, wideMachines, scale) })
	}
	return s
}

// train is a support vector machine over jobs of these sizes, labelled by the rule.
func train(r *lab.Recorder, day []trace.Job, machines int, scale float64) hybrid.Classifier {
	shape := trace.SWIMShape(machines)
	shape.Scale = scale
	var samples []hybrid.Sample
	for _, t := range day {
		t = shape.Sized(t)
		maps, reduces := shape.Tasks(t)
		samples = append(samples, hybrid.Sample{
			Maps: int(maps), Reduces: int(reduces), Shuffle: float64(t.ShuffleBytes), Small: rule.Small(float64(t.InputBytes), float64(t.ShuffleBytes)),
		})
	}
	c, _, err := hybrid.Train(rand.New(rand.NewPCG(r.Seed(), 5)), samples, quickTraining())
	r.Must(err)
	return c
}

// quickTraining is a grid that takes a second.
func quickTraining() hybrid.TrainConfig {
	cfg := hybrid.DefaultTrainConfig()
	cfg.GridPoints, cfg.FitPoints = 400, 3000
	cfg.Grid.C, cfg.Grid.Gamma, cfg.Grid.Folds = []float64{10, 1000}, []float64{0.1, 1}, 3
	return cfg
}

// of gives variants the jobs and the classifier of a scale.
func (s setting) of(list []hybridVariant, scale float64) []hybridVariant {
	for i := range list {
		list[i].day, list[i].scale, list[i].learned = s.day, s.larger*scale, s.learned[scale]
	}
	return list
}

// A quantity is reported at several scales: one system over another or, if without is empty, one alone.
type quantity struct {
	name, published, with, without string
	of                             func(hybridRun) float64
}

func (q quantity) mean(got map[string][]hybridRun) float64 {
	if q.without == "" {
		return lab.Mean(got[q.with], q.of)
	}
	return lab.Ratio(got[q.with], got[q.without], q.of).Mean
}

// scaleRows reports the headline figures at the other scales, and by the label rule instead of the trained classifier.
func scaleRows(r *lab.Recorder, at setting, judged map[string][]hybridRun, online bool, n int, list []quantity) []scaled {
	run := func(scale float64, ruled bool) map[string][]hybridRun {
		variants := at.of(strategies(online, hybridCount), scale)
		if ruled {
			for i := range variants {
				variants[i].learned = nil
			}
		}
		return hybrids(r, variants, n)
	}
	rows := []scaled{{"x50/3000", judged}, {"x50/3000, the label rule classifies", run(judgedScale, true)}, {"x50/600", run(otherScale, false)}}
	if !r.Quick() {
		rows = append(rows, scaled{"x1", run(1, false)})
	}
	for _, q := range list {
		var said []string
		for _, row := range rows {
			said = append(said, fmt.Sprintf("%s: %s", row.name, stats.Text(q.mean(row.got))))
		}
		r.Check(lab.Reported(q.name+", by scale of the sizes", q.published, strings.Join(said, "; ")).Because(r.Say("scales")))
	}
	if r.Quick() {
		r.Only("two repetitions of five, two scales")
	}
	return rows
}

// dataPlacement is the rest of item 6 (spec/hybrid 5), or of Figure 5.16 in a batch, with both networks: without one it makes no difference where data
// are. It returns the readings with a network.
func dataPlacement(r *lab.Recorder, at setting, online bool, n int) (rows []scaled) {
	item, of, published := "5: makespan", makespanOf, 1.18
	if online {
		item, of, published = "6: mean completion", meanAll, 1.16
	}
	for _, name := range slices.Sorted(maps.Keys(wires)) {
		with := hybridVariant{name: "H-FS-with", cluster: mixed, base: "fair", on: true, steal: true, online: online, jobs: hybridCount, wire: wires[name]}
		without, fs := with, with
		without.name, without.loose = "H-w/o-DPS", true
		fs.name, fs.cluster, fs.on = "FS", traditional, false
		got := hybrids(r, at.of([]hybridVariant{with, without, fs}, judgedScale), n)
		e := lab.Ratio(got["H-w/o-DPS"], got["H-FS-with"], of)
		r.Check(lab.Between(item+", H-w/o-DPS / H-FS-with, "+name, lab.Number(stats.Text(published)), e.Mean, 1.03, published+0.15).Mark(published).SameSide(1).Shown("%.3f", e.Mean).
			Missed(r.Say("reads", readFacts(got, wires[name]))))
		over := func(of func(hybridRun) float64) string {
			return stats.Text(lab.Ratio(got["H-FS-with"], got["FS"], of).Mean)
		}
		if !online {
			r.Check(lab.Reported("5: the last job to end under H-w/o-DPS, and there under H-FS-with, "+name, "not given", lasts(got["H-w/o-DPS"], got["H-FS-with"], lastOfAll)).Because(r.Say("each job")))
		}
		if online {
			r.Check(lab.Reported("7: mean completion of small jobs, H-FS-with / FS, with a network of "+name, "below 0.45", over(meanSmall)))
		} else {
			r.Check(lab.Reported("8, 9: end of the last small job and makespan, H-FS-with / FS, with a network of "+name, "0.47 and 0.60", over(smallEndOf)+" and "+over(makespanOf)))
		}
		rows = append(rows, scaled{"x50/3000, a network of " + name, got})
	}
	return rows
}

// readFacts are how much a job reads, and how long a card takes for a block.
func readFacts(got map[string][]hybridRun, w wire) lab.Facts {
	var maps []float64
	for _, run := range got["H-FS-with"] {
		for _, j := range run.jobs {
			maps = append(maps, float64(j.maps))
		}
	}
	return lab.Facts{"maps": human.Many(int64(stats.Median(maps)), "map"), "block": topology.Gbps(w.nic).Time(mapBlock).Seconds()}
}
