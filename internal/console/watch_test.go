package console

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestModes: a flag that is none of the words is refused, and a file that is no terminal gets lines.
func TestModes(t *testing.T) {
	for _, word := range []string{"auto", "bar", "plain", "none"} {
		if m, err := ParseMode(word); err != nil || string(m) != word {
			t.Errorf("%s is %s, %v", word, m, err)
		}
	}
	if m, err := ParseMode("fancy"); err == nil || m != None || !strings.Contains(err.Error(), `"fancy" is not one of auto, bar, plain, none`) {
		t.Errorf("fancy is %s, %v", m, err)
	}
	f := screen(t)
	for m, want := range map[Mode]Mode{Auto: Plain, Plain: Plain, Bar: Bar, None: None} {
		if got := m.Choose(f); got != want {
			t.Errorf("%s for a file is %s, want %s", m, got, want)
		}
	}
	if w := Width(f); w != 0 {
		t.Errorf("a file has %d columns", w)
	}
}

// TestLines: a bar is drawn over itself ten times a second and leaves a clean line, plain lines come every two seconds, also in a file of which it was not said
// what it gets, and an empty one says nothing.
func TestLines(t *testing.T) {
	for mode, want := range map[Mode]string{
		Plain: "2\n4\n", Auto: "2\n4\n", None: "",
		Bar: wipe + "0.1" + wipe + "0.2" + wipe + "0.3" + wipe,
	} {
		synctest.Test(t, func(t *testing.T) {
			f, begin, until := screen(t), time.Now(), 350*time.Millisecond
			if mode != Bar {
				until = 7 * time.Second
			}
			stop := Lines(f, mode, func(m Mode) string {
				if at := time.Since(begin); m != mode && (mode != Auto || m != Plain) {
					t.Errorf("%s is shown as %s", mode, m)
				} else if at < 5*time.Second {
					return fmt.Sprint(at.Seconds())
				}
				return ""
			})
			time.Sleep(until)
			stop()
			if got := shown(t, f); got != want {
				t.Errorf("%s shows %q, want %q", mode, got, want)
			}
		})
	}
}

// TestWatch: a plain line comes when something has changed, a master that is away is told of after two seconds, and a job that has ended says nothing more.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := screen(t)
		r := &Remote{Begin: time.Now()}
		r.Note(wire.JobStatus{Name: "j", State: wire.Running, Maps: wire.TaskTotals{Done: 1, Total: 4}})
		var ended atomic.Bool
		stop := Watch(f, Plain, func() local.Progress {
			p := r.Progress()
			if ended.Load() {
				p.Phase = local.Finished
			}
			return p
		})
		steps := []struct {
			do   func()
			want string
		}{
			{func() {}, "map"},
			{func() {}, ""}, // nothing is new
			{func() { r.Away(time.Second) }, ""},
			{func() { r.Away(3 * time.Second) }, local.Waiting.String()},
			{func() {
				r.Note(wire.JobStatus{Name: "j", State: wire.Running, Maps: wire.TaskTotals{Done: 4, Total: 4}, Reduces: wire.TaskTotals{Total: 2}})
			}, "reduce"},
			{func() { ended.Store(true) }, ""},
		}
		time.Sleep(time.Second) // between two lines
		for i, s := range steps {
			before := len(shown(t, f))
			s.do()
			time.Sleep(2 * time.Second)
			if got := shown(t, f)[before:]; s.want == "" && got != "" || strings.Count(got, "\n") > 1 || !strings.Contains(got, s.want) {
				t.Errorf("step %d says %q, want %q", i, got, s.want)
			}
		}
		stop()
	})
}

// TestDetached: the id stands alone for scripts, and the next steps are for people.
func TestDetached(t *testing.T) {
	for asJSON, want := range map[bool][2]string{
		false: {"job-7\n", "job-7 goes on by itself (millrace job watch job-7, millrace job kill job-7)\n"},
		true:  {`{"job":"job-7"}` + "\n", ""},
	} {
		var out, hint bytes.Buffer
		if err := Detached(&out, &hint, asJSON, "job-7"); err != nil || out.String() != want[0] || hint.String() != want[1] {
			t.Errorf("JSON %v: %q, %q, %v", asJSON, &out, &hint, err)
		}
	}
}

// TestResultOf: a job that did not succeed has no output, and its reason cannot forge lines.
func TestResultOf(t *testing.T) {
	for state, want := range map[wire.JobState]string{
		wire.Succeeded: "", wire.Failed: "job-7 failed: why\nand how", wire.Cancelled: `job-7 was cancelled: why\nand how`,
	} {
		res, err := ResultOf(wire.JobStatus{
			Job: "job-7", Name: "j", State: state, Error: "why\nand how", Output: "out", Submitted: 1000, Ended: 3500,
			Bad: []wire.BadRecord{{File: "b"}, {File: "a"}},
		})
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != want || (res.Output == "out") != (state == wire.Succeeded) || res.Elapsed != 2500*time.Millisecond || res.Skipped[0].File != "a" {
			t.Errorf("%s: %q, want %q; %+v", state, said, want, res)
		}
	}
}

// TestSummarySaysPhases: on one machine maps and reduces have their times, on a cluster they overlap; what was spilled is said, and what was not.
func TestSummarySaysPhases(t *testing.T) {
	counts := mapreduce.Counts{mapreduce.TaskGroup: {mapreduce.Spills: 3, mapreduce.SpilledBytes: 2 << 20}}
	for want, s := range map[string]local.StageResult{
		"2 maps, 1 reduce": {Maps: 2, Reduces: 1},
		"1 map in 2.00s":   {Maps: 1, Map: 2 * time.Second},
		"2 maps in 2.00s, 3 reduces in 1.00s, plan and commit in 500ms": {Maps: 2, Map: 2 * time.Second, Reduces: 3, Reduce: time.Second, Plan: 200 * time.Millisecond, Commit: 300 * time.Millisecond},
	} {
		if got := phases(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := spills(counts); got != ", 3 spills of 2.00 MiB" {
		t.Errorf("%q", got)
	}
	if got := spills(nil); got != ", in memory" {
		t.Errorf("%q", got)
	}
}

// TestSummaryEnds: the last line says how long it took, what was tried again and where the output is; what was skipped and what users counted stand before it.
func TestSummaryEnds(t *testing.T) {
	for want, res := range map[string]local.Result{
		"done in 2.00s.\n":                  {Elapsed: 2 * time.Second, Attempts: 9},
		"done in 2.00s. Output: dfs:/out\n": {Elapsed: 2 * time.Second, Output: "dfs:/out"},
		"done in 1.00s, 3 of 9 attempts failed and were tried again. Output: o\n": {Elapsed: time.Second, Attempts: 9, Retries: 3, Output: "o"},
		"  skipped  f at offset 7: bad\n  g.n = 1,234\ndone in 1.00s.\n": {
			Elapsed: time.Second, Counts: mapreduce.Counts{"g": {"n": 1234}, mapreduce.TaskGroup: {mapreduce.Spills: 3}}, Skipped: []mapreduce.BadRecord{{File: "f", Offset: 7, Reason: "bad"}},
		},
		"j: 2 maps, 0 reduces\n  read     3 records, 5 B\n  wrote    0 records, 0 B\ndone in 0s.\n": {
			Stages: []local.StageResult{{Job: "j", Maps: 2, Counts: mapreduce.Counts{mapreduce.TaskGroup: {mapreduce.MapInputRecords: 3, mapreduce.MapInputBytes: 5}}}},
		},
	} {
		var b strings.Builder
		if Summary(&b, res); b.String() != want {
			t.Errorf("%q, want %q", b.String(), want)
		}
	}
}

func screen(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "screen"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func shown(t *testing.T, f *os.File) string {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
