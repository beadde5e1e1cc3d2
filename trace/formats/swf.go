package formats

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/millrace/millrace/trace"
)

// Fields of the Standard Workload Format, version 2.2, from 0.
const (
	swfJob, swfSubmit, swfWait, swfRun, swfProcs = 0, 1, 2, 3, 4
	swfAsked, swfStatus, swfUser, swfQueue       = 7, 10, 11, 14
	swfFields                                    = 18
)

func isSWF(head []byte) bool {
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			continue
		case line[0] == ';':
			return true
		}
		f := bytes.Fields(line)
		return len(f) == swfFields && !bytes.Contains(line, []byte{'\t'}) && !slices.ContainsFunc(f, func(x []byte) bool {
			_, err := strconv.ParseFloat(string(x), 64)
			return err != nil
		})
	}
	return false
}

// readSWF makes a job of each line: a map for each of its processors, all as long as the job.
func readSWF(r *reader) error {
	return r.lines(func(line []byte) error {
		if line[0] == ';' {
			return nil
		}
		f := bytes.Fields(line)
		if len(f) != swfFields {
			return fmt.Errorf("%d fields, want %d", len(f), swfFields)
		}
		v := make([]float64, swfFields)
		for i, x := range f {
			n, err := strconv.ParseFloat(string(x), 64)
			if err != nil || math.IsNaN(n) || math.Abs(n) > 1e15 {
				return fmt.Errorf("field %d, %.40q, is not a number", i+1, x)
			}
			v[i] = n
		}
		return r.swfJob(v)
	})
}

// maxProcs bounds the processors of one job.
const maxProcs = 1 << 20

func (r *reader) swfJob(v []float64) error {
	procs := v[swfProcs]
	if procs <= 0 {
		procs = v[swfAsked]
	}
	if v[swfRun] <= 0 || procs <= 0 {
		r.build.Leave("a job never ran, or on no processor")
		return nil
	}
	if v[swfSubmit] < 0 || v[swfSubmit] > 1e9 || v[swfRun] > 1e9 || v[swfWait] > 1e9 || procs > maxProcs {
		return fmt.Errorf("submitted at %g, waits %g, runs %g s on %g processors: beyond 10^9 s or %d processors", v[swfSubmit], v[swfWait], v[swfRun], procs, maxProcs)
	}
	id := fmt.Sprintf("%d", int64(v[swfJob]))
	if r.file > 0 {
		id = fmt.Sprintf("%d-%s", r.file, id)
	}
	j, err := r.build.Job(id)
	if err != nil {
		return err
	}
	if j.Submit != trace.Unknown {
		return fmt.Errorf("a second job %s", id)
	}
	swfFill(j, v)
	start := j.Submit + swfTime(v[swfWait])
	for p := range int(procs) {
		if err := r.build.Attempt(id, strconv.Itoa(p), trace.PastAttempt{Kind: "map", Start: start, End: start + swfTime(v[swfRun])}); err != nil {
			return err
		}
	}
	return nil
}

// swfTime returns a time of s seconds; unknown, -1, counts as 0.
func swfTime(s float64) time.Duration { return time.Duration(max(0, s) * float64(time.Second)) }

func swfFill(j *trace.PastJob, v []float64) {
	j.Submit, j.State = swfTime(v[swfSubmit]), trace.JobDone
	if v[swfStatus] == 0 || v[swfStatus] == 5 {
		j.State = trace.JobFailed
	}
	if v[swfUser] >= 0 {
		j.User = fmt.Sprintf("user%d", int64(v[swfUser]))
	}
	if v[swfQueue] >= 0 {
		j.Queue = fmt.Sprintf("queue%d", int64(v[swfQueue]))
	}
}

// writeSWF writes a line for each job that ran: its processors are the most containers that it held at a time.
func writeSWF(w io.Writer, h *trace.History) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "; Version: 2.2\n; Computer: millrace\n; MaxJobs: %d\n; MaxNodes: %d\n", len(h.Jobs), h.Origin.Nodes)
	fmt.Fprintln(b, "; Note: processors are the most containers that a job held at a time, CPU time is what it held on average")
	runs := map[string][]trace.PastAttempt{}
	for _, a := range h.Attempts {
		runs[a.Job] = append(runs[a.Job], a)
	}
	users, queues := numbers{}, numbers{}
	for i := range h.Jobs {
		j := &h.Jobs[i]
		most, held := trace.Held(runs[j.ID])
		start, end := j.Start, j.End
		status := map[trace.JobState]int{trace.JobDone: 1, trace.JobFailed: 0, trace.JobRejected: 5, "": -1}[j.State]
		wait, run, cpu := -1.0, -1.0, -1.0
		if most > 0 {
			wait, run, cpu = (start - j.Submit).Seconds(), (end - start).Seconds(), held.Seconds()/float64(most)
		}
		fmt.Fprintf(b, "%d %s %s %s %d %s -1 %d -1 -1 %d %d -1 -1 %d -1 -1 -1\n",
			i+1, short(j.Submit.Seconds()), short(wait), short(run), cmp.Or(most, -1), short(cpu), cmp.Or(most, int(max(j.Maps, j.Reduces)), -1), status, users.of(j.User), queues.of(j.Queue))
	}
	return b.Flush()
}

func short(v float64) string { return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64) }

// numbers gives names numbers from 1, in the order in which they come; -1 for no name.
type numbers map[string]int

func (n numbers) of(name string) int {
	if name == "" {
		return -1
	}
	if n[name] == 0 {
		n[name] = len(n) + 1
	}
	return n[name]
}
