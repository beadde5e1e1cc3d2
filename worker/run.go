package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/task"
	"github.com/millrace/millrace/worker/attempt"
)

// A stageCache keeps what attempts of a stage share.
type stageCache struct {
	mu     sync.Mutex // held while it is being fetched or built
	info   *wire.StageInfo
	stages []mapreduce.Job
}

func (w *Worker) cache(ref wire.StageRef) *stageCache {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.stages[ref]
	if c == nil {
		c = &stageCache{}
		w.stages[ref] = c
	}
	return c
}

// A run is an attempt with a goroutine.
type run struct {
	stop  context.CancelFunc
	began time.Time
}

// start runs an attempt in a goroutine of its own.
func (w *Worker) start(l *wire.Launch) {
	ctx, cancel := context.WithCancel(w.ctx)
	w.mu.Lock()
	w.runs[l.ID] = run{stop: cancel, began: time.Now()}
	w.mu.Unlock()
	launch := *l
	w.wg.Go(func() {
		defer cancel()
		w.logs.began(&launch)
		end := w.run(ctx, &launch)
		w.logs.ended(&launch, &end)
		w.mu.Lock()
		delete(w.runs, launch.ID)
		e := w.roster.Ended(end)
		w.mu.Unlock()
		w.carryOut(e)
		w.nudge()
	})
}

// run runs an attempt and keeps its output.
func (w *Worker) run(ctx context.Context, l *wire.Launch) (end wire.Ended) {
	defer func() {
		if v := recover(); v != nil { // user code is guarded further in; this is a bug of ours
			end = wire.Ended{ID: l.ID, Error: fmt.Sprintf("panic: %v\n%s", v, debug.Stack())}
		}
	}()
	ref := wire.StageRef{Job: l.ID.Job, Stage: l.ID.Stage}
	c := w.cache(ref)
	dir, err := w.outputs.dir(ref)
	if err != nil {
		return wire.Ended{ID: l.ID, Lost: true, Error: err.Error()}
	}
	user := w.dfs.As(l.Spec.User, l.Spec.Umask)
	side, err := w.sideDir(ctx, l, user)
	if err != nil {
		return notReady(l.ID, err)
	}
	if w.ownProcess(&l.Spec.Program) {
		end, out := w.runChild(ctx, l, dir, side)
		return w.settle(end, out)
	}
	stages, err := w.jobsOf(c, l.Spec)
	if err != nil {
		return wire.Ended{ID: l.ID, Final: true, Error: err.Error()}
	}
	s := &attempt.Setting{
		Master: w.cfg.Master, Client: w.client, Node: w.cfg.Node, Rack: w.cfg.Rack,
		Env: task.Env{
			Store:   storage.Mux{Stores: map[string]storage.FS{"dfs": user.Storage(attempt.FilesOf(ctx, l))}, Local: w.local.rights(l.Spec)},
			Scratch: dir, ScratchFS: w.outputs.files, Pool: w.pool, MaxRecord: w.cfg.budget.MaxRecord(), SideDir: side, Pace: w.machine.paceOf(),
		},
		BadFetch: w.badFetch, OneMachine: w.oneMachine(), FetchStall: w.cfg.FetchStall, Own: w.ownShares,
		Progress: func(done float64) { w.progress(l.ID, done) },
		Info:     func(ctx context.Context, ref wire.StageRef) (wire.StageInfo, error) { return w.infoOf(ctx, c, ref) },
	}
	end, out := attempt.Run(ctx, s, l, stages)
	return w.settle(end, out)
}

// ownProcess reports whether a program runs users' code.
func (w *Worker) ownProcess(p *wire.Program) bool {
	return p.Exe != "" || w.cfg.Child != nil && w.cfg.Child(p) != nil
}

// oneMachine reports whether the whole cluster is on this machine: nobody elsewhere can reach a worker at a
// loopback address.
func (w *Worker) oneMachine() bool {
	return w.cfg.Emulate == nil && secure.CheckLoopback(w.addr) == nil
}

// settle keeps the output of a finished map.
func (w *Worker) settle(end wire.Ended, out *shuffle.Output) wire.Ended {
	if out != nil {
		if err := w.keep(end.ID, out); err != nil {
			return wire.Ended{ID: end.ID, Lost: true, Error: err.Error()}
		}
	}
	return end
}

func (w *Worker) progress(id wire.AttemptID, done float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.roster.Progress(id, done)
}

func (w *Worker) keep(id wire.AttemptID, out *shuffle.Output) error {
	if err := out.SpillToDisk(); err != nil {
		return err
	}
	w.outputs.add(id, out)
	return nil
}

func (w *Worker) badFetch(b wire.BadFetch) {
	w.mu.Lock()
	w.roster.BadFetch(b)
	w.mu.Unlock()
	w.nudge()
}

// jobsOf builds a program's jobs once.
func (w *Worker) jobsOf(c *stageCache, spec *wire.JobSpec) ([]mapreduce.Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stages == nil {
		stages, err := w.cfg.Build(&spec.Program)
		if err != nil {
			return nil, err
		}
		c.stages = stages
	}
	return c.stages, nil
}

// infoOf asks the master for the stage once. It retries while the master is out of reach, since it may be
// restarting.
func (w *Worker) infoOf(ctx context.Context, c *stageCache, ref wire.StageRef) (wire.StageInfo, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.info == nil {
		var info wire.StageInfo
		err := rpc.Retry{For: time.Hour}.Do(ctx, func() (err error) {
			info, err = api.StageInfo.Call(ctx, w.client, w.cfg.Master, ref)
			return err
		})
		if err != nil {
			return info, err
		}
		c.info = &info
	}
	return *c.info, nil
}

// notReady returns the end of an attempt whose files were not available, because of the files or of this
// machine's disk.
func notReady(id wire.AttemptID, err error) wire.Ended {
	machine := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}
	return wire.Ended{
		ID: id, Final: errors.Is(err, wire.Invalid) || errors.Is(err, wire.NotFound), Error: err.Error(),
		Lost: slices.ContainsFunc(machine, func(e error) bool { return errors.Is(err, e) }),
	}
}
