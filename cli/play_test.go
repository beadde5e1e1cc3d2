package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/play"
	"github.com/millrace/millrace/sim"
	"github.com/millrace/millrace/trace"
)

// playScenario runs what the playground asks for.
func playScenario(ctx context.Context, scenario []byte) ([]*play.Recording, error) {
	_, tapes, err := (&playing{name: "the set-up"}).record(ctx, scenario)
	return tapes, err
}

// TestLectures runs every lecture as the playground does, and wants the effect that its text promises.
func TestLectures(t *testing.T) {
	promises := map[string]func(a, b *play.Recording) bool{
		"convoy":     func(fifo, fair *play.Recording) bool { return fair.Report["completion"] < fifo.Report["completion"]/2 },
		"locality":   func(fair, delay *play.Recording) bool { return delay.Report["local"] > fair.Report["local"]+10 },
		"deadlines":  func(least, most *play.Recording) bool { return most.Report["makespan"] < least.Report["makespan"]/2 },
		"two-queues": func(fifo, fbq *play.Recording) bool { return fbq.Report["slowdown"] < fifo.Report["slowdown"]/2 },
		"admission":  func(few, many *play.Recording) bool { return few.Report["makespan"] < many.Report["makespan"]/2 },
		"your-own": func(fair, mine *play.Recording) bool {
			return mine.Report["completion"] < 0.8*fair.Report["completion"]
		},
		"capacity": func(all, quarter *play.Recording) bool { return tookOf(quarter, "bob's") < tookOf(all, "bob's")/2 },
		"circuits": func(fair, packer *play.Recording) bool {
			return packer.Report["makespan"] < 0.6*fair.Report["makespan"] && packer.Report["completion"] < 0.5*fair.Report["completion"]
		},
		"two-kinds": func(fair, hybrid *play.Recording) bool {
			return hybrid.Report["completion"] < 0.8*fair.Report["completion"] && hybrid.Report["slowdown"] < 0.7*fair.Report["slowdown"] && hybrid.Report["makespan"] > fair.Report["makespan"]
		},
		"narrow-link": func(fair, nas *play.Recording) bool { return congested(nas) < 0.7*congested(fair) },
	}
	for _, l := range play.Lectures() {
		t.Run(l.Name, func(t *testing.T) {
			got, err := playScenario(t.Context(), l.Scenario)
			if err != nil || len(got) != 2 {
				t.Fatalf("%d recordings, %v", len(got), err)
			}
			holds := promises[l.Name]
			if holds == nil || !holds(got[0], got[1]) {
				t.Errorf("the lecture's promise does not hold, or has no test: %v (%s) and %v (%s)", got[0].Report, got[0].Name, got[1].Report, got[1].Name)
			}
			for _, r := range got {
				checkRecording(t, r)
				checkFigures(t, l.Text, r)
			}
			delete(promises, l.Name)
		})
	}
	for name := range promises {
		t.Errorf("lecture %s is gone", name)
	}
}

// tookOf is how long a job was there, in milliseconds.
func tookOf(r *play.Recording, name string) int64 {
	for _, j := range r.Jobs {
		if j.Name == name {
			return j.End - j.Submit
		}
	}
	return 0
}

// checkFigures wants each place in a lecture's text to be one that the page can fill, of a job that is there.
func checkFigures(t *testing.T, text string, r *play.Recording) {
	t.Helper()
	places, err := regexp.Compile(`\{[^}]*\}`)
	if err != nil {
		t.Fatal(err)
	}
	found := places.FindAllString(text, -1)
	if len(found) == 0 {
		t.Error("the text has no figure")
	}
	for _, p := range found {
		word, key, _ := strings.Cut(strings.Trim(p, "{}"), " ")
		what, name, _ := strings.Cut(key, " ")
		_, reported := r.Report[what]
		ofJob := (what == "took" || what == "spare") && tookOf(r, name) > 0
		if !slices.Contains([]string{"first", "second", "times", "less"}, word) || !reported && !ofJob && what != "away" && what != "congestion" {
			t.Errorf("the page cannot fill %s", p)
		}
	}
}

// congested sums the seconds in which racks were.
func congested(r *play.Recording) (total float64) {
	since := map[int32]int64{}
	var at int64
	for i := range r.Net.At {
		at += r.Net.At[i]
		from, was := since[r.Net.Rack[i]]
		switch is := r.Net.Congested[i] == 1; {
		case is && !was:
			since[r.Net.Rack[i]] = at
		case !is && was:
			total += float64(at-from) / 1000
			delete(since, r.Net.Rack[i])
		}
	}
	return total
}

// checkRecording wants a recording that a page can trust: no container holds two at once, and what it adds up to is what the
// report says.
func checkRecording(t *testing.T, r *play.Recording) {
	t.Helper()
	type place struct{ node, place int32 }
	free, at := map[place]int64{}, int64(0)
	a := r.Attempts
	for i := range a.Job {
		at += a.Start[i]
		p := place{a.Node[i], a.Place[i]}
		if at < free[p] || a.Place[i] >= r.Nodes[a.Node[i]].Places {
			t.Fatalf("%s: attempt %d starts at %d ms in place %v, which is taken until %d, or is none", r.Name, i, at, p, free[p])
		}
		free[p] = at + a.Took[i]
	}
	took, slow := 0.0, 0.0
	for _, j := range r.Jobs {
		if j.End < j.Submit || j.Admit < j.Submit || j.Alone < 1 || math.Abs(j.Took-float64(j.End-j.Submit)) > 1 {
			t.Fatalf("%s: job %+v", r.Name, j)
		}
		took += j.Took / 1000
		slow += j.Took / j.Alone
	}
	for what, sum := range map[string]float64{"completion": took, "slowdown": slow} {
		if mean, want := sum/float64(len(r.Jobs)), r.Report[what]; math.Abs(mean-want) > 1e-7*want {
			t.Errorf("%s: the recording has a mean %s of %v, the report of %v", r.Name, what, mean, want)
		}
	}
	for i, text := range r.Decisions.Text {
		if r.Texts[text] == "" {
			t.Fatalf("%s: decision %d has no reason", r.Name, i)
		}
	}
}

// TestRecordingHasTheReport: the means of a recording are those of the report, under any policy, also of jobs that take a millisecond or two, of which
// times in whole milliseconds say little.
func TestRecordingHasTheReport(t *testing.T) {
	tiny := `"jobs": [{"maps": 3, "map_time": 0.0017, "reduces": 1, "reduce_time": 0.0011}, {"at": 0.0004, "maps": 1, "map_time": 0.0013}, {"at": 0.0101, "maps": 40, "map_time": 0.00219}, {"at": 7, "maps": 90, "map_time": 3.3337}]`
	for _, work := range []string{tiny, `"trace": "gen:fb-2009:60", "scale": 0.02, "load": 1.5`, `"trace": "gen:fb-2010:60", "scale": 0.001, "load": 2`} {
		for _, pair := range []string{`{"policy": "fifo"}, {"policy": "fair"}`, `{"policy": "nas"}, {"policy": "fbq"}`, `{"policy": "srpt"}, {"policy": "fair", "admission": {"policy": "marp", "params": {"marp": "0.1"}}}`} {
			got, err := playScenario(t.Context(), []byte(`{"nodes": 8, "racks": 2, "containers": 3, "uplink": 1, "heartbeat": "70ms", `+work+`, "policies": [`+pair+`]}`))
			if err != nil || len(got) != 2 {
				t.Fatalf("%s under %s: %d recordings, %v", work, pair, len(got), err)
			}
			for _, r := range got {
				checkRecording(t, r)
			}
		}
	}
}

// TestRecordingChangesNothing: a run that is recorded goes as one that is not.
func TestRecordingChangesNothing(t *testing.T) {
	for _, policy := range []string{"fair", "nas", "capacity", "tags"} {
		o := defaultSim()
		o.nodes, o.racks, o.trace, o.scale, o.network.uplink, o.policies = 8, 2, "gen:fb-2010:40", 0.05, 1, []string{policy}
		topo, err := o.check()
		if err != nil {
			t.Fatal(err)
		}
		source, err := o.readSource()
		if err != nil {
			t.Fatal(err)
		}
		var got [2]string
		for i := range got {
			o.record = i == 1
			r, err := o.simulate(topo, o.arms[0], source, 1)
			if err != nil {
				t.Fatal(err)
			}
			got[i] = fmt.Sprintf("%+v %d %d", r.Metrics, r.res.Events, r.res.Launches)
		}
		if got[0] != got[1] {
			t.Errorf("%s: without a recording %s\nwith one %s", policy, got[0], got[1])
		}
	}
}

// TestPlaygroundRunAllocates: a run of the playground of the size that has a mark makes few values. How long it takes depends on the
// machine, and what it allocates hardly does: 1,840,000 values when rounds, reasons and lists of those who wait had their own, 117,000 without.
func TestPlaygroundRunAllocates(t *testing.T) {
	scenario := []byte(`{"trace": "gen:fb-2010:300", "nodes": 40, "policies": [{"policy": "fifo"}, {"policy": "fair"}]}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := new(playing).packed(t.Context(), scenario, false); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if values, bytes := after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc; values > 250_000 || bytes > 75<<20 {
		t.Errorf("%d values of %d bytes, want at most 250,000 of 75 MiB", values, bytes)
	}
}

// TestBadScenarios: what cannot be is refused with its line or its name, and files of this machine are none of the page's business.
func TestBadScenarios(t *testing.T) {
	for text, words := range map[string][]string{
		`{"nodes": 0, "policies": [{"policy": "fair"}]}`:                                                                             {"the set-up:1: nodes is 0: give 1 to 100000"},
		`{"nodes": 100000, "racks": 100, "policies": [{"policy": "fair"}]}`:                                                          {"nodes is 100000", "at most 2000"},
		`{"trace": "/etc/passwd", "policies": [{"policy": "fair"}]}`:                                                                 {"/etc/passwd", "generated workloads"},
		`{"trace": "gen:fb-2010:900000", "policies": [{"policy": "fair"}]}`:                                                          {"at most 5000 jobs"},
		`{"trace": "gen:fb-2010:5000", "scale": 1000, "policies": [{"policy": "fair"}]}`:                                             {"tasks", "smaller scale"},
		`{"policies": [{"policy": "none"}]}`:                                                                                         {"policies", "none"},
		`{"policies": [{"policy": "fair", "params": {"wrong": "1"}}]}`:                                                               {"wrong"},
		`{"policies": [{"policy": "fair", "admission": {"policy": "marp", "params": {"marp": "7"}}}]}`:                               {"admission", "marp"},
		`{"policies": [{"policy": "/etc/x.star"}]}`:                                                                                  {"/etc/x.star", "the text of a script"},
		`{"policies": [{"name": "mine", "policy": "script", "params": {"code": "def key(job, node, now):\n  return job.nothing"}}]}`: {"mine:2: in key", "no .nothing"},
		`{"policies": [{"policy": "script", "params": {"code": "def key("}}]}`:                                                       {"script:1"},
		`{"policies": [{"policy": "script", "params": {"limit": "7"}}]}`:                                                             {`no parameter "limit"`},
		`{"policies": [{"policy": "script"}]}`:                                                                                       {"give its text"},
		`{"nodez": 7}`:                                                                                                               {"nodez"},
		`{"load": -1, "policies": [{"policy": "fair"}]}`:                                                                             {"the set-up:1: load is -1"},
		"policies:\n- policy: fair\njobs:\n- maps: 0\n":                                                                              {"the set-up:4: jobs", "0 maps"},
		`{"jobs": [{"maps": 1, "map_time": 1e99}], "policies": [{"policy": "fair"}]}`:                                                {"map_time 1e+99"},
		`{"trace": "gen:fb-2010:1", "jobs": [{"maps": 1, "map_time": 1}], "policies": [{"policy": "fair"}]}`:                         {"the set-up:1: jobs and trace are both"},
		strings.Repeat(" ", 2<<20):                                                                                                   {"too many"},
		`{"nodes": 1000000000, "racks": 1, "policies": [{"policy": "fair"}]}`:                                                        {"nodes is 1000000000: the player shows at most 2000"},
		"\x00\xff": {"the set-up"},
	} {
		_, err := playScenario(t.Context(), []byte(text))
		if err == nil {
			t.Errorf("%.60q is taken", text)
			continue
		}
		if strings.Contains(err.Error(), "mine: mine") {
			t.Errorf("%.60q: %v: says the name twice", text, err)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%.60q: %v: does not say %q", text, err, w)
			}
		}
	}
}

// TestLongRunEnds: a run that nobody waits for any more ends.
func TestLongRunEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(os.ErrDeadlineExceeded)
	long, err := json.Marshal(map[string]any{"policies": []any{map[string]any{"policy": "fair"}}, "jobs": []sim.Listed{{Maps: 1, MapTime: 9e7}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := playScenario(ctx, long); err == nil || !strings.Contains(err.Error(), os.ErrDeadlineExceeded.Error()) {
		t.Errorf("the run went on: %v", err)
	}
}

// TestPlaygroundDoor: pages of others, under whatever name they reach this machine, get nothing.
func TestPlaygroundDoor(t *testing.T) {
	runner := func(sweep bool) play.Runner {
		return func(ctx context.Context, scenario []byte, tell func(play.Progress)) ([]byte, error) {
			return (&playing{tell: tell}).packed(ctx, scenario, sweep)
		}
	}
	page := play.NewPlayground(choices(), runner(false), runner(true))
	ask := func(method, target, host, origin, kind, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Host = host
		r.Header.Set("Origin", origin)
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		return w
	}
	scenario := string(play.Lectures()[0].Scenario)
	for what, x := range map[string]struct {
		got  *httptest.ResponseRecorder
		want int
	}{
		"the page":                 {ask("GET", "/", "127.0.0.1:8099", "", "", ""), http.StatusOK},
		"the choices":              {ask("GET", "/choices", "localhost:8099", "", "", ""), http.StatusOK},
		"a run":                    {ask("POST", "/run", "127.0.0.1:8099", "http://127.0.0.1:8099", "application/json", scenario), http.StatusOK},
		"another name":             {ask("GET", "/", "evil.example:8099", "", "", ""), http.StatusForbidden},
		"another page":             {ask("POST", "/run", "127.0.0.1:8099", "http://evil.example", "application/json", scenario), http.StatusForbidden},
		"a form of another page":   {ask("POST", "/run", "127.0.0.1:8099", "", "text/plain", scenario), http.StatusUnsupportedMediaType},
		"a body without end":       {ask("POST", "/run", "127.0.0.1:8099", "", "application/json", strings.Repeat("{", 1<<20)), http.StatusRequestEntityTooLarge},
		"a sweep":                  {ask("POST", "/sweep", "127.0.0.1:8099", "", "application/json", scenario), http.StatusOK},
		"a sweep for another page": {ask("POST", "/sweep", "127.0.0.1:8099", "http://evil.example", "application/json", scenario), http.StatusForbidden},
		"a file":                   {ask("GET", "/../etc/passwd", "127.0.0.1:8099", "", "", ""), http.StatusTemporaryRedirect},
	} {
		if x.got.Code != x.want || bytes.Contains(x.got.Body.Bytes()[:min(200, x.got.Body.Len())], []byte(`"error"`)) != (x.want >= 400 && x.want != http.StatusForbidden) {
			t.Errorf("%s: %d, want %d: %.200s", what, x.got.Code, x.want, x.got.Body)
		}
	}
	wrong := ask("POST", "/run", "127.0.0.1:8099", "", "application/json", `{"nodes": -1, "policies": [{"policy": "fair"}]}`)
	if !strings.Contains(wrong.Body.String(), `{"error":"nodes is -1`) {
		t.Errorf("a scenario that is wrong: %d %.200s", wrong.Code, wrong.Body)
	}
}

// TestOfferedTraces: the playground plays a trace that it was given, and no other file beside it.
func TestOfferedTraces(t *testing.T) {
	dir := t.TempDir()
	day, other := filepath.Join(dir, "day.tsv"), filepath.Join(dir, "other.tsv")
	for _, name := range []string{day, other} {
		var b bytes.Buffer
		if err := errors.Join(trace.WriteSWIM(&b, trace.Models["fb-2010"].Generate(20, rand.New(rand.NewPCG(1, 1)))), os.WriteFile(name, b.Bytes(), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	p := &playing{name: "the set-up", traces: []string{day}}
	scenario := func(file string) []byte {
		b, err := json.Marshal(map[string]any{"trace": file, "scale": 0.01, "policies": []any{map[string]string{"policy": "fair"}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if _, got, err := p.record(t.Context(), scenario(day)); err != nil || len(got) != 1 || len(got[0].Jobs) != 20 {
		t.Errorf("%d recordings, %v", len(got), err)
	}
	if _, _, err := p.record(t.Context(), scenario(other)); err == nil || !strings.Contains(err.Error(), "other.tsv") {
		t.Errorf("another file is read: %v", err)
	}
	for _, args := range [][]string{{"play", "--trace", filepath.Join(dir, "none")}, {"play", "--trace", "gen:fb-2010:3"}, {"play", "--trace", day, other}} {
		if code := run(args); code == 0 {
			t.Errorf("%v is taken", args)
		}
	}
}

// TestPlaygroundSweep: a sweep tells what each policy of a scenario gave, as a run of it alone does, says how far it is, and has an end.
func TestPlaygroundSweep(t *testing.T) {
	l := play.Lectures()[0]
	var told []play.Progress
	got, err := (&playing{name: "the set-up", tell: func(p play.Progress) { told = append(told, p) }}).sweep(t.Context(), l.Scenario)
	if err != nil || len(got) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	want, err := playScenario(t.Context(), l.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if d := gocmp.Diff(sweptRun{want[i].Name, want[i].Report}, got[i]); d != "" {
			t.Errorf("%s", d)
		}
	}
	if n := len(told); n != 10 {
		t.Errorf("of 2 runs of 5 jobs %d were told of: %v", n, told)
	}
	many := `{"policies": [{"policy": "fair", "admission": {"policy": "marp", "params": {"marp": "0.1..0.9 by 0.01"}}}]}`
	if _, err := (&playing{}).sweep(t.Context(), []byte(many)); err == nil || !strings.Contains(err.Error(), "at most 40") {
		t.Errorf("%v", err)
	}
}

// TestPlayerPage: sim run --out writes a page that stands alone, and a thousand jobs, with 307,000 attempts under each of two policies, take at most 2 MB.
func TestPlayerPage(t *testing.T) {
	dir := t.TempDir()
	if code := run([]string{"sim", "run", "--trace", "gen:fb-2010:1000", "--policy", "fair,fifo", "--out", dir}); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	page, err := os.ReadFile(filepath.Join(dir, "play.html"))
	if err != nil || len(page) > 2_000_000 {
		t.Fatalf("the page has %d bytes, %v", len(page), err)
	}
	for _, outside := range []string{"src=", "http://", "https://", "@import", "url("} {
		if bytes.Contains(page, []byte(outside)) {
			t.Errorf("the page loads something: it has %q", outside)
		}
	}
}
