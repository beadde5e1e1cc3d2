package millrace

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// errDetached says that a job was submitted and nobody waits for it.
var errDetached = errors.New("the job goes on by itself")

// submit ships this program to a cluster, where workers run it as their child, and follows the job.
func (o *options) submit(stages []mapreduce.Job, mode console.Mode) int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	context.AfterFunc(ctx, stop)
	res, err := o.onCluster(ctx, stages, mode)
	if errors.Is(err, errDetached) {
		return 0
	}
	return o.report(res, err, stages)
}

func (o *options) onCluster(ctx context.Context, stages []mapreduce.Job, mode console.Mode) (local.Result, error) {
	cfg := client.Config{Master: o.master, User: stages[0].User}
	if err := cfg.FromEnv(); err != nil {
		return local.Result{}, err
	}
	cl, err := client.New(cfg)
	if err != nil {
		return local.Result{}, err
	}
	defer cl.Close()
	exe, err := os.Executable()
	if err != nil {
		return local.Result{}, fmt.Errorf("this program does not know where it is: %w", err)
	}
	prog := wire.Program{Args: childArgs()}
	if prog.Exe, prog.Hash, err = cl.Ship(ctx, exe); err != nil {
		return local.Result{}, err
	}
	if prog.Files, err = cl.ShipSide(ctx, stages); err != nil {
		return local.Result{}, err
	}
	id, err := cl.Submit(ctx, client.SpecOf(stages, prog, o.overwrite))
	if err != nil {
		return local.Result{}, err
	}
	if o.detach {
		return local.Result{}, cmp.Or(console.Detached(os.Stdout, os.Stderr, o.jsonOnly, id), errDetached)
	}
	remote := &console.Remote{Begin: time.Now()}
	stop := console.Watch(os.Stderr, mode, remote.Progress)
	s, err := cl.Wait(ctx, id, remote.Note)
	stop()
	if ctx.Err() != nil {
		return local.Result{}, fmt.Errorf("%s goes on without us (millrace job watch %s, millrace job kill %s)", id, id, id)
	}
	if err != nil {
		return local.Result{}, err
	}
	res, err := console.ResultOf(s)
	console.AddStages(ctx, &res, stages, func(note func(*wire.PastEvent)) error { return cl.Events(ctx, id, note) })
	return res, err
}

// childArgs are this program's flags for its children: those that were set, without those that are
// for this process only, and with local paths that hold elsewhere on the machine.
func childArgs() (args []string) {
	flag.Visit(func(f *flag.Flag) {
		v := f.Value.String()
		switch f.Name {
		case "master", "progress", "json", "overwrite", "memory", "detach":
			return
		case "input":
			v = strings.Join(mapped(splitList(v)), ",")
		case "output":
			v = mapped([]string{v})[0]
		}
		args = append(args, "-"+f.Name+"="+v)
	})
	return args
}

func mapped(paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = p
		if scheme, _, ok := strings.Cut(p, ":/"); ok && !strings.Contains(scheme, "/") {
			continue
		}
		if abs, err := filepath.Abs(p); err == nil {
			out[i] = abs
		}
	}
	return out
}
