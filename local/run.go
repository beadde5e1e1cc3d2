package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// ErrScratch marks a run that failed because of its scratch disk.
var ErrScratch = shuffle.ErrScratch

// A Runner runs one job or chain of jobs.
type Runner struct {
	cfg   Config
	gauge gauge
	env   task.Env

	mu  sync.Mutex // guards res and all while tasks run
	res Result
	all mapreduce.Counts // of all tasks
}

// New returns a runner and checks the configuration.
func New(cfg Config) (*Runner, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Runner{cfg: cfg, gauge: gauge{start: time.Now()}}, nil
}

// Budget returns the memory budget of the run.
func (r *Runner) Budget() shuffle.Budget { return r.cfg.budget }

// Run is New and Run in one, for callers that need no progress.
func Run(ctx context.Context, cfg Config, stages ...mapreduce.Job) (Result, error) {
	r, err := New(cfg)
	if err != nil {
		return Result{}, err
	}
	return r.Run(ctx, stages...)
}

// Run runs a job, or a chain in which each job reads what the previous one wrote. The stages after the first need no
// Input, those before the last no Output. It may be called once. With an error it returns what was done until then,
// without Output.
func (r *Runner) Run(ctx context.Context, stages ...mapreduce.Job) (res Result, err error) {
	if len(stages) == 0 {
		return Result{}, errors.New("no job given")
	}
	claim, err := disk.TempDir(r.cfg.Scratch, "millrace-")
	if err != nil {
		return Result{}, fmt.Errorf("make a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, claim.Remove()) }()
	scratch := claim.Path()
	r.env = task.Env{
		Store: r.cfg.Store, Scratch: scratch, Pool: r.cfg.budget.Pool(),
		KeepInMemory: true, MaxRecord: r.cfg.budget.MaxRecord(), MergeFactor: r.cfg.mergeFactor(),
		Silence: r.cfg.TaskTimeout,
	}
	r.res, r.all = Result{Counts: mapreduce.Counts{}}, mapreduce.Counts{}
	r.gauge.stages.Store(int32(len(stages)))
	linked, err := task.Link(stages, scratch)
	if err == nil {
		err = r.runStages(ctx, linked)
	}
	slices.SortFunc(r.res.Skipped, BadRecord.Compare)
	r.res.Elapsed = time.Since(r.gauge.start)
	return r.res, err
}

func (r *Runner) runStages(ctx context.Context, stages []mapreduce.Job) error {
	for i, job := range stages {
		r.gauge.stage.Store(int32(i + 1))
		if err := r.runStage(ctx, job, i == len(stages)-1); err != nil {
			return err
		}
	}
	last := stages[len(stages)-1]
	r.res.Job, r.res.Output = last.Name, last.Output
	r.gauge.enter(Finished, 0, 0)
	return nil
}

func (r *Runner) runStage(ctx context.Context, job mapreduce.Job, last bool) error {
	r.gauge.job.Store(&job.Name)
	r.gauge.enter(Planning, 0, 0)
	s := &stage{r: r, job: &job, last: last, res: StageResult{Job: job.Name, Counts: mapreduce.Counts{}}}
	if err := s.run(ctx); err != nil {
		if job.Name != "" {
			return fmt.Errorf("job %s: %w", job.Name, err)
		}
		return err
	}
	r.res.Stages = append(r.res.Stages, s.res)
	r.res.Counts = ChainCounts(r.res.Stages, int(r.gauge.stages.Load()))
	return nil
}
