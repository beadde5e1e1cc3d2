package lab

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Options say how thoroughly to run.
type Options struct {
	Seeds int    // repetitions; 0 lets the experiment choose
	Quick bool   // fewer repetitions, for continuous checks
	Seed  uint64 // of the first repetition
	// Set changes numbers of the set-up, by name. Nothing is judged then.
	Set map[string]float64
	// Repeats, if not nil, is called from any goroutine with how many more repetitions are planned and how many more
	// have ended. An experiment plans as it goes.
	Repeats func(planned, ended int)
}

func newRecorder(ctx context.Context, e *Experiment, o Options) *Recorder {
	r := &Recorder{ctx: ctx, options: o, experiment: e, facts: Facts{}, report: Report{
		ID: e.ID, Title: e.Title, Source: e.Source, Question: e.Question, Read: e.Read, Answers: e.Answers, document: e.document,
	}}
	if e.document != nil {
		r.report.Document = e.document.Reference
	}
	return r
}

// Run runs an experiment.
func Run(ctx context.Context, e *Experiment, o Options) (_ Report, err error) {
	r := newRecorder(ctx, e, o)
	if err := r.run(e.Run); err != nil {
		return r.report, fmt.Errorf("%s: %w", e.ID, err)
	}
	return r.report, nil
}

// atOnce is how many experiments run at the same time, so that the last run of one does not leave the other cores idle.
// Each uses all cores; they share them by time, so that many short runs do not wait for few long ones.
const atOnce = 2

// RunAll runs experiments on all cores. It calls done for each when it has ended, one call at a time. It returns the
// reports of those that succeeded in the order of the list, even if the context ends the rest, and the first error.
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
