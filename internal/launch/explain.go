package launch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/millrace/millrace/internal/explain"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/mapreduce"
)

// maxExplained is the size limit of the input of a page, in bytes.
const maxExplained = 64 << 10

func (r *Run) checkExplain() error {
	switch {
	case r.Explain == "":
		return nil
	case r.remote():
		return fmt.Errorf("%sexplain shows a run on this machine: leave %smaster out, or give %slocal", r.Dash, r.Dash, r.Dash)
	}
	if info, err := os.Stat(r.Explain); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%sexplain %s is no file: give the name of a page to write", r.Dash, r.Explain)
	}
	if err := canWrite(r.Explain); err != nil {
		return fmt.Errorf("%sexplain %s cannot be written: %w: name a page in a directory that is there and yours", r.Dash, r.Explain, err)
	}
	return nil
}

// canWrite checks whether a file can be written when a run has ended, and leaves everything as it was.
func canWrite(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err == nil {
			return errors.Join(f.Close(), os.Remove(name))
		}
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// explained returns the jobs with recording added, and a function that writes the page when they have ended.
func (r *Run) explained() ([]mapreduce.Job, func() error, error) {
	var size int64
	for _, in := range r.Stages[0].AllInputs() {
		files, err := r.Local.Store.Expand(in.Paths)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range files {
			size += f.Size
		}
	}
	if size > maxExplained {
		return nil, nil, fmt.Errorf("%sexplain shows each record, of up to %s of input; this one has %s: take less of it (head -n 50)",
			r.Dash, human.Bytes(maxExplained), human.Bytes(size))
	}
	stages, recording := explain.Watch(r.Stages, size)
	return stages, func() error {
		story := recording.Story()
		var page bytes.Buffer
		if err := story.Write(&page); err != nil {
			return err
		}
		if err := os.WriteFile(r.Explain, page.Bytes(), 0o666); err != nil {
			return fmt.Errorf("%sexplain: %w", r.Dash, err)
		}
		if !r.JSON {
			fmt.Fprintf(r.Err, "what became of each record: %s (open it in a browser)\n", human.Printable(r.Explain))
		}
		return nil
	}, nil
}
