package lab

import (
	"context"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/chart"
	"github.com/millrace/millrace/internal/stats"
)

// A Recorder gathers the checks, figures and tables of a run. One goroutine uses it.
type Recorder struct {
	ctx        context.Context
	options    Options
	experiment *Experiment
	facts      Facts              // of the set-up
	settings   map[string]float64 // numbers of the set-up that can be set, by name, with the experiment's own values
	listing    bool               // only settings are wanted
	report     Report
}

// stopped is how Must leaves an experiment.
type stopped struct{ err error }

// run runs an experiment, and renders its set-up with the facts of the run.
func (r *Recorder) run(experiment func(*Recorder)) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			panic(p)
		}
	}()
	experiment(r)
	r.checkSet() // the experiment may have had nothing to repeat
	r.report.Setup = r.fill(r.experiment.setup, r.facts)
	if r.report.Changed = r.changed(); r.report.Changed != "" {
		r.report.Setup, r.report.Headlines = r.report.Setup+" CHANGED for this run: "+r.report.Changed+".", nil
	}
	r.report.Figures = r.experiment.arranged(r.report.Figures)
	return nil
}

// Must ends the experiment if there is an error. Call it only in the goroutine of the experiment: functions that Repeat
// and Sweep run return their errors.
func (r *Recorder) Must(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// Seeds returns the number of repetitions: the one asked for, or the experiment's own.
func (r *Recorder) Seeds(full, quick int) int {
	n := full
	switch {
	case r.options.Seeds > 0:
		n = r.options.Seeds
	case r.options.Quick:
		n = quick
	}
	r.report.Seeds = n
	return n
}

// Quick reports whether the run should be quick.
func (r *Recorder) Quick() bool { return r.options.Quick }

// Seed returns the seed of the first repetition.
func (r *Recorder) Seed() uint64 { return r.options.Seed }

// Check adds checks to the report.
func (r *Recorder) Check(checks ...Check) {
	for _, c := range checks {
		c = c.admitted()
		if len(r.options.Set) > 0 {
			c.Verdict, c.Why = ShapeOnly, "not judged: the set-up is another than the document's"
		}
		r.report.Checks = append(r.report.Checks, c)
	}
}

// Table adds further data to the report.
func (r *Recorder) Table(t Table) { r.report.Tables = append(r.report.Tables, t) }

// Figure adds a chart. Its caption is the one that the experiment's words have under its name.
func (r *Recorder) Figure(name string, c chart.Chart, facts ...Facts) {
	r.report.Figures = append(r.report.Figures, Figure{Name: name, Caption: r.say(r.experiment.captions, name, facts), Chart: c})
}

// Say returns a remark of the experiment's or of its document's words, with facts of the run filled in.
func (r *Recorder) Say(name string, facts ...Facts) string {
	return r.say(r.experiment.remarks, name, facts)
}

// Fact adds a fact of the run to the set-up.
func (r *Recorder) Fact(name string, value any) { r.facts[name] = value }

// each calls fn for 0..n-1 on all cores and waits. fn must put each result in a place of its own, so that the order of
// running does not show.
func (r *Recorder) each(n int, fn func(i int) error) {
	r.checkSet()
	heard := r.options.Repeats
	if heard == nil {
		heard = func(int, int) {}
	}
	heard(n, 0)
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			defer heard(0, 1)
			return fn(i)
		})
	}
	r.Must(g.Wait())
}

// Repeat runs run n times on all cores, with successive seeds.
func Repeat[T any](r *Recorder, n int, run func(seed uint64) (T, error)) []T {
	return Sweep(r, []int{0}, n, func(_ int, seed uint64) (T, error) { return run(seed) })[0]
}

// Sweep runs each variant n times on all cores, all with the same seeds. The results are by variant and repetition.
func Sweep[V, T any](r *Recorder, variants []V, n int, run func(v V, seed uint64) (T, error)) [][]T {
	out := make([][]T, len(variants))
	for i := range out {
		out[i] = make([]T, n)
	}
	r.each(len(variants)*n, func(i int) (err error) {
		out[i/n][i%n], err = run(variants[i/n], r.options.Seed+uint64(i%n))
		return err
	})
	return out
}

// Named is Sweep with the results by the name of a variant.
func Named[V, T any](r *Recorder, variants []V, n int, name func(V) string, run func(v V, seed uint64) (T, error)) map[string][]T {
	out := map[string][]T{}
	for i, runs := range Sweep(r, variants, n, run) {
		out[name(variants[i])] = runs
	}
	return out
}

// Each returns a quantity of every run.
func Each[T any](runs []T, of func(T) float64) []float64 {
	x := make([]float64, len(runs))
	for i, run := range runs {
		x[i] = of(run)
	}
	return x
}

// Mean returns the mean of a quantity over runs.
func Mean[T any](runs []T, of func(T) float64) float64 { return stats.Mean(Each(runs, of)) }

// OfMeans returns a figure of the means of two variants over the same runs, with an interval by leaving out one run at
// a time.
func OfMeans[T any](a, b []T, of func(T) float64, figure func(a, b float64) float64) stats.Estimate {
	mean := func(runs []T, without int) float64 {
		if without < 0 {
			return Mean(runs, of)
		}
		return Mean(slices.Delete(slices.Clone(runs), without, without+1), of)
	}
	return stats.LeaveOneOut(len(a), func(without int) float64 { return figure(mean(a, without), mean(b, without)) })
}

// Ratio compares a quantity of two variants, run by run. It leaves out runs in which the second is 0.
func Ratio[T any](a, b []T, of func(T) float64) stats.Estimate {
	var x []float64
	for i, base := range Each(b, of) {
		if base > 0 {
			x = append(x, of(a[i])/base)
		}
	}
	return stats.NewEstimate(x)
}
