package lab

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Run runs an experiment.
func Run(ctx context.Context, e *Experiment, o Options) (Report, error) {
	r := &Recorder{ctx: ctx, options: o, report: Report{
		ID: e.ID, Title: e.Title, Source: e.Source, Question: e.Question, Setup: e.Setup, Read: e.Read,
	}}
	if err := e.run(r); err != nil {
		return r.report, fmt.Errorf("%s: %w", e.ID, err)
	}
	r.admit()
	return r.report, nil
}

// atOnce is how many experiments are under way together, so that the last run of one
// does not leave the other cores idle. Each uses all cores; they share them by time, so
// that many short runs do not wait for few long ones.
const atOnce = 2

// RunAll runs experiments on all cores. done hears of each when it has ended, one at a
// time. The reports of those that succeeded come back in the order of the list, also
// when the context ends the rest; the error is the first.
func RunAll(ctx context.Context, list []*Experiment, o Options, done func(Report, error)) ([]Report, error) {
	reports, ok := make([]Report, len(list)), make([]bool, len(list))
	var mu sync.Mutex // guards ok and calls of done
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i, e := range list {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			r, err := Run(ctx, e, o)
			mu.Lock()
			defer mu.Unlock()
			reports[i], ok[i] = r, err == nil
			done(r, err)
			return err
		})
	}
	err := g.Wait()
	var out []Report
	for i, r := range reports {
		if ok[i] {
			out = append(out, r)
		}
	}
	return out, err
}

// A Recorder gathers the checks and figures of a run.
type Recorder struct {
	ctx     context.Context
	options Options
	report  Report
}

// seeds returns the number of repetitions: what was asked for, or the experiment's own.
func (r *Recorder) seeds(full, quick int) int {
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

// each calls fn for 0..n-1 on all cores and waits. The results must go to places of
// their own, so that the order of running does not show.
func (r *Recorder) each(n int, fn func(i int) error) error {
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return fn(i)
		})
	}
	return g.Wait()
}
