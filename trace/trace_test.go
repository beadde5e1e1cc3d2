package trace

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadSWIM(t *testing.T) {
	const text = "job0\t9\t9\t1762\t0\t14347\njob1\t18\t9\t970\t609\t697\tin\tout\t\r\n\n"
	jobs, err := ReadSWIM(strings.NewReader(text), "t")
	if err != nil {
		t.Fatal(err)
	}
	want := []Job{
		{ID: "job0", Submit: 9 * time.Second, InputBytes: 1762, OutputBytes: 14347},
		{ID: "job1", Submit: 18 * time.Second, InputBytes: 970, ShuffleBytes: 609, OutputBytes: 697, InputPath: "in", OutputPath: "out"},
	}
	if d := cmp.Diff(want, jobs); d != "" {
		t.Error(d)
	}
}

func TestReadSWIMBadLines(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":       {"", "no job"},
		"blank":       {"\n\n", "no job"},
		"columns":     {"job0\t1\t1\t5\n", "t:1"},
		"no id":       {"\t1\t1\t5\t5\t5\n", "no id"},
		"submit":      {"a\tx\t1\t5\t5\t5\n", `submit time "x"`},
		"NaN":         {"a\tNaN\t1\t5\t5\t5\n", "submit time"},
		"negative":    {"a\t1\t1\t5\t-5\t5\n", `shuffle "-5"`},
		"huge":        {"a\t1\t1\t99999999999999999999\t5\t5\n", "input"},
		"gap":         {"a\t1\t-1\t5\t5\t5\n", "gap"},
		"unsorted":    {"a\t9\t1\t5\t5\t5\nb\t8\t1\t5\t5\t5\n", "t:2"},
		"second line": {"a\t9\t1\t5\t5\t5\nb\t10\t1\t5\t5\n", "t:2"},
	} {
		_, err := ReadSWIM(strings.NewReader(c.text), "t")
		if err == nil || !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func TestWriteSWIMRoundTrip(t *testing.T) {
	jobs := FB2010.Generate(500, rand.New(rand.NewPCG(3, 4)))
	jobs[3].InputPath, jobs[3].OutputPath = "a/b", "c"
	var b bytes.Buffer
	if err := WriteSWIM(&b, jobs); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSWIM(&b, "t")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(jobs, got); d != "" {
		t.Error(d)
	}
}

func FuzzReadSWIM(f *testing.F) {
	f.Add([]byte("job0\t9\t9\t1762\t0\t14347\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		jobs, err := ReadSWIM(bytes.NewReader(data), "f")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := WriteSWIM(&b, jobs); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadSWIM(&b, "f"); err != nil || len(again) != len(jobs) {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}

// public opens a public trace, where the machine has it.
func public(t *testing.T, name string) []Job {
	t.Helper()
	dir := os.Getenv("MILLRACE_TRACES")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "traces")
	}
	f, err := os.Open(filepath.Join(dir, name))
	if err != nil {
		t.Skipf("the public traces are not here (set MILLRACE_TRACES): %v", err)
	}
	defer f.Close()
	jobs, err := ReadSWIM(f, name)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}

// spec/nas 4.1: the job mix of Figure 3.2 and the trace facts, recomputed exactly.
func TestDescribeFB2010(t *testing.T) {
	d := Describe(public(t, "FB-2010_samples_24_times_1hr_0.tsv"), FineShape(3600))
	type facts struct {
		Jobs, Small, Large, Light, Medium, Heavy int
		Maps                                     int64
	}
	got := facts{d.Jobs, d.SmallInput, d.LargeInput, d.Light, d.Medium, d.Heavy, d.Maps}
	if diff := cmp.Diff(facts{24442, 12226, 12216, 16792, 3074, 4576, 8084865}, got); diff != "" {
		t.Error(diff)
	}
	near := func(what string, got, want, tolerance float64) {
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("input TB", float64(d.Input)/1e12, 1083, 0.5)
	near("shuffle TB", float64(d.Shuffle)/1e12, 438, 0.5)
	near("output TB", float64(d.Output)/1e12, 339, 0.5)
	near("no shuffle", d.NoShuffle, 0.341, 0.0005)
	near("one block", d.OneBlock, 0.645, 0.0005)
	near("top 100", d.TopShuffle, 0.715, 0.0005)
	near("last submission", d.Last.Seconds(), 86408, 0)
}

// The generator against the traces it was fitted to: shares within a few points,
// totals and quantiles within the spread that heavy tails have.
func TestGenerateLikeTheTraces(t *testing.T) {
	for _, c := range []struct {
		model *Model
		file  string
	}{
		{FB2009, "FB-2009_samples_24_times_1hr_0.tsv"},
		{FB2010, "FB-2010_samples_24_times_1hr_0.tsv"},
	} {
		t.Run(c.model.Name, func(t *testing.T) {
			jobs := public(t, c.file)
			want := Describe(jobs, FineShape(3600))
			got := Describe(c.model.Generate(len(jobs), rand.New(rand.NewPCG(5, 6))), FineShape(3600))
			n := float64(want.Jobs)
			points := func(what string, got, want, tolerance float64) {
				if math.Abs(got-want) > tolerance {
					t.Errorf("%s is %.3f, in the trace %.3f", what, got, want)
				}
			}
			points("light share", float64(got.Light)/n, float64(want.Light)/n, 0.03)
			points("heavy share", float64(got.Heavy)/n, float64(want.Heavy)/n, 0.03)
			points("small share", float64(got.SmallInput)/n, float64(want.SmallInput)/n, 0.04)
			points("no shuffle", got.NoShuffle, want.NoShuffle, 0.02)
			points("input-shuffle correlation", got.InputShuffle, want.InputShuffle, 0.08)
			points("input-output correlation", got.InputOutput, want.InputOutput, 0.08)
			points("top 100 of shuffle", got.TopShuffle, want.TopShuffle, 0.2)
			points("days", got.Last.Hours(), want.Last.Hours(), 2)
			ratio := func(what string, got, want float64) {
				if got/want > 2 || want/got > 2 {
					t.Errorf("%s is %.3g, in the trace %.3g", what, got, want)
				}
			}
			ratio("input", float64(got.Input), float64(want.Input))
			ratio("input p95", got.InputQ.P95, want.InputQ.P95)
			ratio("shuffle p99", got.ShuffleQ.P99, want.ShuffleQ.P99)
			ratio("maps", float64(got.Maps), float64(want.Maps))
		})
	}
}

func TestGenerateIsDeterministic(t *testing.T) {
	a := FB2010.Generate(100, rand.New(rand.NewPCG(1, 2)))
	b := FB2010.Generate(100, rand.New(rand.NewPCG(1, 2)))
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
}

// The k-means fit finds clusters that are far apart.
func TestFitFindsClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var jobs []Job
	for i := range 2000 {
		j := Job{ID: "j", Submit: time.Duration(i) * time.Second, InputBytes: 1000, OutputBytes: 10}
		if i%4 == 0 {
			j = Job{ID: "j", Submit: j.Submit, InputBytes: 1e9, ShuffleBytes: 5e8, OutputBytes: 1e8}
		}
		jobs = append(jobs, j)
	}
	m := Fit("two", jobs, 2, rng)
	if len(m.Clusters) != 2 {
		t.Fatalf("%d clusters", len(m.Clusters))
	}
	d := Describe(m.Generate(4000, rng), FineShape(3600))
	if share := float64(d.Heavy) / 4000; math.Abs(share-0.25) > 0.03 {
		t.Errorf("heavy share %.3f, want 0.25", share)
	}
}
