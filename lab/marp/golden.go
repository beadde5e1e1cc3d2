package marp

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/admission"
)

// goldenRow is a row of spec/marp 3.6.
type goldenRow struct {
	progress []float64
	p        float64
	d        int
	ws, at   bool
}

var goldenRows = []goldenRow{
	{[]float64{50.0}, 50.000, 20, true, true},
	{[]float64{58.3}, 58.300, 15, false, false},
	{[]float64{66.1, 16.4}, 41.250, 2, false, false},
	{[]float64{71.0, 38.2}, 54.600, 7, true, true},
	{[]float64{79.2, 52.0}, 65.600, 9, true, false},
	{[]float64{87.0, 60.5}, 73.750, 9, false, false},
	{[]float64{68.0}, 68.000, 3, false, false},
	{[]float64{76.4, 5.2}, 40.800, -9, false, false},
	{[]float64{82.0, 25.7}, 53.850, 0, true, true},
	{[]float64{88.5, 48.9}, 68.700, 6, true, true},
	{[]float64{56.1}, 56.100, -1, false, false},
	{[]float64{66.0, 6.3}, 36.150, -9, false, false},
	{[]float64{0.4, 74.2, 28.8}, 51.500, 1, true, true},
	{[]float64{82.1, 49.6}, 65.850, 6, true, true},
}

// golden is spec/marp 6, items 2 and 10.
func golden(r *lab.Recorder) {
	r.Seeds(1, 1)
	ws, err := admission.NewCBTwS(admission.DefaultConfig())
	r.Must(err)
	at, err := drawnAs([]int{2, 4, 1})
	r.Must(err)
	ws.Init(nil, 0.05)
	rightS, rightT := 0, 0
	for i, row := range goldenRows {
		before := goldenRow{}
		if i > 0 {
			before = goldenRows[i-1]
		}
		up := measureOnce(ws, row, before)
		if p, d := ws.Measured(); p == row.p && d == row.d && up == row.ws {
			rightS++
		}
		up = measureOnce(at, row, before)
		if p, d := at.Measured(); p == row.p && d == row.d && up == row.at {
			rightT++
		}
	}
	r.Check(lab.Within("2: golden vector, rows right for CBTwS", float64(rightS), float64(len(goldenRows)), 0).Quoted(lab.Nobody("nothing; 14 rows computed by hand from the published arithmetic")).Because("of 14: mean progress, smoothed delta and decision, exactly"))
	r.Check(lab.Within("2: golden vector, rows right for CBTwAT", float64(rightT), float64(len(goldenRows)), 0).Quoted(lab.Nobody("nothing; 14 rows computed by hand from the published arithmetic")).Because("of 14; thresholds 2, 4 and 1 are tried in this order"))
	drawGolden(r)
	firstDecisions(r)
}

// drawnAs looks for a random source that draws the thresholds in the given order, and
// never picks one at random.
func drawnAs(thresholds []int) (*admission.CBTwAT, error) {
	cfg := admission.CBTwATConfig()
	cfg.EpsilonPct = 0
	for seed := range uint64(10_000) {
		c, err := admission.NewCBTwAT(cfg, rand.New(rand.NewPCG(seed, 2)))
		if err != nil {
			return nil, err
		}
		c.Init(nil, 0.05)
		if got, _, _ := c.Scores(); slices.Equal(got, thresholds) {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no seed draws the thresholds %v", thresholds)
}

// measureOnce shows a controller one idle measurement of a row and lets it keep house.
func measureOnce(c admission.Controller, row, before goldenRow) (up bool) {
	for i := range before.progress {
		c.Track(scheduler.JobID(i), false)
	}
	for i := range row.progress {
		c.Track(scheduler.JobID(i), true)
	}
	o := admission.Obs{IdlePct: 80, Pending: 3, Running: len(row.progress), Prog: func(j scheduler.JobID) float64 { return row.progress[j] }}
	act := c.Step(o)
	o.Prog = func(scheduler.JobID) float64 { return 1 }
	for range 2 { // the sleep inside the pass, then the pass
		o.Now += 30 * time.Second
		c.Step(o)
	}
	return act.Write
}

// firstDecisions is spec/marp 6, item 10.
func firstDecisions(r *lab.Recorder) {
	for _, name := range []string{"cbtws", "cbtwat"} {
		least := map[string]float64{"cbtws": 1.26, "cbtwat": 8.76}[name]
		always := true
		for p := least; p < 50; p += 0.37 {
			_, l, err := batchSetup{control: name}.admission(r.Seed() + uint64(p*100))
			r.Must(err)
			l.Init(nil, 0.05)
			row := goldenRow{progress: []float64{math.Round(p*1000) / 1000}}
			always = always && measureOnce(l, row, goldenRow{})
		}
		r.Check(lab.Holds(fmt.Sprintf("10: %s raises MARP at its first measurement whenever progress is above %g", name, least-0.01), lab.Nobody("nothing; always, by the published arithmetic"), map[bool]string{true: "always", false: "not always"}[always], always, "in every case tried").Because(r.Say("steps of progress")))
	}
}
