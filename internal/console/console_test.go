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

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0 B": Bytes(0), "1023 B": Bytes(1023), "1.00 KiB": Bytes(1024), "1.50 GiB": Bytes(3 << 29), "977 KiB": Bytes(1_000_000),
		"0.98 GiB": Bytes(1001 << 20), "8.00 EiB": Bytes(1<<63 - 1),
		"0": Count(0), "999": Count(999), "1,000": Count(1000), "1,234,567": Count(1_234_567), "-1,000": Count(-1000), "-100": Count(-100),
		"12ms": Duration(12 * time.Millisecond), "3.21s": Duration(3210 * time.Millisecond), "4m10s": Duration(250 * time.Second),
		"-": Rate(5, 0), "2.00 KiB/s": Rate(4096, 2*time.Second),
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

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
		Skipped: []task.BadRecord{{File: evil, Reason: evil}},
	})
	plainLine(&out, local.Progress{Job: evil, Total: 1}, "")
	fmt.Fprintln(&out, barLine(local.Progress{Job: evil, Total: 1}, ""))
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
