package launch

import (
	"context"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/storage"
)

// An outcome is the result of a run.
type outcome struct {
	res      local.Result
	parts    func(w io.Writer) error // copies the output
	clean    []func()                // what to do after the report, in reverse order
	detached bool
}

// here runs the jobs in this process.
func (r *Run) here(ctx context.Context) (o outcome, err error) {
	if r.show {
		tmp, err := disk.TempDir(r.Local.Scratch, "millrace-result-")
		if err != nil {
			return o, fmt.Errorf("make a directory for the result: %w", err)
		}
		r.last().Output = filepath.Join(tmp.Path(), "out")
		o.clean = append(o.clean, func() { _ = tmp.Remove() }) // it has been shown
	}
	if r.hadoop != nil {
		defer context.AfterFunc(ctx, r.hadoop.Hurry)()
		o.clean = append(o.clean, r.hadoop.Close)
	}
	debug.SetMemoryLimit(r.runner.Budget().Collector())
	stages, wrote := r.Stages, func() error { return nil }
	if r.Explain != "" {
		if stages, wrote, err = r.explained(); err != nil {
			return o, err
		}
	}
	collectLater(r.runner.Budget().Total())
	stop := console.Watch(r.Err, r.mode, r.runner.Progress)
	o.res, err = r.runner.Run(ctx, stages...)
	stop()
	if err == nil {
		err = wrote()
	}
	dir := o.res.Output
	o.parts = func(w io.Writer) error { return printParts(w, r.Local.Store, dir) }
	return o, err
}

const partPrefix = "part-"

// PrintParts copies the parts of an output directory of this machine to w, in order.
func PrintParts(w io.Writer, dir string) error { return printParts(w, storage.Mux{}, dir) }

func printParts(w io.Writer, mux storage.Mux, full string) error {
	store, dir, err := mux.Resolve(full)
	if err != nil {
		return err
	}
	entries, err := store.ReadDir(dir) // not a pattern: the directory may have brackets in its name
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), partPrefix) {
			continue
		}
		if err := copyPart(w, func() (io.ReadCloser, error) { return openWhole(store, path.Join(dir, e.Name())) }); err != nil {
			return err
		}
	}
	return nil
}

// openWhole opens a file to be read from its beginning to its end.
func openWhole(store storage.FS, p string) (io.ReadCloser, error) {
	f, err := store.Open(p)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(f, 0, f.Size()), f}, nil
}
