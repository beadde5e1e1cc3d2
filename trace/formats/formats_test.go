package formats

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/trace"
)

var update = flag.Bool("update", false, "write the golden histories anew")

func sample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Each sample is recognised and becomes the history beside it.
func TestSamples(t *testing.T) {
	names, err := filepath.Glob("testdata/sample*")
	if err != nil || len(names) < 8 {
		t.Fatalf("%d samples, %v", len(names), err)
	}
	for _, name := range names {
		format := strings.TrimPrefix(filepath.Ext(name), ".")
		t.Run(filepath.Base(name), func(t *testing.T) {
			got, err := Read("", Source{name, bytes.NewReader(sample(t, filepath.Base(name)))})
			if err != nil || got.Format != format {
				t.Fatalf("format %q, %v", got.Format, err)
			}
			var b bytes.Buffer
			if err := trace.WriteHistory(&b, got.History); err != nil {
				t.Fatal(err)
			}
			golden := strings.Replace(filepath.Base(name), "sample", "golden", 1) + ".history"
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", golden), b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(sample(t, golden)), b.String()); d != "" {
				t.Error(d)
			}
			if _, err := trace.ReadHistory(bytes.NewReader(b.Bytes()), "back"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEveryFormat: each format of others has a sample, which TestSamples reads, and stands on the page that says what is lost.
func TestEveryFormat(t *testing.T) {
	page, err := os.ReadFile("../../docs/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range All {
		if f.read == nil {
			continue // ours, which package trace reads
		}
		if samples, err := filepath.Glob("testdata/sample*." + f.Name); err != nil || len(samples) == 0 {
			t.Errorf("no sample of %s: %v", f.Name, err)
		}
		if !bytes.Contains(page, []byte("| `"+f.Name+"` |")) {
			t.Errorf("docs/traces.md does not list %s", f.Name)
		}
	}
}

// What the samples mean, said by hand: docs/traces.md promises it.
func TestMeaning(t *testing.T) {
	s := time.Second
	for name, c := range map[string]struct {
		jobs, maps, reduces int
		held                time.Duration // by all attempts
		lost                int
		left                int
		first               trace.PastJob
	}{
		"sample.swf": {2, 6, 0, 4*100*s + 61*s, 0, 1, trace.PastJob{ID: "1", User: "user7", Queue: "queue2", Start: 5 * s, End: 105 * s, State: trace.JobDone, Maps: 4}},
		"sample.sls": {3, 8, 1, 3*s + 3*s + 4500*time.Millisecond + 6*2*s, 0, 0, trace.PastJob{
			ID: "job_1", User: "ann", Queue: "research", Start: s / 2, End: 8500 * time.Millisecond, State: trace.JobDone, Maps: 2, Reduces: 1,
		}},
		"sample.rumen": {1, 2, 1, 4*s + 15*s + 10*s + 50*s, 1, 0, trace.PastJob{
			ID: "job_202601010000_0001", Name: `sort "big" {1}`, User: "ann", Queue: "default", Priority: 1, Start: s, End: 60 * s, State: trace.JobDone, Maps: 2, Reduces: 1,
			InputBytes: 67108900 + 1000, ShuffleBytes: 67000001, OutputBytes: 66000000,
		}},
		"sample.jhist": {1, 2, 1, 7*s + 5*s + 7*s + 14*s, 1, 0, trace.PastJob{
			ID: "job_1767225600000_0007", Name: "word count", User: "bob", Queue: "etl", Start: 3 * s, End: 25 * s, State: trace.JobDone, Maps: 2, Reduces: 1,
			InputBytes: 134217728, ShuffleBytes: 7000, OutputBytes: 5000,
		}},
		"sample.google": {2, 3, 0, 8*s + 9*s + 37*s, 1, 1, trace.PastJob{ID: "3418309", User: "ann", Priority: 1, Start: 2 * s, End: 40 * s, State: trace.JobDone, Maps: 2}},
		"sample.alibaba": {2, 6, 1, 2*10*s + 4*s + 12*s + 3*5*s, 0, 1, trace.PastJob{
			ID: "j_1", End: 22 * s, State: trace.JobDone, Maps: 3, Reduces: 1,
		}},
		"sample-instances.alibaba": {1, 2, 1, 5*s + 10*s + 2*s + 9*s, 1, 0, trace.PastJob{ID: "j_1", End: 22 * s, State: trace.JobFailed, Maps: 2, Reduces: 1}},
		"sample.spark": {1, 2, 1, 3*s + s/2 + 2500*time.Millisecond + 4*s, 1, 0, trace.PastJob{
			ID: "app-20260101-0001/0", Name: "wordcount", User: "ann", Start: s / 2, End: 8 * s, State: trace.JobDone, Maps: 2, Reduces: 1, InputBytes: 3000, ShuffleBytes: 50, OutputBytes: 50,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read("", Source{name, bytes.NewReader(sample(t, name))})
			if err != nil {
				t.Fatal(err)
			}
			var maps, reduces, lost, left int
			var held time.Duration
			for _, j := range got.History.Jobs {
				maps, reduces = maps+int(j.Maps), reduces+int(j.Reduces)
			}
			for _, a := range got.History.Attempts {
				held += a.End - a.Start
				if a.Lost {
					lost++
				}
			}
			for _, n := range got.Left {
				left += n
			}
			if len(got.History.Jobs) != c.jobs || maps != c.maps || reduces != c.reduces || held != c.held || lost != c.lost || left != c.left {
				t.Errorf("%d jobs, %d maps, %d reduces, %v held, %d lost, %d left out; want %+v", len(got.History.Jobs), maps, reduces, held, lost, left, c)
			}
			if d := cmp.Diff(c.first, got.History.Jobs[0]); d != "" {
				t.Error(d)
			}
		})
	}
}

// What formats of others that we write can say survives writing and reading.
func TestThereAndBack(t *testing.T) {
	for _, f := range All {
		format := f.Name
		if f.read == nil || f.write == nil {
			continue
		}
		first, err := Read("", Source{"a", bytes.NewReader(sample(t, "sample."+format))})
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := Write(&text, format, first.History); err != nil {
			t.Fatal(err)
		}
		second, err := Read("", Source{"b", bytes.NewReader(text.Bytes())})
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		ignore := cmp.FilterPath(func(p cmp.Path) bool { // SWF has numbers for them
			return format == "swf" && (p.Last().String() == ".ID" || p.Last().String() == ".User" || p.Last().String() == ".Queue" || p.Last().String() == ".Job")
		}, cmp.Ignore())
		if d := cmp.Diff(first.History, second.History, ignore); d != "" {
			t.Errorf("%s: %s", format, d)
		}
	}
}

// Several logs of one application server are one trace, on one clock.
func TestSeveralFiles(t *testing.T) {
	one := string(sample(t, "sample.jhist"))
	two := strings.NewReplacer("_0007", "_0008", `"submitTime":1767225600000`, `"submitTime":1767225590000`).Replace(one)
	got, err := Read("", Source{"1", strings.NewReader(one)}, Source{"2", strings.NewReader(two)})
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Jobs) != 2 || got.Jobs[0].ID != "job_1767225600000_0008" || got.Jobs[1].Submit != 10*time.Second {
		t.Errorf("%+v", got.Jobs)
	}
	if _, err := Read("", Source{"1", strings.NewReader("a\t1\t1\t1\t1\t1")}, Source{"2", strings.NewReader("a\t1\t1\t1\t1\t1")}); err == nil || !strings.Contains(err.Error(), "as one") {
		t.Error(err)
	}
}

func TestBadFiles(t *testing.T) {
	swf := func(line string) string { return "; Version: 2.2\n" + line }
	for name, c := range map[string]struct{ from, text, want string }{
		"nothing":            {"", "", "of no known format"},
		"prose":              {"", "Dear Sir,\n", `"Dear Sir,"`},
		"unknown":            {"pbs", "x", `unknown format "pbs" (known: history, `},
		"gzip":               {"", "\x1f\x8b\x08", "gzip -dc"},
		"binary history":     {"", "Avro-Binary\n", "jhist.format=json"},
		"another's header":   {"swf", string([]byte("a\t1\t0\t1\t1\t1\n")), "x:1: malformed trace: 6 fields, want 18"},
		"swf, a word":        {"", swf("1 2 3 x 5 6 7 8 9 0 1 2 3 4 5 6 7 8"), `x:2: malformed trace: field 4, "x"`},
		"swf, many":          {"", swf("1 2 3 4 1e9 6 7 8 9 0 1 2 3 4 5 6 7 8"), "1e+09 processors"},
		"swf, negative":      {"", swf("1 -2 3 4 1 6 7 8 9 0 1 2 3 4 5 6 7 8"), "submitted at -2"},
		"swf, NaN":           {"", swf("1 NaN 3 4 1 6 7 8 9 0 1 2 3 4 5 6 7 8"), "not a number"},
		"swf, twice":         {"", swf("1 2 3 4 1 6 7 8 9 0 1 2 3 4 5 6 7 8\n1 2 3 4 1 6 7 8 9 0 1 2 3 4 5 6 7 8"), "x:3: malformed trace: a second job 1"},
		"swf, none":          {"", swf("1 2 3 -1 1 6 7 8 9 0 1 2 3 4 5 6 7 8"), "it has no job that ran"},
		"sls, unfinished":    {"", `{"job.tasks":[{`, "ends inside an object"},
		"sls, between":       {"sls", "{} x", `'x' where an object should begin`},
		"sls, wrong type":    {"", `{"job.start.ms":"soon"}`, "cannot unmarshal string"},
		"sls, end first":     {"", `{"job.start.ms":5,"job.tasks":[{"container.start.ms":9,"container.end.ms":4}]}`, "is no time"},
		"sls, often":         {"", `{"job.start.ms":5,"job.count":1000000000}`, "job.count 1000000000"},
		"sls, task often":    {"", `{"job.start.ms":5,"job.tasks":[{"count":-1}]}`, "count -1"},
		"rumen, no id":       {"", `{"mapTasks":[]}`, "no id"},
		"rumen, bytes":       {"", `{"jobID":"a","submitTime":1,"mapTasks":[{"inputBytes":9000000000000000000}]}`, "beyond 2^60"},
		"jhist, no job":      {"", "Avro-Json\n" + `{"type":"JOB_FINISHED","event":{"x":{}}}`, "x:2: malformed trace: JOB_FINISHED before JOB_SUBMITTED"},
		"jhist, no JSON":     {"", "Avro-Json\nnonsense", "x:2: malformed trace: no JSON"},
		"google, columns":    {"google", "1,2,3", "3 columns, want 13"},
		"google, a word":     {"google", "1,,a,0,,0,,0,0,,,,", `column 3 "a"`},
		"google, negative":   {"google", "-1,,1,0,,0,,0,0,,,,", "-1 is no time"},
		"alibaba, columns":   {"alibaba", "M1,2", "2 columns, want 9"},
		"alibaba, instances": {"alibaba", "M1,2000000000,j,1,T,5,6,1,1", "2000000000 instances"},
		"spark, no stage":    {"", `{"Event":"SparkListenerTaskEnd","Stage ID":3}`, "a task of stage 3"},
		"spark, twice":       {"", strings.Repeat(`{"Event":"SparkListenerJobStart","Job ID":0,"Submission Time":1}`+"\n", 2), "starts twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(c.from, Source{"x", strings.NewReader(c.text)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if name != "unknown" && !errors.Is(err, trace.ErrFormat) {
				t.Error("not marked as a malformed trace")
			}
		})
	}
}

// A short file cannot ask for more than fits.
func TestTooMany(t *testing.T) {
	b := &trace.Builder{Most: 1000}
	_, err := read(b, "sls", Source{"x", strings.NewReader(`{"job.start.ms":5,"job.count":999999,"job.tasks":[{"count":999999,"duration.ms":7}]}`)})
	if err == nil || !strings.Contains(err.Error(), "more than 1000 attempts; cut the file") {
		t.Error(err)
	}
}

// A line or an object that never ends is refused, not kept.
func TestGiantPieces(t *testing.T) {
	long := strings.Repeat("x", maxPiece+1)
	for _, c := range []struct{ format, text string }{{"swf", long}, {"sls", `{"a":"` + long}} {
		if _, err := Read(c.format, Source{"x", strings.NewReader(c.text)}); err == nil || !strings.Contains(err.Error(), "longer than") {
			t.Errorf("%s: %.200v", c.format, err)
		}
	}
}

// FuzzRead: no file stops the reader, and what it takes can be written and read again.
func FuzzRead(f *testing.F) {
	for i, format := range All {
		for _, name := range []string{"sample." + format.Name, "sample-instances." + format.Name} {
			if data, err := os.ReadFile(filepath.Join("testdata", name)); err == nil {
				f.Add(byte(i), data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		got, err := read(&trace.Builder{Most: 1000}, All[int(which)%len(All)].Name, Source{"fuzz", bytes.NewReader(data)})
		if err != nil {
			return
		}
		for _, to := range Names(true) {
			var b bytes.Buffer
			if err := Write(&b, to, got.Past()); err != nil {
				t.Fatalf("%s: %v", to, err)
			}
			if to == History {
				if _, err := Read("", Source{"back", &b}); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
