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

// profiled is what the best static value and the controllers gain over PRJ with a profile, per cent.
type profiled struct {
	name   string
	static stats.Estimate
	jobs   int                       // at once, under the best static value
	gain   map[string]stats.Estimate // by controller
	prj    float64                   // s
}

// best returns the controller that gains most.
func (p profiled) best() (who string, gain float64) {
	gain = math.Inf(-1)
	for _, name := range controllers {
		if g := p.gain[name].Mean; g > gain {
			who, gain = shownAs[name], g
		}
	}
	return who, gain
}

// profiles is spec/marp 6, item 22 looked at again: the best static value and the controllers with each term taken out. As fitted is the first.
func profiles(r *lab.Recorder, n int) (all []profiled) {
	for _, c := range costProfiles {
		p := profiledWith(r, c, n)
		who, best := p.best()
		r.Check(lab.Reported("22: best static value and best controller, gain over PRJ, %: "+p.name, "no significant gain of a static value (7.3.1)",
			fmt.Sprintf("%d jobs at once %s, %s %s; PRJ %s s", p.jobs, p.static.Text(), who, stats.Text(best), stats.Text(p.prj))))
		all = append(all, p)
	}
	return all
}

func profiledWith(r *lab.Recorder, c costProfile, n int) profiled {
	runs := func(b batchSetup) []batchRun {
		b.profile = c.change
		return batches(r, b, n)
	}
	prj := runs(parallelRun(teraSort3, 6))
	p := profiled{name: c.name, static: stats.Estimate{Mean: math.Inf(-1)}, gain: map[string]stats.Estimate{}, prj: lab.Mean(prj, total)}
	gain := func(b batchSetup) stats.Estimate {
		return lab.OfMeans(runs(b), prj, total, func(took, prj float64) float64 { return 100 * (prj - took) / prj })
	}
	for jobs := 2; jobs <= 5; jobs++ {
		if g := gain(batchSetup{kind: teraSort3, jobs: 6, marp: admission.Smallest(jobs, clusterMB, driverMB)}); g.Mean > p.static.Mean {
			p.static, p.jobs = g, jobs
		}
	}
	for _, name := range controllers {
		p.gain[name] = gain(batchSetup{kind: teraSort3, jobs: 6, control: name})
	}
	return p
}
