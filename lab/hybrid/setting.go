package hybrid

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/trace"
)

// The public generator with which the source made its jobs scales sizes by the machines of the cluster over those of the traced one:
// 3,000 by its pages, 600 by the source (spec/hybrid 4.1).
const (
	judgedScale = machines / 3000.0
	otherScale  = machines / 600.0
)

// trainingDay is the public trace that the source trained with.
const trainingDay = "FB-2010_samples_24_times_1hr_withInputPaths_0.tsv"

// A setting is where the jobs of an experiment come from, and what classifies them, by scale.
type setting struct {
	day     []trace.Job
	learned map[float64]hybrid.Classifier
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
	s := setting{day: day, learned: map[float64]hybrid.Classifier{}}
	for _, scale := range []float64{judgedScale, otherScale, 1} {
		s.learned[scale] = train(r, other, scale)
	}
	return s
}

// train is a support vector machine over jobs of these sizes, labelled by the rule.
func train(r *lab.Recorder, day []trace.Job, scale float64) hybrid.Classifier {
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
		list[i].day, list[i].scale, list[i].learned = s.day, scale, s.learned[scale]
	}
	return list
}

// A quantity is reported at several scales: one system over another.
type quantity struct {
	name, published, with, without string
	of                             func(hybridRun) float64
}

// scaleRows reports the headline figures at the other scales, and by the label rule instead of the trained classifier.
func scaleRows(r *lab.Recorder, at setting, judged map[string][]hybridRun, online bool, n int, list []quantity) {
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
	if online {
		strips(r, rows)
	}
	for _, q := range list {
		var said []string
		for _, row := range rows {
			said = append(said, fmt.Sprintf("%s: %s", row.name, stats.Text(lab.Ratio(row.got[q.with], row.got[q.without], q.of).Mean)))
		}
		r.Check(lab.Reported(q.name+", by scale of the sizes", q.published, strings.Join(said, "; ")).Because(r.Say("scales")))
	}
	if r.Quick() {
		r.Only("two repetitions of five, two scales")
	}
}

// wholeDay is the simulation of the source: 600 scale-out machines against 570 and 6 scale-up ones, all jobs as they arrived, sizes as
// they are. The label rule classifies.
func wholeDay(r *lab.Recorder, at setting) {
	if r.Quick() {
		return
	}
	list := []hybridVariant{
		{name: "FS", cluster: hybridCluster{20, 30, 0}, base: "fair"},
		{name: "H-FS-with", cluster: hybridCluster{19, 30, 6}, base: "fair", on: true, steal: true},
	}
	for i := range list {
		list[i].day, list[i].scale, list[i].whole, list[i].online = at.day, 1, true, true
	}
	got := hybrids(r, list, 1)
	for _, q := range []quantity{
		{"9: mean completion", "below 1", "", "", meanAll},
		{"9: median completion", "below 1", "", "", medianAll},
		{"7: mean completion of small jobs", "below 0.45", "", "", meanSmall},
		{"7: mean completion of large jobs", "0.80 and more", "", "", meanLarge},
		{"10: completion of the largest job", "slower (above 1)", "", "", topOf},
	} {
		r.Check(lab.Reported(q.name+", H-FS-with / FS, 570 + 6 machines against 600, the whole day", q.published, stats.Text(lab.Ratio(got["H-FS-with"], got["FS"], q.of).Mean)).Because("one run; sizes as they are; the label rule classifies"))
	}
}

// dataPlacement is the rest of item 6, with both networks: without one it makes no difference where data are.
func dataPlacement(r *lab.Recorder, at setting, n int) {
	for _, name := range slices.Sorted(maps.Keys(wires)) {
		with := hybridVariant{name: "with", cluster: mixed, base: "fair", on: true, steal: true, online: true, jobs: hybridCount, wire: wires[name]}
		without, fs := with, with
		without.name, without.loose = "without", true
		fs.name, fs.cluster, fs.on = "FS", traditional, false
		got := hybrids(r, at.of([]hybridVariant{with, without, fs}, judgedScale), n)
		e, small := lab.Ratio(got["without"], got["with"], meanAll), lab.Ratio(got["with"], got["FS"], meanSmall)
		r.Check(lab.Between("6: mean completion, H-w/o-DPS / H-FS-with, "+name, "1.16", e.Mean, 1.03, 1.31).Mark(1.16).SameSide(1).Shown("%.3f", e.Mean).Missed(r.Say("reads")))
		r.Check(lab.Reported("7: mean completion of small jobs, H-FS-with / FS, with a network of "+name, "below 0.45", stats.Text(small.Mean)))
	}
}
