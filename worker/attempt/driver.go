package attempt

import (
	"context"
	"errors"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

// patience is how long the master may hold a question until there is news, in milliseconds.
const patience = 10_000

// drive asks the master what to do until the master says stop.
func (r *runner) drive(ctx context.Context) error {
	for {
		step, err := call(ctx, r, api.DriverStep, wire.DriverRequest{ID: r.l.ID, Wait: patience})
		if ctx.Err() != nil {
			return r.stopped(ctx)
		}
		if err != nil {
			return err
		}
		switch step.Do {
		case "plan":
			err = r.plan(ctx)
		case "commit":
			err = r.commit(ctx, &step)
		case "stop":
			return r.stop(&step)
		}
		if err != nil && ctx.Err() != nil {
			return r.stopped(ctx) // the plan may have made a directory for the output
		}
		if err != nil && wire.KindOf(err) != wire.Stale {
			return err
		}
	}
}

// stopped ends a driver that was told to end. It asks the master whether to remove the output.
func (r *runner) stopped(ctx context.Context) error {
	bg, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	step, err := call(bg, r, api.DriverStep, wire.DriverRequest{ID: r.l.ID})
	if err == nil && step.Do == "stop" {
		err = r.stop(&step)
	}
	return errors.Join(ctx.Err(), err)
}

func (r *runner) stop(step *wire.DriverStep) error {
	if !step.Abort {
		return nil
	}
	work, err := task.WorkDir(r.Store, r.job, r.ref().String())
	if err != nil {
		return err
	}
	o, err := task.JoinOutput(r.Store, r.job, work, false)
	if err != nil {
		return err
	}
	return o.Abort()
}

// plan divides the input and sends the plan to the master.
func (r *runner) plan(ctx context.Context) error {
	nodes, err := call(ctx, r, api.NodeList, struct{}{})
	if err != nil {
		return err
	}
	plan, err := r.divide(ctx, layoutFor(nodes))
	if err != nil {
		return err
	}
	return r.sendPlan(ctx, plan)
}

// divide plans the stage and then makes the hidden directory of its output. If it fails it removes nothing.
// This driver may have been taken for dead, and then the next driver and its attempts use the same directory.
func (r *runner) divide(ctx context.Context, layout task.Layout) (*wire.StagePlan, error) {
	overwrite := r.l.Spec.Overwrite && r.l.ID.Stage == r.l.Spec.Stages-1
	out, err := task.CheckOutput(r.Store, r.job, r.ref().String(), overwrite)
	if err != nil {
		return nil, err
	}
	p, err := task.MakePlan(ctx, &r.Env, r.job, layout)
	if err == nil {
		err = out.CheckInput(r.Store, p)
	}
	if err == nil {
		err = out.Make()
	}
	if err != nil {
		return nil, err
	}
	plan := &wire.StagePlan{Reducers: int32(p.Reducers), Bounds: p.Bounds, Name: r.job.Name, Work: out.Work()}
	for _, s := range p.Splits {
		w := wire.Split{Input: s.Input, Hosts: s.Hosts}
		for _, g := range s.Ranges {
			w.Ranges = append(w.Ranges, wire.Range(g))
		}
		plan.Splits = append(plan.Splits, w)
	}
	r.planned = p
	return plan, nil
}

// layoutFor divides work among the nodes that are up.
func layoutFor(nodes []wire.NodeStatus) task.Layout {
	places := 0
	for _, n := range nodes {
		if n.State == "up" {
			places += n.Capacity.Places()
		}
	}
	return func(job *mapreduce.Job, inputBytes int64) (splitBytes int64, reducers int) {
		return job.Shape().Layout(inputBytes, places)
	}
}

// commit gives the output its name. Another driver may have done so before.
func (r *runner) commit(ctx context.Context, step *wire.DriverStep) error {
	err := whenThereIsSpace(ctx, func() error { return r.publish(step) })
	req := wire.DriverRequest{ID: r.l.ID}
	if err != nil {
		if lost(err) {
			return err // the next driver tries again
		}
		req.Problem = err.Error()
	}
	_, err = call(ctx, r, api.DriverCommit, req)
	return err
}

// firstPause and lastPause are the pauses of a driver that waits for space. Each is twice the one before, half
// a minute in all.
const firstPause, lastPause = time.Second, 16 * time.Second

// whenThereIsSpace retries do for a while when no disk has space. The mark of an output takes a block, and
// workers that are briefly away may return with space. Without the retry all work of the job would be lost.
func whenThereIsSpace(ctx context.Context, do func() error) error {
	err := do()
	for pause := firstPause; errors.Is(err, wire.NoSpace) && pause <= lastPause; pause *= 2 {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		err = do()
	}
	return err
}

func (r *runner) publish(step *wire.DriverStep) error {
	overwrite := step.Info.Spec.Overwrite && r.l.ID.Stage == step.Info.Spec.Stages-1
	out, err := task.JoinOutput(r.Store, r.job, step.Info.Work, overwrite)
	if err != nil {
		return err
	}
	if r.planned != nil { // a driver that replaces the one that planned cannot check
		if err := r.planned.CheckInput(r.Store, r.job); err != nil {
			return err
		}
		r.planned = nil // from here on, changes to the input do not matter
	}
	kind := mapreduce.ReduceTask
	if r.job.MapOnly {
		kind = mapreduce.MapTask
	}
	if err := out.Publish(kind, step.Winners); err != nil {
		return err
	}
	return out.CommitOnce(string(r.l.ID.Job), r.l.ID.Try)
}
