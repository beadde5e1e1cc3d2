package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/sim/compare"
	"github.com/millrace/millrace/trace"
)

// TestMeansOverSeeds: with several repetitions a policy's rows are numbered, and their mean follows; one repetition is a row.
func TestMeansOverSeeds(t *testing.T) {
	run := func(policy string, completion float64, missed int) *simRun {
		r := &simRun{}
		r.Policy, r.Events = policy, 1000
		r.Metrics = compare.Metrics{Jobs: 24_442, Missed: missed, WithDeadline: 3}
		r.Metrics.Completion.Mean = completion
		return r
	}
	for name, c := range map[string]struct {
		runs []*simRun
		want []string // policy, jobs, mean completion, missed goals
	}{
		"one each": {[]*simRun{run("fifo", 10, 1), run("fair", 20, 2)}, []string{"fifo 24442 10.0 s 1 of 3", "fair 24442 20.0 s 2 of 3"}},
		"two each": {
			[]*simRun{run("fifo", 10, 1), run("fifo", 11, 2), run("fair", 20, 2), run("fair", 40, 2)},
			[]string{
				"fifo, 1 of 2 24442 10.0 s 1 of 3", "fifo, 2 of 2 24442 11.0 s 2 of 3", "fifo, mean 24442 10.5 s 1.5 of 3",
				"fair, 1 of 2 24442 20.0 s 2 of 3", "fair, 2 of 2 24442 40.0 s 2 of 3", "fair, mean 24442 30.0 s 2 of 3",
			},
		},
	} {
		var got []string
		for _, row := range runRows(c.runs, runRow) {
			got = append(got, fmt.Sprint(row[0], " ", row[1], " ", row[2], " ", row[9]))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

// TestChosenMetricsOnScreen: the table on the screen has the metrics that the file names, as the written report has them.
func TestChosenMetricsOnScreen(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.yaml")
	text := "nodes: 4\nracks: 2\ntrace: gen:fb-2010:20\nscale: 0.05\nseeds: 2\npolicies: [{policy: fifo}]\nreport: {metrics: [\"makespan, s\", \"jobs an hour\"]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetArgs([]string{"sim", "run", "--file", file, "--out", filepath.Join(dir, "out")})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	cells := func(begins string) (all []string) {
		for line := range strings.Lines(out.String()) {
			if row := strings.Split(strings.TrimSpace(line), "│"); len(row) > 2 && strings.EqualFold(strings.TrimSpace(row[1]), begins) {
				for _, c := range row[2 : len(row)-1] {
					all = append(all, strings.TrimSpace(c))
				}
			}
		}
		return all
	}
	if got := strings.Join(cells("policy"), "; "); !strings.EqualFold(got, "makespan, s; jobs an hour") {
		t.Errorf("the columns are %s in\n%s", got, &out)
	}
	var written []string
	for _, row := range readRows(t, filepath.Join(dir, "out", "report.csv"))[1:] {
		written = append(written, row[1])
	}
	if got := cells("fifo, mean"); len(got) != 2 || !slices.Equal(got, written) {
		t.Errorf("the screen has %q, the report %q", got, written)
	}
}

// A history says how many tasks the cluster ran at once, also where it has slots for maps and for reduces.
func TestHistoryOfSlots(t *testing.T) {
	dir := t.TempDir()
	file, past := filepath.Join(dir, "s.yaml"), filepath.Join(dir, "past")
	if err := os.WriteFile(file, []byte("nodes: 2\nracks: 1\nmap_slots: 3\nreduce_slots: 1\njobs: [{maps: 2, map_time: 1}]\npolicies: [fifo]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	root.SetOut(io.Discard)
	root.SetArgs([]string{"sim", "run", "--file", file, "--history", past})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(past)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := trace.ReadOrigin(bytes.NewReader(text)); !ok || at.Room != 8 {
		t.Errorf("2 nodes of 3 and 1 slots have room %d", at.Room)
	}
}

// A run that turned all of its jobs away has no means: JSON says null.
func TestJSONOfNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	text := "nodes: 2\nracks: 1\njobs: [{maps: 20, map_time: 1}]\npolicies: [capacity]\nadmission: {policy: capacity-init, params: {max-tasks-per-user: \"*=10\"}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	root := newRoot()
	root.SetOut(&out)
	root.SetArgs([]string{"sim", "run", "--file", file, "--json", "--out", filepath.Join(t.TempDir(), "out")})
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"mean_completion_s":null`, `"rejected":1`, `"queue_fairness":null`, `"wait_s":{"mean":null`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in %s", want, &out)
		}
	}
}
