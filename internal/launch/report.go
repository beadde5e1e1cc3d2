package launch

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/millrace/millrace/internal/console"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
)

// copyPart copies the content of what open opens.
func copyPart(w io.Writer, open func() (io.ReadCloser, error)) error {
	f, err := open()
	if err != nil {
		return err
	}
	_, err = io.Copy(w, f)
	return errors.Join(err, f.Close())
}

// report reports how the run ended: as one JSON object, or in words.
func (r *Run) report(o outcome, err error) error {
	found, err := r.result(o, err)
	if r.show {
		o.res.Output = "" // it was shown and removed
	}
	switch {
	case r.JSON:
		report := console.ReportOf(r.Stages, o.res, err)
		if len(found) > 0 {
			report.Result = found
		}
		if werr := report.WriteJSON(r.Out); werr != nil {
			return werr
		}
		if err != nil {
			return errors.Join(errReported, err)
		}
	case err != nil:
		return &told{err}
	default:
		console.Summary(r.Err, o.res)
		r.hint(o.res.Counts)
	}
	return nil
}

// hint says what may be wrong with a successful run.
func (r *Run) hint(c mapreduce.Counts) {
	if r.Result == nil || r.Result.Hint == nil {
		return
	}
	if text := r.Result.Hint(c); text != "" {
		fmt.Fprintln(r.Err, "hint: "+text)
	}
}

// told is an error with the text that users see.
type told struct{ error }

func (t *told) Error() string { return console.Failure(t.error) }
func (t *told) Unwrap() error { return t.error }

// result shows the result of a job that has one, or returns it as values for the JSON report. If the user gave an
// output directory, the result is there, and only the JSON report repeats it.
func (r *Run) result(o outcome, err error) (map[string]any, error) {
	if r.Result == nil || !r.Result.Result || err != nil || o.res.Output == "" {
		return nil, err
	}
	if !r.JSON {
		if !r.show {
			return nil, nil
		}
		return nil, o.parts(r.Out)
	}
	var text strings.Builder
	err = o.parts(&limited{&text, jobs.MaxResult})
	return r.Result.ParseResult(text.String()), err
}

// limited passes on a limited number of bytes and drops the rest.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.to.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
