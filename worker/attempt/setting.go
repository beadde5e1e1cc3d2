package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// A Setting is what attempts need from the process they run in.
type Setting struct {
	Master string
	Client *rpc.Client
	Node   wire.NodeName
	Rack   string
	// Env is what the task works with. Its scratch directory belongs to the stage and outlives the attempt. Its
	// compression is the job's.
	task.Env
	// OneMachine says that no byte leaves this machine. Compressing map output then costs more than it saves,
	// unless the job asks for it.
	OneMachine bool
	// Own answers a reduce's request for map output of this process; nil if it keeps none.
	Own func(ref wire.StageRef, part int, maps []wire.MapOutput) io.ReadCloser
	// FetchStall is how long a fetch may stand still before it is restarted. Default 10 s.
	FetchStall time.Duration
	// BadFetch is called with map output that cannot be fetched.
	BadFetch func(b wire.BadFetch)
	// Progress is called with how far the attempt has come, 0 to 1.
	Progress func(done float64)
	// Info returns what all attempts of a stage share; if nil, each asks the master.
	Info func(ctx context.Context, ref wire.StageRef) (wire.StageInfo, error)
}

// FilesOf returns the context for an attempt's files, which a stopped driver still cleans up.
func FilesOf(ctx context.Context, l *wire.Launch) context.Context {
	if l.ID.Kind == wire.DriverTask {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// Run runs an attempt of a job with the given stages and says how it ended. The caller owns the output of a
// map.
func Run(ctx context.Context, s *Setting, l *wire.Launch, stages []mapreduce.Job) (wire.Ended, *shuffle.Output) {
	begin := time.Now()
	r := &runner{Setting: *s, l: l}
	var res result
	err := r.prepare(stages)
	if err == nil {
		switch l.ID.Kind {
		case wire.MapTask:
			res, err = r.runMap(ctx)
		case wire.ReduceTask:
			res, err = r.runReduce(ctx)
		case wire.DriverTask:
			err = r.drive(ctx)
		default:
			err = wire.Errorf(wire.Invalid, "an attempt of kind %q", l.ID.Kind)
		}
	}
	end := wire.Ended{ID: l.ID, OK: err == nil, Millis: time.Since(begin).Milliseconds()}
	if err != nil {
		end.Error, end.Final, end.Lost = describe(err), final(err), lost(err)
		return end, nil
	}
	end.Counts, end.InBytes, end.OutBytes, end.Skipped, end.Sum = wire.Counts(res.counts), res.in, res.out, len(res.skipped), res.sum
	for _, b := range res.skipped[:min(len(res.skipped), wire.MaxBad)] {
		b.Reason = cut(b.Reason, maxReason)
		end.Bad = append(end.Bad, b)
	}
	return end, res.output
}

type result struct {
	counts  mapreduce.Counts
	in, out int64
	skipped []wire.BadRecord
	sum     uint64 // as in wire.Ended
	output  *shuffle.Output
}

// maxReason bounds the reason given for one bad record.
const maxReason = 200

// cut shortens a text to at most n bytes, at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

type runner struct {
	Setting
	l   *wire.Launch
	job *mapreduce.Job

	planned *task.Plan // by this driver, until it has checked the input again
}

// TempDir is where the stages of a chain pass their data, in the block store. The master removes it.
func TempDir(job wire.JobID) string { return fmt.Sprintf("dfs:/tmp/.millrace/%s", job) }

func (r *runner) prepare(stages []mapreduce.Job) error {
	if r.l.ID.Stage < 0 || r.l.ID.Stage >= len(stages) {
		return wire.Errorf(wire.Invalid, "stage %d of a program that has %d", r.l.ID.Stage, len(stages))
	}
	linked, err := task.Link(stages, TempDir(r.l.ID.Job))
	if err != nil {
		return wire.Errorf(wire.Invalid, "%w", err)
	}
	job := &linked[r.l.ID.Stage]
	r.job = job
	r.Compression = shuffle.S2 // for the network: worth compressing
	if r.OneMachine {
		r.Compression = shuffle.None
	}
	if job.Compression != "" {
		var err error
		if r.Compression, err = shuffle.ParseCompression(job.Compression); err != nil {
			return wire.Errorf(wire.Invalid, "%w", err)
		}
	}
	return nil
}

func (r *runner) work(kind mapreduce.Kind, plan *task.Plan, out *task.JobOutput, meter *task.Meter) *task.Work {
	id := task.ID{Kind: kind, Index: int(r.l.ID.Index), Attempt: r.l.Number, Try: r.l.ID.Try}
	return &task.Work{Env: &r.Env, Job: r.job, Plan: plan, ID: id, Out: out, Meter: meter}
}

func (r *runner) ref() wire.StageRef { return wire.StageRef{Job: r.l.ID.Job, Stage: r.l.ID.Stage} }

func (r *runner) info(ctx context.Context) (wire.StageInfo, error) {
	if r.Info != nil {
		return r.Info(ctx, r.ref())
	}
	return call(ctx, r, api.StageInfo, r.ref())
}

// call calls the master, with retries while it is out of reach: it may be restarting.
func call[Req, Resp any](ctx context.Context, r *runner, method rpc.Method[Req, Resp], req Req) (resp Resp, err error) {
	err = rpc.Retry{For: time.Hour}.Do(ctx, func() (err error) {
		resp, err = method.Call(ctx, r.Client, r.Master, req)
		if ctx.Err() == nil && !errors.Is(err, rpc.ErrClosed) && (errors.Is(err, wire.Canceled) || errors.Is(err, context.Canceled)) {
			// We have not given up: a master that is stopping drops its calls.
			err = wire.Errorf(wire.Unavailable, "%s at %s: the master is stopping: %v", method, r.Master, err)
		}
		return err
	})
	return resp, err
}

// describe returns an error with the stack of user code.
func describe(err error) string {
	if a, ok := errors.AsType[*task.AttemptError](err); ok && a.Stack != "" {
		return fmt.Sprintf("%v\n%s", err, a.Stack)
	}
	return err.Error()
}

// final reports whether trying again cannot help.
func final(err error) bool { return task.Final(err) || errors.Is(err, wire.Invalid) }

// lost reports whether the machine, the network or the master is to blame, rather than the job.
func lost(err error) bool {
	return errors.Is(err, shuffle.ErrScratch) || errors.Is(err, context.Canceled) || errors.Is(err, wire.Stale) ||
		errors.Is(err, wire.Unavailable) || errors.Is(err, wire.Canceled)
}
