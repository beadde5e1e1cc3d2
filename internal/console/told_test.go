package console

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestWaysOfTheShuffle: the summary of a job on a cluster says which way its map output took; that of one on this machine, and of one
// without reduces, does not.
func TestWaysOfTheShuffle(t *testing.T) {
	counts := mapreduce.Counts{mapreduce.TaskGroup: {
		mapreduce.ShuffleNodeBytes: 1 << 20, mapreduce.ShuffleRackBytes: 2 << 20, mapreduce.ShuffleRemoteBytes: 4 << 20,
		mapreduce.ShuffleRecords: 5, mapreduce.ShuffleBytes: 7 << 20, mapreduce.MapOutputRecords: 6, mapreduce.MapOutputBytes: 8 << 20,
	}}
	const line = "  moved    6.00 MiB: 2.00 MiB inside racks, 4.00 MiB between racks; 1.00 MiB stayed on their nodes\n"
	for _, tt := range []struct {
		s     local.StageResult
		moved bool
	}{
		{local.StageResult{Job: "j", Maps: 1, Reduces: 1, Counts: counts}, true},
		{local.StageResult{Job: "j", Maps: 1, Counts: counts}, false},
		{local.StageResult{Job: "j", Maps: 1, Reduces: 1}, false},
	} {
		var b strings.Builder
		Summary(&b, local.Result{Stages: []local.StageResult{tt.s}})
		if got := b.String(); strings.Contains(got, line) != tt.moved || strings.Contains(got, "moved") != tt.moved || strings.Contains(got, "emitted") != (tt.s.Reduces > 0) {
			t.Errorf("%+v: %s", tt.s, got)
		}
	}
	for name, want := range map[string]string{
		mapreduce.ShuffleNodeBytes:   "0 B: 0 B inside racks, 0 B between racks; 3 B stayed on their nodes",
		mapreduce.ShuffleRackBytes:   "3 B: 3 B inside racks, 0 B between racks; 0 B stayed on their nodes",
		mapreduce.ShuffleRemoteBytes: "3 B: 0 B inside racks, 3 B between racks; 0 B stayed on their nodes",
	} {
		if got := Travelled(mapreduce.Counts{mapreduce.TaskGroup: {name: 3}}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// found is a failure that has a result: teravalidate of a file that is not sorted.
type found struct{ error }

func (found) Result() map[string]any { return map[string]any{"sorted": false} }

// TestResultOfAFailure: a run that failed because of what it found out tells scripts of it.
func TestResultOfAFailure(t *testing.T) {
	stages := []mapreduce.Job{{Name: "check"}}
	var out bytes.Buffer
	if err := ReportOf(stages, local.Result{}, found{errors.New("not sorted")}).WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	const want = `{"job":"check","state":"FAILED","elapsed_s":0,"counters":{},"output":"","result":{"sorted":false},"error":"not sorted"}`
	if got := strings.TrimSpace(out.String()); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRetriesInWords: one is said as one, none is not said; what is left comes before them in a plain line, and the tasks before both.
func TestRetriesInWords(t *testing.T) {
	p := local.Progress{Job: "wc", Stage: 2, Stages: 3, Phase: local.Mapping, Done: 1, Total: 4}
	for retries, want := range map[int]string{
		0: "wc [2/3]: map  25%  1 of 4 tasks  2s left", 1: "wc [2/3]: map  25%  1 of 4 tasks  2s left  1 retry", 2: "wc [2/3]: map  25%  1 of 4 tasks  2s left  2 retries",
	} {
		p.Retries = retries
		if got := plainLine(p, "2s left"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got := barLine(p, "2s left", 0); strings.Contains(got, "retr") != (retries > 0) || retries == 1 && !strings.Contains(got, "  1 retry  ") {
			t.Errorf("%d retries: %q", retries, got)
		}
	}
}

// TestHistoryThatDoesNotCome: counters of a chain are waited for ten seconds, not longer than who asks has time, and not at all for one
// job or one that has no output; without them the sums stay. Events about stages that are none do no harm.
func TestHistoryThatDoesNotCome(t *testing.T) {
	two := []mapreduce.Job{{Name: "one"}, {Name: "two"}}
	for _, tt := range []struct {
		what   string
		stages []mapreduce.Job
		output string
		limit  time.Duration
		want   time.Duration
	}{
		{"never", two, "o", time.Hour, historyWait},
		{"who asks has less time", two, "o", time.Second, time.Second},
		{"one job", two[:1], "o", time.Hour, 0},
		{"no output", two, "", time.Hour, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
			defer cancel()
			res, begin, asked := local.Result{Output: tt.output, Counts: mapreduce.Counts{mapreduce.TaskGroup: {mapreduce.Spills: 12}}}, time.Now(), 0
			AddStages(ctx, &res, tt.stages, func(note func(*wire.PastEvent)) error {
				asked++
				for _, stage := range []int{-1, 2, 0, 1} {
					note(&wire.PastEvent{Kind: wire.PastDone, Stage: stage, Counts: wire.Counts{mapreduce.TaskGroup: {mapreduce.Spills: 1}}})
				}
				return nil
			})
			if took := time.Since(begin); took != tt.want || (asked > 0) != (tt.want > 0) || res.Stages != nil || res.Counts.Get(mapreduce.TaskGroup, mapreduce.Spills) != 12 {
				t.Errorf("%s: after %v, asked %d times, %+v", tt.what, took, asked, res)
			}
		})
	}
}

// TestRemoteStages: a job on a cluster that is a chain shows which stage runs; one that has told nothing yet counts as the first of one.
func TestRemoteStages(t *testing.T) {
	for _, tt := range []struct {
		s    wire.JobStatus
		want string
	}{
		{wire.JobStatus{Name: "j"}, "j"},
		{wire.JobStatus{Name: "j", Stage: 1, Stages: 1}, "j"},
		{wire.JobStatus{Name: "j", Stage: 2, Stages: 3}, "j [2/3]"},
		{wire.JobStatus{Name: "j", Stages: 3}, "j [1/3]"},
	} {
		var r Remote
		r.Note(tt.s)
		if got := title(r.Progress()); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.s, got, tt.want)
		}
	}
	var r Remote
	for since, want := range map[time.Duration]local.Phase{awayAfter: local.Planning, awayAfter + 1: local.Waiting} {
		if r.Away(since); r.Progress().Phase != want {
			t.Errorf("away for %v: %v", since, r.Progress().Phase)
		}
	}
	if r.Note(wire.JobStatus{State: wire.Queued}); r.Progress().Phase != local.Queued {
		t.Errorf("back: %v", r.Progress().Phase)
	}
}
