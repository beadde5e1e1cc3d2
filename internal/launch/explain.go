package launch

import (
	"bytes"
	"fmt"
	"os"

	"github.com/millrace/millrace/internal/explain"
	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

// maxExplained is how many bytes of input a page is made of.
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
	return nil
}

// explained returns the jobs so that what they do is recorded, and what writes the page when they have ended.
func (r *Run) explained() ([]mapreduce.Job, func() error, error) {
	var size int64
	for _, in := range r.Stages[0].AllInputs() {
		files, err := storage.Mux{}.Expand(in.Paths)
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
			fmt.Fprintf(r.Err, "what became of each record: %s (open it in a browser)\n", r.Explain)
		}
		return nil
	}, nil
}
