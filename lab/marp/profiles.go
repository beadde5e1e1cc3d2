package marp

import (
	"fmt"
	"math"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler/admission"
	"github.com/millrace/millrace/sim"
)

// A costProfile is the fitted profile with one of its terms taken out.
type costProfile struct {
	name   string
	change func(*sim.ContentionConfig)
}

// costProfiles ask which term of the profile, all of which are ours, makes a static MARP better than the controllers.
var costProfiles = []costProfile{
	{"as fitted", nil},
	{"reduces do not slow each other's disk", func(c *sim.ContentionConfig) { c.Beta = 0 }},
	{"maps take nothing from the disk", func(c *sim.ContentionConfig) { c.Gamma = 0 }},
	{"a disk without limit", func(c *sim.ContentionConfig) { c.Disk = math.Inf(1) }},
	{"the idle percentage is read without noise", func(c *sim.ContentionConfig) { c.Noise = 0 }},
}

// profiles is item 22 looked at again: the best static value and the best controller with each term taken out.
func profiles(r *lab.Recorder, n int) {
	for _, p := range costProfiles {
		mean := func(b batchSetup) float64 {
			b.profile = p.change
			return lab.Mean(batches(r, b, n), total)
		}
		prj := mean(parallelRun(teraSort3, 6))
		gain := func(took float64) float64 { return 100 * (prj - took) / prj }
		static, k := math.Inf(-1), 0
		for jobs := 2; jobs <= 5; jobs++ {
			if g := gain(mean(batchSetup{kind: teraSort3, jobs: 6, marp: admission.Smallest(jobs, clusterMB, driverMB)})); g > static {
				static, k = g, jobs
			}
		}
		best, who := math.Inf(-1), ""
		for _, name := range controllers {
			if g := gain(mean(batchSetup{kind: teraSort3, jobs: 6, control: name})); g > best {
				best, who = g, shownAs[name]
			}
		}
		r.Check(lab.Reported("22: best static value and best controller, gain over PRJ, %: "+p.name, "no significant gain of a static value (7.3.1)",
			fmt.Sprintf("%d jobs at once %s, %s %s; PRJ %s s", k, stats.Text(static), who, stats.Text(best), stats.Text(prj))))
	}
}
