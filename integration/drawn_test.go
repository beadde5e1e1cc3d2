package integration

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// A drawnJob is a job that a property test made up.
type drawnJob struct {
	Floats    bool   // keys are floats, else words
	Order     string // of keys: "", "down", "lower" or "blind"
	Ranges    bool   // keys are divided by ranges
	How       string // what becomes of values: "pass", "all", "combine", "sum" or "count"
	Lengths   bool   // a second stage counts results by their length
	Reducers  int
	Split     int64
	Lines     int
	Keys      int
	Seed      uint64
	In, Out   string
	SortBytes int64 `json:"-"` // of the run on one machine
}

func drawJob(t *rapid.T) *drawnJob {
	d := &drawnJob{
		Floats: rapid.Bool().Draw(t, "floats"), Ranges: rapid.Bool().Draw(t, "ranges"), Lengths: rapid.Bool().Draw(t, "lengths"),
		How:      rapid.SampledFrom([]string{"pass", "all", "combine", "sum", "count"}).Draw(t, "how"),
		Reducers: rapid.IntRange(2, 5).Draw(t, "reduces"), Split: rapid.Int64Range(500, 20_000).Draw(t, "split"),
		Lines: rapid.SampledFrom([]int{1, 30, 3000}).Draw(t, "lines"), Keys: rapid.SampledFrom([]int{1, 5, 400}).Draw(t, "keys"),
		Seed: rapid.Uint64().Draw(t, "seed"), SortBytes: rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "sort memory"),
	}
	orders := []string{"", "down", "lower", "blind"}
	if d.Floats {
		orders = orders[:2]
	}
	d.Order = rapid.SampledFrom(orders).Draw(t, "order")
	d.Lengths = d.Lengths && d.How == "all"
	return d
}

// text is the input: a key, a tab and a number.
func (d *drawnJob) text() string {
	random := rand.New(rand.NewPCG(d.Seed, 1))
	var b strings.Builder
	for range d.Lines {
		k := random.IntN(d.Keys)
		key := fmt.Sprintf("%cord-%d", "wW"[random.IntN(2)], k)
		if d.Floats {
			key = []string{"0", "-0", "NaN", "-Inf", "1e300"}[k%5]
			if k >= 5 {
				key = strconv.FormatFloat(float64(k-200)/3, 'g', -1, 64)
			}
		}
		fmt.Fprintf(&b, "%s\t%g\n", key, random.NormFloat64()*1e3)
	}
	return b.String()
}

// order is that of the job, and what it divides keys by.
func (d *drawnJob) order() (o mapreduce.Order, p mapreduce.Partitioner) {
	switch d.Order {
	case "down":
		o = mapreduce.Descending
	case "lower":
		o = mapreduce.ByKey(strings.ToLower)
	case "blind":
		o = mapreduce.By(func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
		p = mapreduce.HashBy(strings.ToLower)
	}
	if d.Ranges {
		p = mapreduce.TotalOrder{}
	}
	return o, p
}

func (d *drawnJob) stages() []mapreduce.Job {
	if d.Floats {
		return stagesOf(d, func(k []byte) float64 { f, _ := strconv.ParseFloat(string(k), 64); return f })
	}
	return stagesOf(d, func(k []byte) string { return string(k) })
}

func stagesOf[K any](d *drawnJob, key func(text []byte) K) []mapreduce.Job {
	job := mapreduce.Job{Name: "drawn", Input: []string{d.In}, Output: d.Out, Reducers: d.Reducers, SplitBytes: d.Split}
	job.Sort, job.Partition = d.order()
	job.Map = mapreduce.KeyValues(func(k, v []byte, emit func(K, string)) { emit(key(k), string(v)+" ") })
	all := mapreduce.Groups(func(k K, values iter.Seq[string], emit func(K, string)) {
		emit(k, strings.Join(slices.Collect(values), ""))
	})
	switch d.How {
	case "all":
		job.Reduce = all
	case "combine":
		job.Reduce, job.Combine = all, all
	case "count":
		job.Fold = mapreduce.Count
	case "sum":
		job.Fold = mapreduce.Sum
		job.Map = mapreduce.KeyValues(func(k, v []byte, emit func(K, float64)) {
			f, _ := strconv.ParseFloat(string(v), 64)
			emit(key(k), f)
		})
	}
	if !d.Lengths {
		return []mapreduce.Job{job}
	}
	job.Output = "" // the last of the chain has it
	return []mapreduce.Job{job, {
		Name: "lengths", Output: d.Out, Reducers: d.Reducers, Fold: mapreduce.Count,
		Map: mapreduce.Records(func(_ K, v string, emit func(int64, int64)) { emit(int64(len(v)), 1) }),
	}}
}

// want is the output as lists and maps in memory make it, in the order of keys.
func (d *drawnJob) want() []string {
	type pair struct {
		key  []byte
		text string
	}
	var all []pair
	for line := range strings.Lines(d.text()) {
		k, v, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		p := pair{[]byte(k), v}
		if d.Floats {
			f, _ := strconv.ParseFloat(k, 64)
			p.key = mapreduce.Float64.Append(nil, f)
		}
		all = append(all, p)
	}
	order, _ := d.order()
	same := mapreduce.CompareOf(order)
	slices.SortStableFunc(all, func(a, b pair) int { return same.Of(a.key, b.key) })
	var out []string
	lengths := map[int]int{}
	for len(all) > 0 {
		n := 1
		for n < len(all) && same.Of(all[0].key, all[n].key) == 0 {
			n++
		}
		first, sum, joined := all[0].key, new(big.Float).SetPrec(2000), ""
		for _, p := range all[:n] {
			f, _ := strconv.ParseFloat(p.text, 64)
			sum.Add(sum, big.NewFloat(f))
			joined += p.text + " "
			if (d.How == "sum" || d.How == "count") && string(p.key) < string(first) {
				first = p.key
			}
			if d.How == "pass" {
				out = append(out, d.line(p.key, p.text+" "))
			}
		}
		exact, _ := sum.Float64()
		switch d.How {
		case "all", "combine":
			out = append(out, d.line(first, joined))
			lengths[len(joined)]++
		case "sum":
			out = append(out, d.line(first, strconv.FormatFloat(exact+0, 'g', -1, 64)))
		case "count":
			out = append(out, d.line(first, strconv.Itoa(n)))
		}
		all = all[n:]
	}
	if d.Lengths {
		out = nil
		for n, times := range lengths {
			out = append(out, fmt.Sprintf("%d\t%d\n", n, times))
		}
	}
	return out
}

func (d *drawnJob) line(key []byte, value string) string {
	if d.Floats {
		key = mapreduce.Float64.AppendText(nil, key)
	}
	return string(key) + "\t" + value + "\n"
}

// differs says how an output is not the one that is wanted: in order with ranges, else as lines.
func (d *drawnJob) differs(got string, reducers int) string {
	want := d.want()
	if lines := slices.Collect(strings.Lines(got)); !d.Lengths && (d.Ranges || reducers == 1) {
		if !slices.Equal(lines, want) {
			return firstDifference([]byte(got), []byte(strings.Join(want, "")))
		}
		return ""
	}
	slices.Sort(want)
	if g := lines([]byte(got)); !slices.Equal(g, want) {
		return firstDifference([]byte(strings.Join(g, "")), []byte(strings.Join(want, "")))
	}
	return ""
}

// here runs the job on one machine.
func (d *drawnJob) here(t *rapid.T, dir string, reducers int) string {
	out := filepath.Join(dir, "out")
	defer os.RemoveAll(out)
	o := *d
	o.In, o.Out, o.Reducers = filepath.Join(dir, "in"), out, reducers
	if err := os.WriteFile(o.In, []byte(o.text()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Run(t.Context(), local.Config{Scratch: dir, Sort: d.SortBytes}, o.stages()...); err != nil {
		t.Fatalf("here, with %d reduces: %v", reducers, err)
	}
	parts, err := filepath.Glob(filepath.Join(out, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, p := range parts {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

func buildDrawn(p *wire.Program) ([]mapreduce.Job, error) {
	if p.Builtin != "drawn" {
		return jobs.Parse(p.Builtin, p.Args)
	}
	var d drawnJob
	if err := json.Unmarshal([]byte(p.Args[0]), &d); err != nil {
		return nil, err
	}
	return d.stages(), nil
}

// TestDrawnJobs: jobs drawn at random, of keys, orders, partitions, folds, combiners, stages and inputs of many kinds, have the output that
// maps in memory give, with one reduce and with several, on one machine and on a cluster. With MILLRACE_STRESS=1 there are 100 times as many on the cluster.
func TestDrawnJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		d := drawJob(t)
		for _, reducers := range []int{1, d.Reducers} {
			if wrong := d.differs(d.here(t, dir, reducers), reducers); wrong != "" {
				t.Fatalf("one machine, %d reduces: %s", reducers, wrong)
			}
		}
	})
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Racks: 2, Build: buildDrawn})
	most, n, failed := 6, 0, false
	if require.Stressed() {
		most = 600
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := drawJob(rt)
		if n++; n > most && !failed {
			return // rapid's own number is for the cheap half
		}
		was := failed
		failed = true // so that a failure is shrunk, and a success takes it back
		d.In, d.Out = fmt.Sprint("dfs:/in", n), fmt.Sprint("dfs:/out", n)
		dfsPut(t, c, fmt.Sprint("/in", n), []byte(d.text()))
		args, err := json.Marshal(d)
		if err != nil {
			rt.Fatal(err)
		}
		s := c.Finish(c.Submit(wire.JobSpec{}, "drawn", string(args)))
		if s.State != wire.Succeeded {
			rt.Fatalf("%s: %s", s.State, s.Error)
		}
		if wrong := d.differs(string(dfsOutput(t, c, fmt.Sprint("/out", n))), d.Reducers); wrong != "" {
			rt.Fatalf("cluster: %s", wrong)
		}
		failed = was
	})
}
