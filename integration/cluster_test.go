package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/jobs/textgen"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/master"
)

func dfsPut(t *testing.T, c *testcluster.Cluster, path string, data []byte) {
	t.Helper()
	c.Put(path, string(data))
}

// dfsOutput reads all parts of an output, in order.
func dfsOutput(t *testing.T, c *testcluster.Cluster, dir string) []byte {
	t.Helper()
	parts, others := c.Parts(dir)
	if !slices.Equal(others, []string{"_SUCCESS"}) {
		t.Errorf("%s has %q beside its parts, must have _SUCCESS", dir, others)
	}
	return []byte(strings.Join(parts, ""))
}

// reference runs the same words on one machine and returns the output, sorted by line.
func reference(t *testing.T, data []byte, words ...string) []string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	writeFile(t, in, data)
	stages, err := jobs.Parse(words[0], append(words[1:], "--input", in, "--output", out))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.Run(t.Context(), local.Config{Scratch: dir}, stages...); err != nil {
		t.Fatal(err)
	}
	return lines(readParts(t, out))
}

func lines(b []byte) []string {
	l := slices.Collect(strings.Lines(string(b)))
	slices.Sort(l)
	return l
}

func text(t *testing.T, n int) []byte {
	t.Helper()
	gen, err := textgen.NewText(textgen.DefaultTextConfig())
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, n)
	for at := 0; at < n; at += textgen.BlockBytes {
		gen.Fill(buf[at:min(n, at+textgen.BlockBytes)], uint64(at/textgen.BlockBytes))
	}
	return buf
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readParts(t *testing.T, dir string) (out []byte) {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil || len(parts) == 0 {
		t.Fatalf("%s has no parts: %v", dir, err)
	}
	for _, p := range parts {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b...)
	}
	return out
}

func TestWordCountOnACluster(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 3, Racks: 2})
	data := text(t, 3<<20)
	dfsPut(t, c, "/in/text", data)
	begin := time.Now()
	id := c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out", "--reducers", "3", "--split-bytes", "300000")
	s := c.Finish(id)
	if s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	t.Logf("%d maps, %d reduces in %s", s.Maps.Total, s.Reduces.Total, time.Since(begin))
	if got := lines(dfsOutput(t, c, "/out")); !slices.Equal(got, reference(t, data, "wordcount")) {
		t.Errorf("another output than on one machine: %d lines", len(got))
	}
	if list, err := c.DFS.ListAll(t.Context(), "/"); err != nil || len(list) != 2 {
		t.Errorf("the root holds %+v, %v", list, err)
	}
}

// TestWorkersAndMasterDie is the promise of the cluster: whatever dies on the way, the same bytes
// come out.
func TestWorkersAndMasterDie(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 2})
	data := text(t, 4<<20)
	dfsPut(t, c, "/in", data)
	want := reference(t, data, "wordcount")
	id := c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out", "--reducers", "3", "--split-bytes", "100000")
	c.Wait("some maps are done", func() bool { return c.Status(id).Maps.Done > 5 })
	c.Workers[1].Stop()
	c.Wait("more maps are done", func() bool { return c.Status(id).Maps.Done > 15 })
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	c.StartMaster()
	c.Workers[1].Start()
	s := c.Finish(id)
	if s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	if got := lines(dfsOutput(t, c, "/out")); !slices.Equal(got, want) {
		t.Errorf("another output than on one machine: %d lines, want %d", len(got), len(want))
	}
}

// TestRetriesOnACluster: a job tells how many of its attempts failed and were tried again, and none where none did.
func TestRetriesOnACluster(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	dfsPut(t, c, "/in", []byte("a b c\n"))
	for mapper, want := range map[string]int{"cat": 0, "case $mapreduce_task_attempt_id in *_[01]) exit 9;; *) cat;; esac": 2} {
		s := c.Finish(c.Submit(wire.JobSpec{}, "streaming", "--mapper", mapper, "--input", "dfs:/in", "--output", fmt.Sprint("dfs:/out", want)))
		if s.State != wire.Succeeded || s.Retries != want {
			t.Errorf("%s: %s with %d retries, want %d", mapper, s.State, s.Retries, want)
		}
	}
}

// TestFailuresSayWhy: what the master was not told, so that it cannot refuse it, the driver finds out, and the job says it.
func TestFailuresSayWhy(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Master: func(m *master.Config) { m.Program = nil }})
	dfsPut(t, c, "/in", []byte("a b c\n"))
	dfsPut(t, c, "/there/x", []byte("x"))
	for want, words := range map[string][]string{
		"no such":       {"wordcount", "--input", "dfs:/none", "--output", "dfs:/o1"},
		"output exists": {"wordcount", "--input", "dfs:/in", "--output", "dfs:/there"},
	} {
		spec := wire.JobSpec{Name: "bad", Stages: 1, Program: wire.Program{Builtin: words[0], Args: words[1:]}}
		got, err := api.JobSubmit.Call(t.Context(), c.Client, c.Addr, spec)
		if err != nil {
			t.Fatal(err)
		}
		s := c.Finish(got.Job)
		if s.State != "FAILED" || !strings.Contains(s.Error, want) {
			t.Errorf("%v: %s, %q, want %q", words, s.State, s.Error, want)
		}
		if s.Attempts != 1 {
			t.Errorf("%v: tried %d times", words, s.Attempts)
		}
	}
	list, err := c.DFS.ListAll(t.Context(), "/")
	if err != nil || len(list) != 2 {
		t.Errorf("left behind: %+v, %v", list, err)
	}
}

// TestChainsAndMapOnlyJobs run through the same machinery.
func TestChainsAndMapOnlyJobs(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 3})
	data := text(t, 1<<20)
	dfsPut(t, c, "/in", data)
	for i, words := range [][]string{
		{"grep", "--pattern", "[a-z]*ing"},
		{"grep", "--pattern", "th", "--lines"},
		{"sort", "--reducers", "3"},
		{"topk", "--k", "10"},
	} {
		out := fmt.Sprint("/out", i)
		s := c.Finish(c.Submit(wire.JobSpec{}, append(words, "--input", "dfs:/in", "--output", "dfs:"+out)...))
		if s.State != "SUCCEEDED" {
			t.Errorf("%v: %+v", words, s)
			continue
		}
		if got := lines(dfsOutput(t, c, out)); !slices.Equal(got, reference(t, data, words...)) {
			t.Errorf("%v: another output than on one machine", words)
		}
	}
}
