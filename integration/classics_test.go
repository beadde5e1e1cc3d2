package integration

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gen makes data for an example by the command that its page names, and returns its lines.
func (e *example) gen(kind, file string, flags ...string) (lines []string) {
	e.t.Helper()
	cmd := exec.Command(millrace, append([]string{"gen", kind, file, "--size", "20kB", "--seed", "3", "--progress", "none"}, flags...)...)
	cmd.Dir = e.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		e.t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(e.dir, file))
	if err != nil {
		e.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// pairs are the lines of an output by what stands before the tab.
func pairs(t *testing.T, text string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if _, twice := out[key]; !ok || twice {
			t.Fatalf("line %q", line)
		}
		out[key] = value
	}
	return out
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d keys, want %d", len(got), len(want))
	}
	for k, w := range want {
		if got[k] != w {
			t.Fatalf("%s: %q, want %q", k, got[k], w)
		}
	}
}

func TestInvertedIndexExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "invertedindex")
	for name, text := range map[string]string{"in/a": "fox dog fox\n", "in/b": "dog\nfox dog\n", "in/c": "end\n"} {
		if err := os.MkdirAll(filepath.Join(e.dir, "in"), 0o755); err != nil {
			t.Fatal(err)
		}
		e.write(name, []byte(text))
	}
	same(t, pairs(t, e.output("-input", "in")), map[string]string{"fox": "a b", "dog": "a b", "end": "c"})
}

func TestNGramsExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "ngrams")
	e.write("in", []byte("a rose is a rose is a rose\nis\n"))
	same(t, pairs(t, e.output("-input", "in", "-n", "3")), map[string]string{"a rose is": "2", "rose is a": "2", "is a rose": "2"})
	if _, errs, code := e.run("-input", "in", "-output", "o", "-n", "0"); code != 1 || !strings.Contains(errs, "-n is 0, must be at least 1") {
		t.Errorf("code %d: %s", code, errs)
	}
}

func TestTFIDFExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "tfidf")
	for name, text := range map[string]string{"a": "fox fox the\n", "b": "the dog\n"} {
		e.write(name, []byte(text))
	}
	got := pairs(t, e.output("-input", "a,b", "-documents", "2"))
	for key, want := range map[string]float64{"fox a": 2 * math.Log(2), "the a": 0, "the b": 0, "dog b": math.Log(2)} {
		if v, err := strconv.ParseFloat(got[key], 64); err != nil || math.Abs(v-want) > 1e-9 {
			t.Errorf("%s: %s, want %g", key, got[key], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%v", got)
	}
}

func TestVisitsExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "visits")
	n, ms, want := map[string]int{}, map[string]int{}, map[string]string{}
	for _, line := range e.gen("visits", "log") {
		f := strings.Fields(line)
		took, _ := strconv.Atoi(f[3])
		n[f[2]]++
		ms[f[2]] += took
		want[f[2]] = fmt.Sprintf("%d visits, %d ms", n[f[2]], ms[f[2]]/n[f[2]])
	}
	same(t, pairs(t, e.output("-input", "log", "-reducers", "3")), want)
}

func TestSecondarySortExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "secondarysort")
	lines := e.gen("visits", "log", "--pages", "20")
	slices.SortStableFunc(lines, func(a, b string) int { return at(a) - at(b) })
	want := map[string][]string{}
	for _, line := range lines {
		f := strings.Fields(line)
		want[f[1]] = append(want[f[1]], fmt.Sprintf("%d %s", at(line), f[2]))
	}
	got := pairs(t, e.output("-input", "log", "-reducers", "3"))
	if len(got) != len(want) {
		t.Errorf("%d users, want %d", len(got), len(want))
	}
	for user, visits := range want {
		// Each visit has its own second; those of one second may come in any order.
		way := strings.Split(got[user], " > ")
		if !slices.IsSortedFunc(way, func(a, b string) int { return at(a) - at(b) }) {
			t.Errorf("%s: %s is not in the order of time", user, got[user])
		}
		if slices.Sort(way); !slices.Equal(way, slices.Sorted(slices.Values(visits))) {
			t.Errorf("%s: %s, want %v", user, got[user], visits)
		}
	}
}

// at is the second of a visit.
func at(line string) int {
	n, _ := strconv.Atoi(strings.Fields(line)[0])
	return n
}

func TestJoinExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "join")
	lines := e.gen("visits", "log", "--pages", "30")
	e.write("pages", []byte("/page/0\thome\n/page/1\tnews\n/page/1\told news\n/page/999\tnobody\n"))
	var want []string
	for _, line := range lines {
		f := strings.Fields(line)
		for _, about := range map[string][]string{"/page/0": {"home"}, "/page/1": {"news", "old news"}}[f[2]] {
			want = append(want, f[2]+"\t"+f[1]+"\t"+about)
		}
	}
	got := strings.Split(strings.TrimSpace(e.output("-input", "visits=log", "-input", "pages=pages", "-reducers", "2")), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(want) < 100 {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
}

func TestMatrixExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "matrix")
	const side = 12
	var a, b [side][side]int
	for _, line := range e.gen("matrix", "ab", "--side", strconv.Itoa(side)) {
		var name string
		var row, column, value int
		if _, err := fmt.Sscan(line, &name, &row, &column, &value); err != nil {
			t.Fatal(err)
		}
		if name == "A" {
			a[row][column] += value
		} else {
			b[row][column] += value
		}
	}
	want := map[string]string{}
	for i := range side {
		for j := range side {
			sum := 0
			for k := range side {
				sum += a[i][k] * b[k][j]
			}
			want[fmt.Sprintf("%d %d", i, j)] = strconv.Itoa(sum)
		}
	}
	same(t, pairs(t, e.output("-input", "ab")), want)
}

// graphOf is the links of each page, of those that link nowhere none.
func graphOf(lines []string) map[string][]string {
	g := map[string][]string{}
	for _, line := range lines {
		f := strings.Fields(line)
		g[f[0]] = append(g[f[0]], f[1])
		g[f[1]] = append(g[f[1]], []string{}...)
	}
	return g
}

func TestBFSExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "bfs")
	g := graphOf(e.gen("graph", "links", "--nodes", "1500"))
	distance := map[string]int{"n0": 0}
	for line := []string{"n0"}; len(line) > 0; line = line[1:] {
		for _, to := range g[line[0]] {
			if _, seen := distance[to]; !seen {
				distance[to] = distance[line[0]] + 1
				line = append(line, to)
			}
		}
	}
	got := pairs(t, e.output("-input", "links", "-from", "n0", "-progress", "none"))
	if len(got) != len(g) || len(distance) < 50 || len(distance) == len(g) {
		t.Fatalf("%d pages, want %d, %d of them reached", len(got), len(g), len(distance))
	}
	for page := range g {
		want := "-"
		if d, ok := distance[page]; ok {
			want = strconv.Itoa(d)
		}
		if d, _, _ := strings.Cut(got[page], " "); d != want {
			t.Errorf("%s is %s away, want %s", page, d, want)
		}
	}
}

// ranksOf computes ranks until none changes by the example's 1e-4, in rounds over all pages.
func ranksOf(g map[string][]string) map[string]float64 {
	rank := map[string]float64{}
	for page := range g {
		rank[page] = 1
	}
	for changed := true; changed; {
		next := map[string]float64{}
		for page, to := range g {
			for _, other := range to {
				next[other] += rank[page] / float64(len(to))
			}
		}
		changed = false
		for page := range g {
			r := 0.15 + 0.85*next[page]
			changed = changed || math.Abs(r-rank[page]) >= 1e-4
			rank[page] = r
		}
	}
	return rank
}

func checkRanks(t *testing.T, text string, g map[string][]string) {
	t.Helper()
	got := pairs(t, text)
	if len(got) != len(g) {
		t.Fatalf("%d pages, want %d", len(got), len(g))
	}
	for page, want := range ranksOf(g) {
		text, _, _ := strings.Cut(got[page], " ")
		if r, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(r-want) > 1e-3 {
			t.Errorf("%s has rank %s, want %g", page, text, want)
		}
	}
}

func TestPageRankExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "pagerank")
	g := graphOf(e.gen("graph", "links", "--nodes", "300"))
	checkRanks(t, e.output("-input", "links", "-reducers", "2", "-progress", "none"), g)
	if left, _ := filepath.Glob(filepath.Join(e.dir, "out.rounds*")); len(left) > 0 {
		t.Errorf("rounds are left: %v", left)
	}
}

// checkCentres wants the five centres that the points were made around.
func checkCentres(t *testing.T, text string) {
	t.Helper()
	for i, want := range [][2]float64{{1000, 0}, {500, 866}, {-707, 707}, {-866, -500}, {259, -966}} {
		var n int
		var x, y float64
		_, err := fmt.Sscan(pairs(t, text)[strconv.Itoa(i)], &x, &y)
		if n = i; err != nil || math.Hypot(x-want[0], y-want[1]) > 30 {
			t.Errorf("centre %d at %g, %g, want it near %v (%v)", n, x, y, want, err)
		}
	}
}

func TestKMeansExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "kmeans")
	e.gen("points", "points")
	checkCentres(t, e.output("-input", "points", "-progress", "none"))
}

// What a loop does with its command line and its output.
func TestLoops(t *testing.T) {
	t.Parallel()
	e := newExample(t, "pagerank")
	e.gen("graph", "links", "--nodes", "100")
	e.write("mine", []byte("not a job's"))
	if err := os.Mkdir(filepath.Join(e.dir, "thesis.rounds"), 0o755); err != nil {
		t.Fatal(err)
	}
	e.write("thesis.rounds/thesis", []byte("years of work"))
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"detached":         {[]string{"-input", "links", "-output", "o", "-master", "127.0.0.1:1", "-detach"}, 1, "a loop needs this program until its end"},
		"no rounds":        {[]string{"-input", "links", "-output", "o", "-rounds", "0"}, 2, "-rounds is 0, must be at least 1"},
		"too little":       {[]string{"-input", "links", "-output", "o", "-memory", "5"}, 2, "-memory is 5 bytes"},
		"no input":         {[]string{"-output", "o"}, 2, "no input: give -input"},
		"no such input":    {[]string{"-input", "gone", "-output", "o"}, 1, "gone"},
		"rounds are mine":  {[]string{"-input", "links", "-output", "thesis"}, 1, "exists and is no loop's: move it away"},
		"output is a file": {[]string{"-input", "links", "-output", "mine", "-overwrite"}, 1, "is not the output of a job"},
	} {
		if _, errs, code := e.run(append(c.args, "-progress", "none")...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("%s: code %d, %s", name, code, errs)
		}
	}
	if b, err := os.ReadFile(filepath.Join(e.dir, "thesis.rounds", "thesis")); err != nil || string(b) != "years of work" {
		t.Fatalf("%q, %v", b, err)
	}
	if _, errs, code := e.run("-input", "links", "-output", "few", "-rounds", "1", "-progress", "none"); code != 0 || !strings.Contains(errs, "stopped after 1 round, as -rounds says: it would go on") {
		t.Errorf("code %d: %s", code, errs)
	}
	if err := os.Remove(filepath.Join(e.dir, "thesis.rounds", "thesis")); err != nil {
		t.Fatal(err)
	}
	e.write("thesis.rounds/_LOOP", nil) // a loop was killed
	e.write("three", []byte("a b\nb c\nc a\n"))
	if _, errs, code := e.run("-input", "three", "-output", "thesis", "-progress", "none", "-explain", "page.html"); code != 0 {
		t.Errorf("code %d: %s", code, errs)
	}
	for _, page := range []string{"page-0.html", "page-1.html"} {
		if _, err := os.Stat(filepath.Join(e.dir, page)); err != nil {
			t.Error(err)
		}
	}
	out, errs, code := e.run("-input", "links", "-output", "ranks", "-rounds", "2", "-json")
	var report struct {
		State, Output string
		Rounds        int
		Unfinished    bool
	}
	if err := json.Unmarshal([]byte(out), &report); code != 0 || err != nil || report.State != "SUCCEEDED" || report.Rounds != 2 || !report.Unfinished || filepath.Base(report.Output) != "ranks" {
		t.Fatalf("code %d: %s %s", code, out, errs)
	}
	if _, errs, code := e.run("-input", "links", "-output", "ranks", "-progress", "none"); code != 1 || !strings.Contains(errs, "output exists") {
		t.Errorf("the output was taken again: code %d, %s", code, errs)
	}
	if _, errs, code := e.run("-input", "links", "-output", "ranks", "-overwrite"); code != 0 || !strings.Contains(errs, ", the last\n") {
		t.Errorf("code %d, %s", code, errs)
	}
	if left, _ := filepath.Glob(filepath.Join(e.dir, "*.rounds")); len(left) > 0 {
		t.Errorf("rounds are left: %v", left)
	}
}

// Loops run on a cluster: the program ships itself, and its tasks know their round.
func TestLoopsLive(t *testing.T) {
	t.Parallel()
	e := newExample(t, "pagerank")
	g := graphOf(e.gen("graph", "links", "--nodes", "100"))
	e.gen("points", "points")
	call := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(millrace, args...)
		cmd.Dir = e.dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	call("cluster", "up", "--workers", "2", "--dir", "cluster", "--timeout", "2m")
	defer call("cluster", "down", "--dir", "cluster")
	c := clusterAt(t, filepath.Join(e.dir, "cluster"))
	call("dfs", "--master", c.Master, "put", "links", "points", "/in/")
	if _, errs, code := e.run("-master", c.Master, "-input", "dfs:/in/links", "-output", "dfs:/ranks", "-rounds", "60", "-progress", "none"); code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	checkRanks(t, call("dfs", "--master", c.Master, "cat", "/ranks/part-*"), g)
	e.path = program(t, "kmeans")
	if _, errs, code := e.run("-master", c.Master, "-input", "dfs:/in/points", "-output", "dfs:/centres", "-progress", "none"); code != 0 {
		t.Fatalf("code %d: %s", code, errs)
	}
	checkCentres(t, call("dfs", "--master", c.Master, "cat", "/centres/part-*"))
	if out := call("dfs", "--master", c.Master, "ls", "/"); strings.Contains(out, ".rounds") {
		t.Errorf("rounds are left:\n%s", out)
	}
}
