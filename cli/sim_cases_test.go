package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/stats"
)

// TestSweepOfLoad: each value is a scenario, and under fifo the slowdown grows with the load.
func TestSweepOfLoad(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.yaml")
	text := "nodes: 8\nracks: 2\ncontainers: 2\ntrace: gen:fb-2010:60\nscale: 0.05\nload: 0.2..1.4 by 0.4\nheartbeat: 1s..2s by 1s\npolicies: [{policy: fifo}, {policy: fair}]\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"sim", "run", "--file", file, "--out", filepath.Join(dir, "out")}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	rows := readRows(t, filepath.Join(dir, "out", "report.csv"))
	if want := 1 + 4*2*2; len(rows) != want || !slices.Equal(rows[0][:4], []string{"load", "heartbeat", "policy", "mean completion, s"}) {
		t.Fatalf("%d rows, want %d; head %v", len(rows), want, rows[0])
	}
	last, loads := 0.0, ""
	for _, r := range rows[1:] {
		row := asMap(rows[0], r)
		if row["policy"] != "fifo" || row["heartbeat"] != "1s" {
			continue
		}
		slowdown, err := strconv.ParseFloat(row["mean slowdown"], 64)
		if err != nil || slowdown <= last {
			t.Errorf("at load %s the slowdown is %s, below it was %v", row["load"], row["mean slowdown"], last)
		}
		last, loads = slowdown, loads+" "+row["load"]
	}
	if loads != " 0.2 0.6 1 1.4" {
		t.Errorf("loads%s", loads)
	}
	jobs := readRows(t, filepath.Join(dir, "out", "jobs.csv"))
	if len(jobs) != 1+4*2*2*60 || jobs[0][0] != "load" || jobs[0][1] != "heartbeat" || jobs[1][0] != "0.2" || jobs[1][1] != "1s" {
		t.Errorf("jobs.csv has %d rows: %v, %v", len(jobs), jobs[0], jobs[1])
	}
	page, err := os.ReadFile(filepath.Join(dir, "out", "report.html"))
	for _, part := range []string{"All values of load and heartbeat", "load=0.2 heartbeat=1s", "load=1.4 heartbeat=2s", "Mean completion, s against load"} {
		if err != nil || !strings.Contains(string(page), part) {
			t.Errorf("the page lacks %q, %v", part, err)
		}
	}
	if strings.Contains(string(page), "Verdicts") {
		t.Error("the page of a simulation, which nobody judges, begins with verdicts")
	}
	for _, figure := range []string{"comparison-sweep-completion.csv", "comparison-sweep-makespan.svg", "load-0.6-heartbeat-2s-mean.csv"} {
		if _, err := os.Stat(filepath.Join(dir, "out", "figures", figure)); err != nil {
			t.Error(err)
		}
	}
}

// TestSweepHasIntervals: with repetitions the points of a sweep's charts have 95 % intervals, and so have the cells of its table.
func TestSweepHasIntervals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "s.yaml")
	text := "nodes: 8\nracks: 2\ncontainers: 2\ntrace: gen:fb-2010:40\nscale: 0.05\nload: 0.4..1.2 by 0.4\nseeds: 4\npolicies: [{policy: fifo}, {policy: fair}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	if code := run([]string{"sim", "run", "--file", file, "--out", out}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	cells := map[string]string{}
	for _, row := range readRows(t, filepath.Join(out, "report.csv"))[1:] {
		cells[row[1]+" at "+row[0]] = row[2]
	}
	rows := readRows(t, filepath.Join(out, "figures", "comparison-sweep-completion.csv"))
	if want := []string{"series", "load", "mean completion, s", "low", "high"}; len(rows) != 7 || !slices.Equal(rows[0], want) {
		t.Fatalf("the chart has %v", rows)
	}
	for _, row := range rows[1:] {
		var v [3]float64
		for i := range v {
			v[i], _ = strconv.ParseFloat(row[2+i], 64)
		}
		want := fmt.Sprintf("%s (%s to %s)", stats.Text(v[0]), stats.Text(v[1]), stats.Text(v[2]))
		if got := cells[row[0]+" at "+row[1]]; !(v[1] < v[0] && v[0] < v[2]) || got != want {
			t.Errorf("the chart has %v, the table %s", row, got)
		}
	}
	picture, err := os.ReadFile(filepath.Join(out, "figures", "comparison-sweep-completion.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if n := strings.Count(string(picture), fmt.Sprintf(`class="whisker s%d"`, i)); n < 3 {
			t.Errorf("curve %d has %d whiskers", i, n)
		}
	}
	if page, err := os.ReadFile(filepath.Join(out, "report.html")); err != nil || !strings.Contains(string(page), "Means over repetitions with 95 % intervals.") {
		t.Errorf("the page does not say what the whiskers are, %v", err)
	}
}

// TestBadSweeps: what would run for ever, or make no cluster, is refused with its line and what to do.
func TestBadSweeps(t *testing.T) {
	for _, c := range [][2]string{
		{"nodes: 1..1000000000 by 1", `s.yaml:1: nodes: "1..1000000000 by 1" has 1000000000 values, at most 500; take larger steps`},
		{"racks: 1\nnodes: 10..13 by 1.5", `s.yaml:2: nodes is 11.5: write a whole number, such as 40`},
		{"load: 0.1..0.5", `s.yaml:1: load: "0.1..0.5" is no range: write LOW..HIGH by STEP, such as 0.1..0.5 by 0.1`},
		{"heartbeat: 1..3 by 1", `s.yaml:1: heartbeat: "1..3 by 1" is no range: write LOW..HIGH by STEP, such as 1s..5s by 1s`},
		{"load: 0.1..0.9 by 0.01\nscale: 1..9 by 1", `s.yaml:2: scale: the ranges make 729 scenarios, at most 500; take larger steps`},
		{"load: 0.1..30 by 0.1\npolicies: [{policy: fifo}, {policy: fair}]", `s.yaml:1: load: 300 scenarios with 2 policies each are 600 runs, at most 500; take larger steps`},
		{"seeds: 1..3 by 1", `s.yaml:1: seeds is "1..3 by 1": write a whole number, such as 40`},
		{"racks: 1\nnodes: 0..2 by 1", `s.yaml:2: nodes is 0: give 1 to 100000`},
	} {
		text, want := c[0], c[1]
		o := defaultSim()
		o.file = "s.yaml"
		cases, err := o.cases([]byte(text), func(string) bool { return false })
		for _, c := range cases {
			if err == nil {
				_, err = c.check()
			}
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q:\n     %v\nwant %s", text, err, want)
		}
	}
	o := defaultSim()
	o.file = "s.yaml"
	if err := o.parse([]byte("load: 0.1..0.5 by 0.1"), func(string) bool { return false }); err == nil || err.Error() != "s.yaml:1: load is a range: the player shows one scenario; give one value (millrace sim run compares ranges)" {
		t.Error(err)
	}
	if cases, err := o.cases([]byte("load: 0.1..0.5 by 0.1\nscale: 1..2 by 1"), func(flag string) bool { return flag == "load" }); err != nil || len(cases) != 2 || cases[1].scale != 2 || cases[0].load != 0 {
		t.Errorf("with --load %d scenarios, %v", len(cases), err)
	}
}
