package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/task"
)

// there runs the jobs on a cluster.
func (r *Run) there(ctx context.Context) (o outcome, err error) {
	cl, err := client.New(r.Client)
	if err != nil {
		return o, err
	}
	o.clean = append(o.clean, func() { _ = cl.Close() })
	id, spec, err := r.handIn(ctx, cl)
	if err != nil {
		return o, err
	}
	Warn(ctx, cl, &spec, r.Err)
	if r.Detach {
		o.detached = true
		return o, console.Detached(r.Out, r.Err, r.JSON, id)
	}
	s, err := r.follow(ctx, cl, id)
	if err != nil {
		return o, err
	}
	o.res, err = console.ResultOf(s)
	console.AddStages(ctx, &o.res, r.Stages, func(note func(*wire.PastEvent)) error { return cl.Events(ctx, id, note) })
	dir := o.res.Output
	if r.show {
		o.clean = append(o.clean, func() { removeResult(cl, dir) })
	}
	o.parts = func(w io.Writer) error {
		if inner, shared := strings.CutPrefix(dir, "dfs:"); shared {
			return catParts(ctx, cl, inner, w)
		}
		return PrintParts(w, strings.TrimPrefix(dir, "file:"))
	}
	return o, err
}

// handIn submits the jobs.
func (r *Run) handIn(ctx context.Context, cl *client.Client) (id wire.JobID, spec wire.JobSpec, err error) {
	defer r.handingIn(cl.Addr())()
	if spec, err = r.spec(ctx, cl); err != nil {
		return "", spec, err
	}
	id, err = submit(ctx, cl, spec)
	return id, spec, err
}

// silence is how long submitting a job may take before the user is told.
const silence = 2 * time.Second

// handingIn tells the user, after a while, that the master has not taken the job yet. done ends it.
func (r *Run) handingIn(master string) (done func()) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-over:
		case <-time.After(silence):
			fmt.Fprintf(r.Err, "the master at %s has not taken the job yet; %slocal would run it here\n", master, r.Dash)
		}
	}()
	return func() {
		close(over)
		<-gone
	}
}

// Warn prints what the policies lack, for example for the queue of a submitted job.
func Warn(ctx context.Context, cl *client.Client, spec *wire.JobSpec, out io.Writer) {
	if spec.Queue == "" {
		return
	}
	p, err := cl.Policies(ctx)
	if err != nil {
		return // the job is submitted; following it shows what is wrong
	}
	for _, note := range p.Notes {
		fmt.Fprintf(out, "note: %s\n", human.Printable(note))
	}
}

// answerWithin is how long an interrupted run waits for the master to say whether it has taken the job.
const answerWithin = 2 * time.Second

// submit submits a job. If interrupted, it still waits for the answer, without which nobody could say whether the
// job runs.
func submit(ctx context.Context, cl *client.Client, spec wire.JobSpec) (wire.JobID, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(answerWithin, cancel) })()
	id, err := cl.Submit(call, spec)
	if err != nil && call.Err() != nil {
		return "", fmt.Errorf("interrupted while the job was handed in: millrace job ls says whether it runs")
	}
	return id, err
}

// spec describes the job to the cluster.
func (r *Run) spec(ctx context.Context, cl *client.Client) (wire.JobSpec, error) {
	last := r.last()
	if storage.IsLocal(last.Output) && last.Output != "" { // workers have other directories: only this process can resolve the path
		if err := task.CheckPlace(storage.Mux{}, last.Output); err != nil {
			return wire.JobSpec{}, err
		}
		var err error
		if last.Output, err = Absolute(last.Output); err != nil {
			return wire.JobSpec{}, err
		}
	}
	if last.Output == "" {
		last.Output = "dfs:/tmp/.millrace/result-" + rand.Text()
	}
	prog, err := r.Program(ctx, cl)
	if err != nil {
		return wire.JobSpec{}, err
	}
	if prog.Files, err = cl.ShipSide(ctx, r.Stages); err != nil {
		return wire.JobSpec{}, err
	}
	return client.SpecOf(r.Stages, prog, r.Local.Overwrite), nil
}

// Absolute makes a local path absolute. Paths with a scheme stay as they are.
func Absolute(p string) (string, error) {
	if !storage.IsLocal(p) || strings.HasPrefix(p, "file:") {
		return p, nil
	}
	return filepath.Abs(p)
}

// follow shows a job's progress until it ends. It prints the job's id first: whatever happens to this process or to
// the master, its user can ask about it.
func (r *Run) follow(ctx context.Context, cl *client.Client, id wire.JobID) (wire.JobStatus, error) {
	remote := &console.Remote{Begin: time.Now()}
	if r.mode != console.None {
		fmt.Fprintf(r.Err, "%s is submitted to %s\n", id, cl.Addr())
	}
	stop := console.Watch(r.Err, r.mode, remote.Progress)
	s, err := cl.WaitFor(ctx, id, r.Patience, remote.Note, remote.Away)
	stop()
	switch {
	case ctx.Err() != nil:
		return s, &GoesOn{id, errors.New("interrupted")}
	case wire.KindOf(err) == wire.Unavailable:
		return s, &GoesOn{id, fmt.Errorf("the master at %s has not answered for %s: %w", cl.Addr(), r.Patience, err)}
	}
	return s, err
}

func removeResult(cl *client.Client, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = cl.DFS().Remove(ctx, strings.TrimPrefix(dir, "dfs:"), true) // it was only a copy of what was shown
}

// catParts copies the parts of an output in the block store.
func catParts(ctx context.Context, cl *client.Client, dir string, w io.Writer) error {
	list, err := cl.DFS().ListAll(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !strings.HasPrefix(filepath.Base(e.Path), partPrefix) {
			continue
		}
		if err := copyPart(w, func() (io.ReadCloser, error) { return cl.DFS().Open(ctx, e.Path) }); err != nil {
			return err
		}
	}
	return nil
}
