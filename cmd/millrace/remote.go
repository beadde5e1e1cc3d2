package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/task"
)

// words are the job's flags as they were given, with local paths made absolute: the workers have
// other working directories.
func words(f *pflag.FlagSet) (out []string, err error) {
	f.VisitAll(func(f *pflag.Flag) {
		if !f.Changed {
			return
		}
		values := []string{f.Value.String()}
		if s, ok := f.Value.(pflag.SliceValue); ok {
			values = s.GetSlice()
		}
		for _, v := range values {
			if f.Name == "input" || f.Name == "output" {
				if v, err = absolute(v); err != nil {
					return
				}
			}
			out = append(out, "--"+f.Name+"="+v)
		}
	})
	return out, err
}

// absolute leaves paths with a scheme alone.
func absolute(p string) (string, error) {
	if scheme, _, ok := strings.Cut(p, ":/"); ok && !strings.Contains(scheme, "/") {
		return p, nil
	}
	return filepath.Abs(p)
}

// runRemote runs a built-in job on a cluster.
func (o *runOptions) runRemote(cmd *cobra.Command, job *jobs.Command, stages []mapreduce.Job) error {
	mode, err := console.ParseMode(o.progress)
	if err != nil {
		return err
	}
	if o.jsonOnly {
		mode = console.None
	}
	if out := stages[len(stages)-1].Output; !strings.Contains(out, ":/") { // workers have other directories: here is who knows
		if err := task.CheckPlace(storage.Mux{}, out); out != "" && err != nil {
			return failed(err)
		}
	}
	if o.detach && stages[len(stages)-1].Output == "" {
		return errors.New("--detach needs --output: nobody will be here to see the result")
	}
	cfg, err := o.key.config(client.Config{Master: o.master, User: stages[0].User})
	if err != nil {
		return failed(err)
	}
	cl, err := client.New(cfg)
	if err != nil {
		return err
	}
	defer cl.Close()
	ctx := cmd.Context()
	args, err := words(job.Flags)
	if err != nil {
		return failed(err)
	}
	show := ""
	o.kept = stages[len(stages)-1].Output != ""
	if last := &stages[len(stages)-1]; last.Output == "" {
		show = "/tmp/.millrace/result-" + rand.Text()
		last.Output = "dfs:" + show
		args = append(args, "--output="+last.Output)
	}
	prog := wire.Program{Builtin: job.Name, Args: args}
	if prog.Files, err = cl.ShipSide(ctx, stages); err != nil {
		return failed(err)
	}
	spec := client.SpecOf(stages, prog, o.overwrite)
	if !strings.HasPrefix(spec.Output, "dfs:") {
		if spec.Output, err = absolute(spec.Output); err != nil {
			return failed(err)
		}
	}
	return o.follow(cmd, cl, spec, stages, mode, job.Builtin, show)
}

// follow submits a job, shows how it goes on and reports how it ended.
func (o *runOptions) follow(cmd *cobra.Command, cl *client.Client, spec wire.JobSpec, stages []mapreduce.Job, mode console.Mode, b jobs.Builtin, show string) error {
	ctx := cmd.Context()
	id, err := cl.Submit(ctx, spec)
	if err != nil {
		return failed(err)
	}
	if o.detach {
		return failed(console.Detached(cmd.OutOrStdout(), os.Stderr, o.jsonOnly, id))
	}
	remote := &console.Remote{Begin: time.Now()}
	stop := console.Watch(os.Stderr, mode, remote.Progress)
	s, err := cl.Wait(ctx, id, remote.Note)
	stop()
	if ctx.Err() != nil {
		return failed(fmt.Errorf("%s goes on without us (millrace job watch %s, millrace job kill %s)", id, id, id))
	}
	if err != nil {
		return failed(err)
	}
	res, err := console.ResultOf(s)
	if show != "" {
		defer removeResult(cl, show)
	}
	console.AddStages(ctx, &res, stages, func(note func(*wire.PastEvent)) error { return cl.Events(ctx, id, note) })
	found, err := o.result(cmd, b, res, err, func(w io.Writer) error { return catOutput(ctx, cl, res.Output, w) })
	if show != "" {
		res.Output = "" // it was shown, and is gone
	}
	return o.report(cmd, stages, res, found, err)
}

// catOutput copies the parts of an output, wherever it is.
func catOutput(ctx context.Context, cl *client.Client, dir string, w io.Writer) error {
	if inner, ok := strings.CutPrefix(dir, "dfs:"); ok {
		return catParts(ctx, cl, inner, w)
	}
	return printParts(w, strings.TrimPrefix(dir, "file:"))
}

func removeResult(cl *client.Client, dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = cl.DFS().Remove(ctx, dir, true) // it is only a copy of what was shown
}

// catParts copies the parts of an output in the block store.
func catParts(ctx context.Context, cl *client.Client, dir string, w io.Writer) error {
	list, err := cl.DFS().ListAll(ctx, dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		if !strings.HasPrefix(filepath.Base(e.Path), "part-") {
			continue
		}
		f, err := cl.DFS().Open(ctx, e.Path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
