package integration

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker"
)

// ordered are jobs whose output shows in which order the values of a key came. Their input has a tab behind the key.
func ordered(name string) mapreduce.Job {
	job := mapreduce.Job{Name: name, Map: mapreduce.KeyValues(func(k, v []byte, emit func(string, string)) { emit(string(k), string(v)) })}
	switch name {
	case "first":
		job.Reduce = mapreduce.Groups(func(k string, values iter.Seq[string], emit func(string, string)) {
			for v := range values {
				emit(k, v)
				return
			}
		})
	case "joined":
		all := mapreduce.Groups(func(k string, values iter.Seq[string], emit func(string, string)) {
			var text strings.Builder
			for v := range values {
				text.WriteString(v)
			}
			emit(k, text.String())
		})
		job.Combine, job.Reduce = all, all
	case "floats", "added":
		job.Map = mapreduce.KeyValues(func(k, v []byte, emit func(string, float64)) {
			emit(string(k), 1/float64(1+len(v))+float64(v[0])*1e-7)
		})
		if name == "floats" {
			job.Fold = mapreduce.Sum
			break
		}
		job.Reduce = mapreduce.Groups(func(k string, values iter.Seq[float64], emit func(string, float64)) {
			sum := 0.0
			for v := range values {
				sum += v
			}
			emit(k, sum)
		})
	}
	return job
}

// buildOrdered makes the jobs of ordered from their name, input, output and number of reduces, and the built-in ones.
func buildOrdered(p *wire.Program) ([]mapreduce.Job, error) {
	name, ours := strings.CutPrefix(p.Builtin, "ordered-")
	if !ours {
		return jobs.Parse(p.Builtin, p.Args)
	}
	job := ordered(name)
	job.Input, job.Output, job.Reducers, job.SplitBytes = []string{p.Args[0]}, p.Args[1], 2, 50_000
	return []mapreduce.Job{job}, nil
}

// orderRig is a cluster with tables in which every key has many values.
type orderRig struct {
	*testcluster.Cluster
	t   *testing.T
	dir string
	n   int
}

func newOrderRig(t *testing.T) *orderRig {
	r := &orderRig{t: t, dir: t.TempDir()}
	r.Cluster = testcluster.Start(t, testcluster.Config{Workers: 3, Racks: 2, Build: buildOrdered, Worker: func(c *worker.Config) {
		c.Sort, c.Isolation = 16<<20, worker.IsolationNone // early merges; programs are the test's own
	}})
	random := rand.New(rand.NewPCG(1, 2))
	var left, right, rows bytes.Buffer
	for i := range 40_000 {
		key := random.IntN(300)
		fmt.Fprintf(&left, "key-%03d\t%06d %s\n", key, i, strings.Repeat("x", random.IntN(100)))
		fmt.Fprintf(&rows, "%010d%088d\r\n", key, i)
		if i%100 == 0 {
			fmt.Fprintf(&right, "key-%03d\t%d\n", random.IntN(300), i)
		}
	}
	for name, data := range map[string][]byte{"left": left.Bytes(), "right": right.Bytes(), "rows": rows.Bytes()} {
		writeFile(t, filepath.Join(r.dir, name), data)
		dfsPut(t, r.Cluster, "/"+name, data)
	}
	return r
}

// words are a job's, on this machine or on the cluster.
func (r *orderRig) words(words []string, root, out string) []string {
	list := []string{}
	for _, w := range words {
		list = append(list, strings.NewReplacer("ROOT/", root, "OUT", out).Replace(w))
	}
	return list
}

// here is the output of one machine with little memory.
func (r *orderRig) here(words []string) []byte {
	r.t.Helper()
	out := filepath.Join(r.t.TempDir(), "out")
	list := r.words(words, r.dir+"/", out)
	stages, err := buildOrdered(&wire.Program{Builtin: list[0], Args: list[1:]})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := local.Run(r.t.Context(), local.Config{Scratch: r.t.TempDir(), Memory: 32 << 20}, stages...); err != nil {
		r.t.Fatal(err)
	}
	return readParts(r.t, out)
}

// there is the output of the cluster, of which a worker stops and comes back when some maps are done: their outputs are
// lost, and others arrive first.
func (r *orderRig) there(words []string) []byte {
	r.t.Helper()
	r.n++
	out := fmt.Sprint("/out", r.n)
	id := r.Submit(wire.JobSpec{}, r.words(words, "dfs:/", "dfs:"+out)...)
	r.Wait("some maps are done", func() bool { s := r.Status(id); return s.Maps.Done > 3 || s.State.Ended() })
	w := r.Workers[r.n%len(r.Workers)]
	w.Stop()
	w.Start()
	if s := r.Finish(id); s.State != wire.Succeeded {
		r.t.Fatalf("%s: %s", s.State, s.Error)
	}
	return dfsOutput(r.t, r.Cluster, out)
}

// TestTheSameBytesEverywhere: jobs whose output shows the order of the values of a key leave the same bytes on one machine and on
// a cluster whose workers come and go, each time.
func TestTheSameBytesEverywhere(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	runs := 1
	if require.Stressed() {
		runs = 10
	}
	r := newOrderRig(t)
	common := []string{"--output", "OUT", "--split-bytes", "50000", "--reducers", "2"}
	for name, words := range map[string][]string{
		"the first value":  {"ordered-first", "ROOT/left", "OUT"},
		"all values":       {"ordered-joined", "ROOT/left", "OUT"},
		"a fold of floats": {"ordered-floats", "ROOT/left", "OUT"},
		"floats added":     {"ordered-added", "ROOT/left", "OUT"},
		"pairs":            {"ordered-pairs", "ROOT/left", "OUT"},
		"join":             append([]string{"join", "--left", "ROOT/left", "--right", "ROOT/right"}, common...),
		"streaming":        append([]string{"streaming", "--input", "ROOT/left", "--mapper", "cat", "--reducer", "cat"}, common...),
		"terasort":         append([]string{"terasort", "--input", "ROOT/rows"}, common...),
	} {
		t.Run(name, func(t *testing.T) {
			r.t = t
			want := r.here(words)
			if len(want) < 5000 {
				t.Fatalf("%d bytes of output", len(want))
			}
			for i := range runs {
				if got := r.there(words); !bytes.Equal(got, want) {
					t.Fatalf("run %d: %s", i, firstDifference(got, want))
				}
			}
		})
	}
}

// firstDifference says where two outputs part.
func firstDifference(got, want []byte) string {
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	return fmt.Sprintf("%d bytes, want %d; from byte %d on %.60q, want %.60q", len(got), len(want), at, got[at:], want[at:])
}

// TestExamplesLeaveTheSameBytes: the examples whose output depends on the order of values, by their own command lines, over an input
// of several maps.
func TestExamplesLeaveTheSameBytes(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	runs, examples := 1, map[string][]string{"secondarysort": {"visits", "--size", "4MB"}}
	if require.Stressed() {
		runs, examples["pagerank"] = 10, []string{"graph", "--size", "3MB"}
	}
	r := newOrderRig(t)
	for name, gen := range examples {
		t.Run(name, func(t *testing.T) {
			e := newExample(t, name)
			lines := strings.Join(e.gen(gen[0], "in", gen[1:]...), "\n") + "\n"
			want := e.output("-input", "in", "-reducers", "2")
			dfsPut(t, r.Cluster, "/"+name, []byte(lines))
			for i := range runs {
				out := fmt.Sprintf("/tmp/%s-%d", name, i)
				stdout, stderr, code := e.run("-master", r.Addr, "-input", "dfs:/"+name, "-output", "dfs:"+out, "-reducers", "2")
				if code != 0 {
					t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
				}
				if got := dfsOutput(t, r.Cluster, out); string(got) != want {
					t.Fatalf("run %d: %s", i, firstDifference(got, []byte(want)))
				}
			}
		})
	}
}
