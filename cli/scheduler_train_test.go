package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/hybrid"
	"github.com/millrace/millrace/trace"
)

// writeJobs writes a history of jobs of 1 to n maps that each read a megabyte, half of which they shuffle.
func writeJobs(t *testing.T, file string, n int, state trace.JobState) {
	t.Helper()
	h := &trace.History{Origin: trace.Origin{Source: "cluster"}}
	for i := range n {
		maps := int32(i + 1)
		h.Jobs = append(h.Jobs, trace.PastJob{ID: fmt.Sprint("j", i), State: state, End: 1, Maps: maps, Reduces: 1, InputBytes: int64(maps) * 1e6, ShuffleBytes: int64(maps) * 5e5})
	}
	var b bytes.Buffer
	if err := trace.WriteHistory(&b, h); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func train(args ...string) (string, error) {
	cmd := newSchedulerTrain()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(append([]string{"hybrid"}, args...))
	err := cmd.Execute()
	return out.String(), err
}

// TestTrainHybrid: a classifier that was trained with the jobs of a directory of histories calls those small that the rule does.
func TestTrainHybrid(t *testing.T) {
	dir := t.TempDir()
	writeJobs(t, filepath.Join(dir, "a.jsonl"), 60, trace.JobDone)
	writeJobs(t, filepath.Join(dir, "b.jsonl"), 60, trace.JobDone)
	out, err := train("--history", dir, "--scale", "0.001", "--dir", dir, "--json")
	var r trainReport
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Jobs != 120 || r.Small == 0 || r.Accuracy < 0.9 {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "hybrid.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := hybrid.ParseTrained(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for maps, want := range map[int32]bool{3: true, 55: false} { // the border is at 17 to 18 maps
		if small, _ := c.Classify(&scheduler.JobSpec{Maps: maps, Reduces: 1, Recurring: true, Shuffle: scheduler.Bytes(int64(maps) * 5e5)}); small != want {
			t.Errorf("a job of %d maps is small: %v", maps, small)
		}
	}
	if got := shortParam("model", string(text)); !strings.HasPrefix(got, "trained(") {
		t.Errorf("shown as %s", got)
	}
}

// TestTrainRefusals: histories that nothing can be learnt from are refused, and what would do is said.
func TestTrainRefusals(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	writeJobs(t, file("few.jsonl"), 3, trace.JobDone)
	writeJobs(t, file("failed.jsonl"), 60, trace.JobFailed)
	writeJobs(t, file("good.jsonl"), 60, trace.JobDone)
	if err := os.WriteFile(file("bad.jsonl"), []byte("{\"millrace_history\":1}\n{\"job\":\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ history, scale, want string }{
		{"", "1", "give --history"},
		{file("none.jsonl"), "1", "no such file"},
		{empty, "1", "no *.jsonl in this directory"},
		{file("bad.jsonl"), "1", "bad.jsonl:2"},
		{file("few.jsonl"), "0.0001", "give a longer history"},
		{file("failed.jsonl"), "1", "no job in it has succeeded"},
		{file("good.jsonl"), "1", "60 small jobs and 0 large ones"},
		{file("good.jsonl"), "-1", "--scale is -1"},
	} {
		if _, err := train("--history", c.history, "--scale", c.scale, "--out", file("out")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, scale %s: %v, want %q", c.history, c.scale, err, c.want)
		}
	}
	if _, err := os.Stat(file("out")); err == nil {
		t.Error("a refused training wrote a classifier")
	}
}

// TestTrainWithWhatWasExpected: a job that makes its input is labelled by what the policies were told of it.
func TestTrainWithWhatWasExpected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.jsonl")
	h := &trace.History{}
	for id, e := range map[string]*trace.Expected{"a": {InputBytes: 1 << 40}, "b": {}, "c": nil} {
		h.Jobs = append(h.Jobs, trace.PastJob{ID: id, State: trace.JobDone, End: 1, Maps: 3, InputBytes: 48, Expect: e})
	}
	if err := writeHistoryFile(file, h); err != nil {
		t.Fatal(err)
	}
	o := trainOptions{history: file, scale: 1}
	samples, err := o.samples()
	small := 0
	for _, s := range samples {
		if s.Small {
			small++
		}
	}
	if err != nil || len(samples) != 3 || small != 2 {
		t.Errorf("%d of %d are small, %v: want 2 of 3", small, len(samples), err)
	}
}
