package cli

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/trace"
)

// TestScenarioErrors: what is wrong with a scenario file is said with its line, its key and what to write.
func TestScenarioErrors(t *testing.T) {
	for _, c := range [][2]string{
		{"racks: 2\nnodes: -3", `s.yaml:2: nodes is -3: give 1 to 100000`},
		{"nodes: 1000000000", `s.yaml:1: nodes is 1000000000: give 1 to 100000`},
		{"nodes: 3", `s.yaml:1: nodes do not fit: 3 nodes in 8 racks; racks must be of equal size and not empty`},
		{"nodes: 4\nracks: 8", `s.yaml:2: racks do not fit: 4 nodes in 8 racks; racks must be of equal size and not empty`},
		{"containers: 3000000000", `s.yaml:1: containers is 3000000000: give 1 to 10000 of a node`},
		{"nodes: 100000\nracks: 1\ncontainers: 10000", `s.yaml:3: containers are too many: 100000 nodes have room for 1000000000 tasks; there may be 10000000`},
		{"uplink: 1e-30", `s.yaml:1: uplink is 1e-30: give Gb/s from 1e-06 to 1e+06, or 0 for none`},
		{"uplink: .nan", `s.yaml:1: uplink is .nan: write a number, such as 0.7`},
		{"uplink: nan", `s.yaml:1: uplink is "nan": write a number, such as 0.7`},
		{"nic: 1", `s.yaml:1: nic is 1: it needs an uplink, the Gb/s of a rack's link`},
		{"load: .nan", `s.yaml:1: load is .nan: write a number, such as 0.7`},
		{"load: 1e-9", `s.yaml:1: load is 1e-09: give a share of the containers, such as 0.7, from 0.001 to 100`},
		{"scale: .inf", `s.yaml:1: scale is .inf: write a number, such as 0.7`},
		{"scale: 0", `s.yaml:1: scale is 0: give a factor above 0, at most 1000000`},
		{"heartbeat: 10ns", `s.yaml:1: heartbeat is 10ns: give 0, or 1ms at least`},
		{"heartbeat: -1s", `s.yaml:1: heartbeat is -1s: give 0, or 1ms at least`},
		{"heartbeat: 1", `s.yaml:1: heartbeat is 1: write a time with its unit, such as 500ms, 3s or 2h`},
		{"seeds: 0", `s.yaml:1: seeds is 0: give 1 to 1000`},
		{"seed: -1", `s.yaml:1: seed is -1: write a whole number, such as 40`},
		{"jobs: []", `s.yaml:1: jobs is empty: give one at least, or leave the key out`},
		{"policies: []", `s.yaml:1: policies is empty: give one at least, or leave the key out`},
		{"\nworkload: swimm", `s.yaml:2: workload is "swimm": write swim or fine, with settings behind it if you like: swim,machines=40`},
		{"workload: fine,x=1", `s.yaml:1: workload is "fine,x=1": unknown setting "x" (known: machines, containers, block, reduce-bytes, min-input, min-shuffle, min-output)`},
		{"\nrates: quick", `s.yaml:2: rates is "quick": write copy, middle or slow, or the bytes a second of maps and reduces, as 1500KB:8MB`},
		{"nodez: 7", `s.yaml:1: unknown key "nodez": did you mean nodes? (millrace sim explain lists the keys)`},
		{"jobs:\n- {mapz: 1}", `s.yaml:2: unknown key "jobs[0].mapz": did you mean maps? (millrace sim explain lists the keys)`},
		{"nodes: many", `s.yaml:1: nodes is "many": write a whole number, such as 40`},
		{"nodes: 1.5", `s.yaml:1: nodes is 1.5: write a whole number, such as 40`},
		{"nodes: 99999999999999999999", `s.yaml:1: nodes is "99999999999999999999": write a whole number, such as 40`},
		{"nodes:", `s.yaml:1: nodes is nothing: write a whole number, such as 40`},
		{"nodes: [1]", `s.yaml:1: nodes is a list: write a whole number, such as 40`},
		{"jobs: 3", `s.yaml:1: jobs is 3: write a list, as jobs: [...] or a line with - for each`},
		{"jobs:\n- maps: 1\n  map_time: x", `s.yaml:3: jobs[0].map_time is "x": write a number, such as 0.7`},
		{"jobs:\n- maps: 3000000000\n  map_time: 1", `s.yaml:2: jobs[0].maps is 3000000000: write a whole number, such as 40`},
		{"policies:\n- 7", `s.yaml:2: policies[0] is 7: write keys below it, such as - {name: ...}`},
		{"policies: fair", `s.yaml:1: policies is "fair": write a list, as policies: [...] or a line with - for each`},
		{"policies:\n- fair\n- fare", `s.yaml:3: policies: `},
		{"switches: [fair]", `s.yaml:1: switches[0] is "fair": write keys below it, such as - {at: ...}`},
		{"policies:\n- policy: fair\n  params: 7", `s.yaml:3: policies[0].params is 7: write {NAME: VALUE, ...}`},
		{"policies:\n- policy: fair\n  params: {a: [1]}", `s.yaml:3: policies[0].params.a is a list: write a text`},
		{"nodes: 1\n---\nnodes: 2", `s.yaml:3: the file has two documents: write one, without ---`},
		{"nodes: 40\nnodes: 3", `s.yaml:2: mapping key "nodes" already defined at [1:1]`},
		{"just text", `s.yaml:1: the file has no keys: write nodes: 40 and so on (millrace sim explain lists them)`},
		{"jobs: *x", `s.yaml:1: jobs: there is no &x above`},
		{"jobs: &x\n- *x", `s.yaml:2: an alias (*x) stands in the value of &x: write the value out`},
		{"trace: gen:fb-2010:0", `s.yaml:1: trace is "gen:fb-2010:0": write gen:MODEL:JOBS with a model of `},
		{"trace: gen:a:1\njobs: [{maps: 1, map_time: 1}]", `s.yaml:2: jobs and trace are both in the file; give one of them`},
		{"policies:\n- policy: fair\n- policy: fair", `s.yaml:3: policies: "fair" is there twice; give one a name`},
		{"policies: [{policy: fair, params: {x: 1..2e9 by 1}}]", `s.yaml:1: policies: x of fair: "1..2e9 by 1" has 2000000000 values, at most 500; take larger steps`},
	} {
		text, want := c[0], c[1]
		o := defaultSim()
		o.file = "s.yaml"
		err := o.parse([]byte(text), func(string) bool { return false })
		if err == nil {
			_, err = o.check()
		}
		if err == nil {
			_, err = o.readSource()
		}
		if err == nil || err.Error() != want && !(strings.HasSuffix(want, " ") && strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q:\n     %v\nwant %s", text, err, want)
		}
	}
}

// TestNamesDiffer: no run passes for a repetition of another: a script that is called like a policy keeps the name of its file, one that is called
// like another script its path, and the same policy twice is refused.
func TestNamesDiffer(t *testing.T) {
	dir := t.TempDir()
	file := func(parts ...string) string {
		name := filepath.Join(append([]string{dir}, parts...)...)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("def key(job, node, now):\n    return job.pending_maps\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	fair, mine, other := file("fair.star"), file("a", "mine.star"), file("b", "mine.star")
	out := filepath.Join(dir, "out")
	if code := run([]string{"sim", "run", "--trace", "gen:fb-2010:20", "--scale", "0.01", "--nodes", "8", "--policy", strings.Join([]string{fair, "fair", mine, other}, ","), "--out", out}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if rows := readRows(t, filepath.Join(out, "report.csv")); !slices.Equal(rows[0], []string{"", "fair.star", "fair", "mine", other}) {
		t.Errorf("the report has the policies %q", rows[0])
	}
	o := defaultSim()
	o.policies = []string{"fair", "fifo", "fair"}
	if _, err := o.check(); err == nil || !strings.Contains(err.Error(), `--policy: "fair" is there twice`) {
		t.Error(err)
	}
	past := &whatIf{file: writeHistory(t, trace.Origin{Policy: "fair", Periods: []trace.Period{{Policy: "fair"}}}), policies: []string{"fair", fair}} // the history says nothing of parameters
	if err := past.read(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, a := range past.arms {
		names = append(names, a.name)
	}
	if got := strings.Join(names, ", "); got != "fair, fair (2), fair.star" {
		t.Errorf("whatif tries %s", got)
	}
}

// TestFlagsAreBlamed: where the flag is wrong and not the file, the flag is named.
func TestFlagsAreBlamed(t *testing.T) {
	o := defaultSim()
	o.file, o.nodes = "s.yaml", -1
	if err := o.parse([]byte("nodes: 40"), func(flag string) bool { return flag == "nodes" }); err != nil {
		t.Fatal(err)
	}
	if _, err := o.check(); err == nil || err.Error() != "--nodes is -1: give 1 to 100000" {
		t.Error(err)
	}
}

// TestScenarioAliases: a value may stand for several keys.
func TestScenarioAliases(t *testing.T) {
	o := defaultSim()
	if err := o.parse([]byte("load: &a 0.5\nscale: *a\nuplink: 1e1"), func(string) bool { return false }); err != nil || o.load != 0.5 || o.scale != 0.5 || o.network.uplink != 10 {
		t.Errorf("load %v, scale %v, uplink %v: %v", o.load, o.scale, o.network.uplink, err)
	}
}

// TestPoliciesByName: a policy of which only the name is written has its defaults, among others that have more.
func TestPoliciesByName(t *testing.T) {
	o := defaultSim()
	if err := o.parse([]byte("policies: [fifo, {policy: fair, admission: unlimited}, {name: second, policy: fifo}]\nadmission: marp"), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range o.arms {
		got = append(got, a.name+" "+a.policy+" "+a.admission)
	}
	if want := []string{"fifo fifo marp", "fair fair unlimited", "second fifo marp"}; !slices.Equal(got, want) {
		t.Errorf("compared are %q, want %q", got, want)
	}
}

// TestReportRows: the files beside a report have a row for each job of each run, and for each attempt of the first seed.
func TestReportRows(t *testing.T) {
	dir := t.TempDir()
	if code := run([]string{"sim", "run", "--trace", "gen:fb-2010:30", "--scale", "0.01", "--policy", "fair,fifo", "--seeds", "3", "--out", dir}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	report := readRows(t, filepath.Join(dir, "report.csv"))
	if len(report) < 20 || !slices.Equal(report[0], []string{"", "fair", "fifo"}) || report[1][0] != "mean completion, s" {
		t.Errorf("report.csv has %d rows, the first %v", len(report), report[0])
	}
	jobs := readRows(t, filepath.Join(dir, "jobs.csv"))
	if len(jobs) != 1+2*3*30 || !slices.Equal(jobs[0], jobsHead) {
		t.Errorf("jobs.csv has %d rows, head %v", len(jobs), jobs[0])
	}
	launched := 0
	for _, j := range jobs[1:] {
		row := asMap(jobs[0], j)
		if row["seed"] == "1" {
			launched += wholeNumber(t, row["attempts"])
		}
		if s, err := strconv.ParseFloat(row["slowdown"], 64); err != nil || s <= 0 || row["rejected"] != "false" || row["end_s"] == "" {
			t.Errorf("job %v", row)
		}
	}
	attempts := readRows(t, filepath.Join(dir, "attempts.csv"))
	if len(attempts) != 1+launched || !slices.Equal(attempts[0], attemptsHead) {
		t.Errorf("attempts.csv has %d rows for %d attempts, head %v", len(attempts)-1, launched, attempts[0])
	}
	for _, a := range attempts[1:] {
		row := asMap(attempts[0], a)
		if row["seed"] != "1" || row["node"] == "" || row["rack"] == "" || (row["locality"] == "") != (row["kind"] == "reduce") || row["ended"] == "done" && row["start_s"] >= row["end_s"] && len(row["start_s"]) == len(row["end_s"]) {
			t.Errorf("attempt %v", row)
		}
	}
}

func readRows(t *testing.T, name string) [][]string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func asMap(head, row []string) map[string]string {
	m := map[string]string{}
	for i, name := range head {
		m[name] = row[i]
	}
	return m
}

func wholeNumber(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
