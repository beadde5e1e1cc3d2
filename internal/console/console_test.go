package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestFailure: what the machine lacks comes with what to do about it.
func TestFailure(t *testing.T) {
	for want, err := range map[string]error{
		"interrupted: nothing was left behind": fmt.Errorf("job x: %w", context.Canceled),
		"plain":                                errors.New("plain"),
		"--scratch":                            fmt.Errorf("%w: %w", local.ErrScratch, syscall.ENOSPC),
		"an output on another disk":            fmt.Errorf("write: %w", syscall.ENOSPC),
		"ulimit -n":                            fmt.Errorf("open: %w", syscall.EMFILE),
	} {
		if got := Failure(err); !strings.Contains(got, want) {
			t.Errorf("%v prints %q, want %q in it", err, got, want)
		}
	}
}

// TestReport has the shape that scripts rely on, also when nothing came of the run.
func TestReport(t *testing.T) {
	stages := []mapreduce.Job{{Name: "first"}, {Name: "second"}}
	res := local.Result{
		Elapsed: 1500 * time.Millisecond, Output: "out",
		Counts: mapreduce.Counts{mapreduce.TaskGroup: {"spills": 2}, "my": {"x": 3}},
	}
	for want, report := range map[string]Report{
		`{"job":"first","state":"SUCCEEDED","elapsed_s":1.5,"counters":{"my.x":3,"spills":2},"output":"out"}`: ReportOf(stages, res, nil),
		`{"job":"first","state":"FAILED","elapsed_s":0,"counters":{},"output":"","error":"why"}`:              ReportOf(stages, local.Result{}, errors.New("why")),
		`{"job":"first","state":"CANCELLED","elapsed_s":0,"counters":{},"output":"","error":"interrupted"}`:   ReportOf(stages, local.Result{}, context.Canceled),
	} {
		var out bytes.Buffer
		if err := report.WriteJSON(&out); err != nil || strings.TrimSpace(out.String()) != want {
			t.Errorf("the report is %s, %v; want %s", &out, err, want)
		}
	}
}

// TestNamesStayOnTheirLine: what comes from outside cannot forge lines or colours.
func TestNamesStayOnTheirLine(t *testing.T) {
	const evil = "x\n2026 ERROR root\x1b[31m\r\x00"
	var out bytes.Buffer
	Summary(&out, local.Result{
		Stages: []local.StageResult{{Job: evil, Reduces: 1}}, Output: "out",
		Counts:  mapreduce.Counts{evil: {evil: 1}},
		Skipped: []local.BadRecord{{File: evil, Reason: evil}},
	})
	fmt.Fprintln(&out, plainLine(local.Progress{Job: evil, Total: 1}, ""))
	fmt.Fprintln(&out, barLine(local.Progress{Job: evil, Total: 1}, "", 0))
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "2026") || strings.ContainsAny(strings.TrimSuffix(line, "\n"), "\x1b\r\x00") {
			t.Errorf("a line of %q", line)
		}
	}
	if !strings.Contains(out.String(), "ERROR root") {
		t.Errorf("the name is gone: %q", out.String())
	}
}

// TestEstimator tells the time left by what the phase has done so far.
func TestEstimator(t *testing.T) {
	var e estimator
	at := func(elapsed time.Duration, bytes int64) string {
		return e.left(local.Progress{Stage: 1, Phase: local.Mapping, Elapsed: elapsed, Bytes: bytes, TotalBytes: 10 << 20})
	}
	if got := at(0, 0); got != "" {
		t.Errorf("at the start: %q", got)
	}
	if got := at(100*time.Millisecond, 1<<20); got != "" {
		t.Errorf("too early to tell: %q", got)
	}
	if got := at(2*time.Second, 5<<20); got != "2.50 MiB/s  2.00s left" {
		t.Errorf("half way after 2 s: %q", got)
	}
}

// TestTimeLeftGrowsOnlyWithReason: an estimate that trembles is shown as one that stands, one that has grown is shown as it is.
func TestTimeLeftGrowsOnlyWithReason(t *testing.T) {
	var l Left
	for _, step := range []struct {
		estimate time.Duration
		want     string
	}{
		{10 * time.Second, "10.00s left"},
		{11 * time.Second, "10.00s left"},
		{9 * time.Second, "9.00s left"},
		{10 * time.Second, "9.00s left"},
		{30 * time.Second, "30.00s left"},
		{2 * time.Second, "2.00s left"},
		{2900 * time.Millisecond, "2.00s left"},
		{0, "0s left"},
	} {
		if got := l.Next(step.estimate); got != step.want {
			t.Errorf("estimate %s shows %q, want %q", step.estimate, got, step.want)
		}
	}
}

// TestBarLineFits: on any terminal the line is one line, and what people look for is on it.
func TestBarLineFits(t *testing.T) {
	for _, job := range []string{"sort", "inverted-index", "a very long name of a job that somebody thought was clear", "größenwahn größenwahn größenwahn"} {
		for _, stages := range []int{1, 12} {
			for _, retries := range []int{0, 3} {
				p := local.Progress{
					Job: job, Stage: 11, Stages: stages, Phase: local.Mapping, Done: 1234, Total: 12345, Bytes: 671 << 20, TotalBytes: 1001 << 20,
					Retries: retries, Elapsed: time.Minute,
				}
				for columns := 42; columns < 250; columns++ {
					line := barLine(p, "1.21 GiB/s  1h12m50s left", columns)
					if n := len([]rune(line)); n > columns {
						t.Errorf("%d columns on a terminal of %d: %q", n, columns, line)
					}
					for _, want := range []string{"map ", " 67%", "1.21 GiB/s", "1h12m50s left"} {
						if !strings.Contains(line, want) {
							t.Errorf("%d columns: no %q in %q", columns, want, line)
						}
					}
				}
			}
		}
	}
}

// TestBarLineShrinks: what matters least goes first.
func TestBarLineShrinks(t *testing.T) {
	p := local.Progress{Job: "wordcount", Stage: 1, Stages: 1, Phase: local.Mapping, Done: 3, Total: 8, Bytes: 512 << 20, TotalBytes: 1 << 30, Retries: 2}
	for columns, want := range map[int]string{
		120: "wordcount  map    ████████████░░░░░░░░░░░░  50%  670 MiB/s  1.20s left  2 retries  3 of 8 tasks  512 MiB of 1.00 GiB",
		100: "wordcount  map    ████████████░░░░░░░░░░░░  50%  670 MiB/s  1.20s left  2 retries  3 of 8 tasks",
		80:  "wordcount  map    ████████████░░░░░░░░░░░░  50%  670 MiB/s  1.20s left",
		60:  "wordcount  map    █████░░░░░  50%  670 MiB/s  1.20s left",
		46:  "wordcount  map     50%  670 MiB/s  1.20s left",
		40:  "map     50%  670 MiB/s  1.20s left",
		20:  "map     50%  670 MiB",
	} {
		if got := barLine(p, "670 MiB/s  1.20s left", columns); got != want {
			t.Errorf("%d columns:\n%s, want\n%s", columns, got, want)
		}
	}
}

// TestStagesOnACluster: the history says which counter is of which stage, and a map that was run again counts once.
func TestStagesOnACluster(t *testing.T) {
	counts := func(in, out int64) wire.Counts {
		return wire.Counts{mapreduce.TaskGroup: {mapreduce.MapInputRecords: in, mapreduce.OutputRecords: out, mapreduce.Spills: 1}}
	}
	events := []wire.PastEvent{
		{Kind: wire.PastSubmitted},
		{Kind: wire.PastPlanned, Stage: 0, Maps: 2, Reduces: 1},
		{Kind: wire.PastDone, Stage: 0, Task: wire.MapTask, Index: 0, Counts: counts(10, 0)},
		{Kind: wire.PastDone, Stage: 0, Task: wire.MapTask, Index: 1, Counts: counts(20, 0)},
		{Kind: wire.PastOutputLost, Stage: 0, Task: wire.MapTask, Index: 1},
		{Kind: wire.PastDone, Stage: 0, Task: wire.MapTask, Index: 1, Counts: counts(20, 0)},
		{Kind: wire.PastDone, Stage: 0, Task: wire.ReduceTask, Index: 0, Counts: counts(0, 7)},
		{Kind: wire.PastPlanned, Stage: 1, Maps: 1, Reduces: 1},
		{Kind: wire.PastDone, Stage: 1, Task: wire.MapTask, Index: 0, Counts: counts(7, 0)},
		{Kind: wire.PastDone, Stage: 1, Task: wire.ReduceTask, Index: 0, Counts: counts(0, 5)},
		{Kind: wire.PastEnded, Counts: counts(37, 12)},
	}
	stages := []mapreduce.Job{{Name: "one"}, {Name: "two"}}
	res := local.Result{Output: "dfs:/o", Counts: mapreduce.Counts{mapreduce.TaskGroup: {mapreduce.OutputRecords: 12}}}
	written := 3 // so far: the history comes later than the answer
	AddStages(t.Context(), &res, stages, func(note func(*wire.PastEvent)) error {
		for i := range written {
			note(&events[i])
		}
		written = min(written+4, len(events))
		return nil
	})
	want := `{"job":"one","state":"SUCCEEDED","elapsed_s":0,"counters":{"map_input_records":30,"output_records":5,"spills":5},"output":"dfs:/o",` +
		`"stages":[{"job":"one","maps":2,"reduces":1,"counters":{"map_input_records":30,"output_records":7,"spills":3}},` +
		`{"job":"two","maps":1,"reduces":1,"counters":{"map_input_records":7,"output_records":5,"spills":2}}]}`
	var out bytes.Buffer
	if err := ReportOf(stages, res, nil).WriteJSON(&out); err != nil || strings.TrimSpace(out.String()) != want {
		t.Errorf("the report is %s, %v; want %s", &out, err, want)
	}

	without := local.Result{Output: "dfs:/o", Counts: mapreduce.Counts{mapreduce.TaskGroup: {mapreduce.OutputRecords: 12}}}
	AddStages(t.Context(), &without, stages, func(func(*wire.PastEvent)) error { return errors.New("no history") })
	if n := without.Counts.Get(mapreduce.TaskGroup, mapreduce.OutputRecords); n != 12 {
		t.Errorf("without a history the sum is %d, want 12", n)
	}
}

// TestPlainLinesTellNews: time alone is none.
func TestPlainLinesTellNews(t *testing.T) {
	queued, mapping := local.Progress{Phase: local.Queued, Stage: 1}, local.Progress{Phase: local.Mapping, Stage: 1, Total: 3}
	later, further := mapping, mapping
	later.Elapsed, further.Done = time.Second, 1
	if !news(local.Progress{Stage: -1}, queued) || !news(queued, mapping) || !news(mapping, further) {
		t.Error("news are not told")
	}
	if news(queued, queued) || news(mapping, later) {
		t.Error("what was said is said again")
	}
}

// TestRetriesAreFailures: attempts that are not first ones have not all failed; those that have are told while the job runs and when it has ended.
func TestRetriesAreFailures(t *testing.T) {
	var r Remote
	for retries, want := range map[int]string{0: "wc: map  25%  2 of 8 tasks", 3: "wc: map  25%  2 of 8 tasks  3 retries"} {
		s := wire.JobStatus{
			Name: "wc", State: wire.Running, Attempts: 20, Retries: retries, Maps: wire.TaskTotals{Total: 8, Done: 2}, Reduces: wire.TaskTotals{Total: 2},
		}
		r.Note(s)
		if got := plainLine(r.Progress(), ""); got != want {
			t.Errorf("%d attempts failed: %q, want %q", retries, got, want)
		}
		s.State = wire.Succeeded
		if res, err := ResultOf(s); err != nil || res.Retries != retries {
			t.Errorf("the result has %d retries, %v; want %d", res.Retries, err, retries)
		}
	}
}
