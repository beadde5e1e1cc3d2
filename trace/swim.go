package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// Limits on what a trace file may hold.
const (
	maxLine  = 1 << 20
	maxJobs  = 50_000_000
	maxBytes = int64(1) << 60
)

// ErrFormat marks a trace that is not in its format. The error names file, line and
// reason.
var ErrFormat = errors.New("malformed trace")

// ReadSWIM reads a whole trace. name is used in errors. Lines must be in order of
// submission.
func ReadSWIM(r io.Reader, name string) ([]Job, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	var jobs []Job
	for n := 1; lines.Scan(); n++ {
		text := bytes.TrimSuffix(lines.Bytes(), []byte{'\r'})
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		job, err := parseSWIM(string(text))
		if err == nil && len(jobs) > 0 && job.Submit < jobs[len(jobs)-1].Submit {
			err = fmt.Errorf("submitted at %v, before the job above it (%v): sort the trace by its second column",
				job.Submit, jobs[len(jobs)-1].Submit)
		}
		if err == nil && len(jobs) >= maxJobs {
			err = fmt.Errorf("more than %d jobs", maxJobs)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w: %w", name, n, ErrFormat, err)
		}
		jobs = append(jobs, job)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: read: %w", name, err)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: %w: it has no jobs", name, ErrFormat)
	}
	return jobs, nil
}

// parseSWIM reads one line. The gap (third column) follows from the submit times and
// is only checked to be a number.
func parseSWIM(line string) (Job, error) {
	f := strings.Split(line, "\t")
	if len(f) < 6 {
		return Job{}, fmt.Errorf("%d columns, want at least 6 (id, submit, gap, input, shuffle, output) separated by tabs", len(f))
	}
	j := Job{ID: f[0]}
	if j.ID == "" {
		return Job{}, errors.New("the job has no id")
	}
	submit, err := seconds("submit time", f[1])
	if err != nil {
		return Job{}, err
	}
	j.Submit = submit
	if _, err := seconds("gap", f[2]); err != nil {
		return Job{}, err
	}
	for i, c := range []struct {
		name string
		into *int64
	}{{"input", &j.InputBytes}, {"shuffle", &j.ShuffleBytes}, {"output", &j.OutputBytes}} {
		if *c.into, err = size(c.name, f[3+i]); err != nil {
			return Job{}, err
		}
	}
	if len(f) > 6 {
		j.InputPath = f[6]
	}
	if len(f) > 7 {
		j.OutputPath = f[7]
	}
	return j, nil
}

func seconds(what, s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1e9 {
		return 0, fmt.Errorf("%s %q is not a number of seconds in 0..1e9", what, s)
	}
	return time.Duration(math.Round(v * float64(time.Second))), nil
}

func size(what, s string) (int64, error) {
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v < 0 || v > maxBytes {
		return 0, fmt.Errorf("%s %q is not a number of bytes in 0..2^60", what, s)
	}
	return v, nil
}

// WriteSWIM writes a trace in the same format.
func WriteSWIM(w io.Writer, jobs []Job) error {
	b := bufio.NewWriter(w)
	var last time.Duration
	for _, j := range jobs {
		fmt.Fprintf(b, "%s\t%s\t%s\t%d\t%d\t%d", j.ID, plain(j.Submit), plain(j.Submit-last), j.InputBytes, j.ShuffleBytes, j.OutputBytes)
		if j.InputPath != "" || j.OutputPath != "" {
			fmt.Fprintf(b, "\t%s\t%s", j.InputPath, j.OutputPath)
		}
		fmt.Fprintln(b)
		last = j.Submit
	}
	return b.Flush()
}

func plain(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}
