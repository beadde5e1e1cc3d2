package attempt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker"
)

// output returns the lines of an output, part by part.
func output(c *testcluster.Cluster, dir string) (lines []string) {
	parts, _ := c.Parts(dir)
	for _, p := range parts {
		lines = append(lines, strings.Fields(strings.ReplaceAll(p, "\t", "="))...)
	}
	return lines
}

// text is some words, and how often each is there.
func text(seed uint64, words int) (string, map[string]int) {
	rng, count := rand.New(rand.NewPCG(seed, 0)), map[string]int{}
	var b strings.Builder
	for range words {
		w := fmt.Sprintf("w%03d", rng.IntN(400))
		count[w]++
		b.WriteString(w + "\n")
	}
	return b.String(), count
}

// counted are the lines of a count of words.
func counted(count map[string]int) (lines []string) {
	for w, n := range count {
		lines = append(lines, fmt.Sprintf("%s=%d", w, n))
	}
	slices.Sort(lines)
	return lines
}

// count counts lines; hold, if set, is called with each first.
func count(in, out string, hold func(line string) error) mapreduce.Job {
	return mapreduce.Job{
		Name: "count", Input: []string{in}, Output: out, Reducers: 3, SplitBytes: 10_000, Fold: mapreduce.Sum,
		Map: mapreduce.LinesWith(func(*mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
			return func(line []byte, emit func([]byte, int64)) {
				if hold != nil {
					if err := hold(string(line)); err != nil {
						panic(err)
					}
				}
				emit(line, 1)
			}, nil
		}),
	}
}

// TestStages: jobs of every kind come to what a count in memory comes to, and those that cannot be say why, and leave nothing.
func TestStages(t *testing.T) {
	var in strings.Builder
	want := map[string]int{}
	programs := map[string][]mapreduce.Job{}
	c := testcluster.Start(t, testcluster.Config{
		Workers: 2, Racks: 2, Worker: func(w *worker.Config) { w.Capacity.Containers = 6 },
		Build: func(p *wire.Program) ([]mapreduce.Job, error) {
			if jobs := programs[p.Builtin]; jobs != nil {
				return jobs, nil
			}
			return nil, fmt.Errorf("there is no program %s", p.Builtin)
		},
	})
	for i := range uint64(5) {
		s, n := text(i, 3000)
		c.Put(fmt.Sprint("/in/", i), s)
		in.WriteString(s)
		for w, k := range n {
			want[w] += k
		}
	}
	c.Put("/there/file", "x")
	only := count("dfs:/in", "dfs:/only", nil)
	only.MapOnly, only.Reducers, only.Fold = true, 0, mapreduce.Fold{}
	sorted := count("dfs:/in", "dfs:/sorted", nil)
	sorted.Partition = mapreduce.TotalOrder{}
	packed := count("dfs:/in", "dfs:/packed", nil)
	packed.Compression = "s2"
	second := count("", "dfs:/chain", nil)
	second.Input = nil
	second.Map = mapreduce.Lines(func(line []byte, emit func([]byte, int64)) { emit(bytes.Split(line, []byte("\t"))[1], 1) })
	ones := map[string]int{}
	for _, n := range want {
		ones[fmt.Sprint(n)]++
	}
	broken := count("dfs:/in/0", "dfs:/broken", func(string) error { return errors.New("a bad day") })
	broken.MaxAttempts = 1
	picky := count("dfs:/in", "dfs:/picky", func(line string) error {
		if line == "w007" {
			return errors.New("not this one")
		}
		return nil
	})
	picky.SkipBadRecords = 1000
	most := maps.Clone(want)
	delete(most, "w007")
	nothing := count("dfs:/in", "dfs:/nothing", nil)
	nothing.Compression = "zip"
	cases := map[string]struct {
		jobs []mapreduce.Job
		want map[string]int // lines, unless it fails
		says string
	}{
		"count":       {[]mapreduce.Job{count("dfs:/in", "dfs:/count", nil)}, want, ""},
		"sorted":      {[]mapreduce.Job{sorted}, want, ""},
		"packed":      {[]mapreduce.Job{packed}, want, ""},
		"only":        {[]mapreduce.Job{only}, nil, ""},
		"chain":       {[]mapreduce.Job{count("dfs:/in", "", nil), second}, ones, ""},
		"picky":       {[]mapreduce.Job{picky}, most, ""},
		"broken":      {[]mapreduce.Job{broken}, nil, "a bad day"},
		"no-input":    {[]mapreduce.Job{count("dfs:/none", "dfs:/no-input", nil)}, nil, "/none"},
		"taken":       {[]mapreduce.Job{count("dfs:/in", "dfs:/there", nil)}, nil, "exists"},
		"nothing":     {[]mapreduce.Job{nothing}, nil, "zip"},
		"into-itself": {[]mapreduce.Job{count("dfs:/in", "dfs:/in/out", nil)}, nil, "input"},
	}
	for name, x := range cases {
		programs[name] = x.jobs
	}
	for name, x := range cases {
		t.Run(name, func(t *testing.T) {
			last := x.jobs[len(x.jobs)-1]
			id, err := api.JobSubmit.Call(t.Context(), c.Client, c.Addr, wire.JobSpec{Name: name, Program: wire.Program{Builtin: name}, Stages: len(x.jobs), Output: last.Output, Attempts: last.MaxAttempts, Bad: last.SkipBadRecords})
			if err != nil {
				if x.says == "" || !strings.Contains(err.Error(), x.says) {
					t.Error(err)
				}
				return
			}
			s := c.Finish(id.Job)
			if x.says != "" {
				if s.State != "FAILED" || !strings.Contains(s.Error, x.says) {
					t.Errorf("%s: %s", s.State, s.Error)
				}
				return
			}
			if s.State != "SUCCEEDED" {
				t.Fatalf("%s: %s", s.State, s.Error)
			}
			got := output(c, strings.TrimPrefix(last.Output, "dfs:"))
			if name == "only" {
				if len(got) != 15_000 {
					t.Errorf("%d words", len(got))
				}
				return
			}
			if name == "sorted" && !slices.IsSorted(got) {
				t.Error("the parts are not in order")
			}
			slices.Sort(got)
			if !slices.Equal(got, counted(x.want)) {
				t.Errorf("%d lines, want %d", len(got), len(x.want))
			}
			if name == "picky" && (len(s.Bad) == 0 || !strings.Contains(s.Bad[0].Reason, "not this one")) {
				t.Errorf("%+v", s.Bad)
			}
			if name == "count" {
				checkCounts(t, s, int64(in.Len()))
			}
		})
	}
	checkEmpty(t, c)
}

// checkCounts: a job has read all bytes, and its reduces have fetched from their own node, or another rack.
func checkCounts(t *testing.T, s wire.JobStatus, size int64) {
	t.Helper()
	n := s.Counts[mapreduce.TaskGroup]
	if n[mapreduce.MapInputRecords] != 15_000 || n[mapreduce.MapInputBytes] != size {
		t.Errorf("%v", n)
	}
	near := 0
	for _, k := range s.Locality {
		near += k
	}
	if near != s.Maps.Total || s.Locality["rack"] != 0 {
		t.Errorf("%d maps ran near their input or not: %v", s.Maps.Total, s.Locality)
	}
	if n[mapreduce.ShuffleRemoteBytes] == 0 || n[mapreduce.ShuffleRackBytes] != 0 {
		t.Errorf("over racks %d, in racks %d, on nodes %d bytes", n[mapreduce.ShuffleRemoteBytes], n[mapreduce.ShuffleRackBytes], n[mapreduce.ShuffleNodeBytes])
	}
}

// checkEmpty: when no job is left, workers have no map output any more, and the store nothing that jobs did not leave on purpose.
func checkEmpty(t *testing.T, c *testcluster.Cluster) {
	t.Helper()
	c.Wait("workers have forgotten the jobs", func() bool {
		return len(outputsOf(t, c)) == 0
	})
	list, err := c.DFS.ListAll(t.Context(), "/")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if strings.Contains(e.Path, "/.") || slices.Contains([]string{"/broken", "/nothing", "/no-input"}, e.Path) {
			t.Errorf("%s is left", e.Path)
		}
	}
}

// outputsOf lists the files of map output of all workers.
func outputsOf(t *testing.T, c *testcluster.Cluster) (files []string) {
	t.Helper()
	for _, n := range c.Workers {
		err := filepath.WalkDir(filepath.Join(n.Dir, "scratch"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				files = append(files, path)
			}
			return nil // what goes meanwhile is gone
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestDamagedOutput: while the last map still runs, files of maps that are done are cut off, damaged or removed. The reduces notice, those
// maps run again, and the counts are right.
func TestDamagedOutput(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"cut": func(path string) error { return os.Truncate(path, 40) },
		"flipped": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[len(b)/3] ^= 0x10
				err = os.WriteFile(path, b, 0o600)
			}
			return err
		},
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			c := testcluster.Start(t, testcluster.Config{
				Workers: 2, Racks: 1,
				Worker: func(w *worker.Config) { w.SmallOutput, w.Capacity.Containers = 0, 8 },
				Build: func(*wire.Program) ([]mapreduce.Job, error) {
					return []mapreduce.Job{count("dfs:/in", "dfs:/out", func(line string) error {
						if line == "last" {
							<-release
						}
						return nil
					})}, nil
				},
			})
			want := map[string]int{"last": 1}
			for i := range uint64(4) {
				s, n := text(i, 2000)
				c.Put(fmt.Sprint("/in/", i), s)
				for w, k := range n {
					want[w] += k
				}
			}
			c.Put("/in/last", "last\n")
			id, err := api.JobSubmit.Call(t.Context(), c.Client, c.Addr, wire.JobSpec{Name: name, Program: wire.Program{Builtin: "count"}, Stages: 1, Output: "dfs:/out", Slowstart: 1})
			if err != nil {
				t.Fatal(err)
			}
			c.Wait("one map is left", func() bool { m := c.Status(id.Job).Maps; return m.Total > 1 && m.Done == m.Total-1 })
			before, hurt := c.Status(id.Job), 0
			for _, f := range outputsOf(t, c) {
				if strings.HasPrefix(filepath.Base(f), "map-") && hurt < 2 {
					hurt++
					if err := damage(f); err != nil {
						t.Fatal(err)
					}
				}
			}
			close(release)
			s := c.Finish(id.Job)
			got := output(c, "/out")
			slices.Sort(got)
			if s.State != "SUCCEEDED" || !slices.Equal(got, counted(want)) {
				t.Errorf("%s %s: %d lines, want %d", s.State, s.Error, len(got), len(want))
			}
			if again := s.Attempts - before.Attempts - 3; hurt == 0 || again < hurt {
				t.Errorf("%d outputs were damaged, and %d maps ran again", hurt, again)
			}
		})
	}
}

// TestChangedInput: a file is replaced by one of the same size while a map still runs, or removed. The job fails and says so, and leaves
// nothing; what comes beside the files that were found is no change.
func TestChangedInput(t *testing.T) {
	for name, says := range map[string]string{"replaced": "changed while it was read", "removed": "not there any more", "joined": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begun, release := make(chan struct{}, 10), make(chan struct{})
			c := testcluster.Start(t, testcluster.Config{Workers: 2, Build: func(*wire.Program) ([]mapreduce.Job, error) {
				return []mapreduce.Job{count("dfs:/in", "dfs:/out", func(line string) error {
					if line == "last" {
						begun <- struct{}{}
						<-release
					}
					return nil
				})}, nil
			}})
			c.Put("/in/a", "first\n")
			c.Put("/in/b", "last\n")
			id, err := api.JobSubmit.Call(t.Context(), c.Client, c.Addr, wire.JobSpec{Name: name, Program: wire.Program{Builtin: "count"}, Stages: 1, Output: "dfs:/out"})
			if err != nil {
				t.Fatal(err)
			}
			select {
			case <-begun: // the map has read the first file
			case <-time.After(time.Minute):
				t.Fatal("no map has begun")
			}
			if name != "joined" {
				if err := c.DFS.Remove(t.Context(), "/in/a", false); err != nil {
					t.Fatal(err)
				}
			}
			switch name {
			case "replaced":
				c.Put("/in/a", "other\n")
			case "joined":
				c.Put("/in/c", "later\n")
			}
			close(release)
			s := c.Finish(id.Job)
			if failed := s.State == "FAILED"; failed != (says != "") || !strings.Contains(s.Error, says) {
				t.Errorf("%s: %s", s.State, s.Error)
			}
			if _, err := c.DFS.Stat(t.Context(), "/out"); says != "" {
				if !errors.Is(err, wire.NotFound) {
					t.Errorf("the output of a job that failed: %v", err)
				}
				return
			}
			if got := slices.Sorted(slices.Values(output(c, "/out"))); !slices.Equal(got, []string{"first=1", "last=1"}) {
				t.Errorf("the output is %q", got)
			}
		})
	}
}

// TestStoppedDriver: a job that is cancelled takes what it has begun to write with it. In the block store the master looks after a driver that fails to;
// on a machine's own disk nobody does.
func TestStoppedDriver(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	home, local := "/user/"+me.Username, t.TempDir()
	for out, list := range map[string]func(c *testcluster.Cluster) []string{
		"dfs:" + home + "/out": func(c *testcluster.Cluster) (names []string) {
			list, err := c.DFS.ListAll(t.Context(), home)
			if err != nil {
				t.Error(err)
			}
			for _, e := range list {
				names = append(names, e.Path)
			}
			return names
		},
		filepath.ToSlash(local) + "/out": func(*testcluster.Cluster) []string {
			names, err := filepath.Glob(filepath.Join(local, ".*"))
			if err != nil {
				t.Error(err)
			}
			return names
		},
	} {
		stopDriver(t, me.Username, out, list)
	}
}

// stopDriver cancels a job of a user while its map runs. list is what lies beside its output.
func stopDriver(t *testing.T, user, out string, list func(c *testcluster.Cluster) []string) {
	t.Helper()
	release := make(chan struct{})
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Build: func(*wire.Program) ([]mapreduce.Job, error) {
		return []mapreduce.Job{count("dfs:/in", out, func(string) error { <-release; return nil })}, nil
	}})
	defer close(release)
	c.Put("/in", "a\n")
	cl := c.NewClient(secure.User, user)
	defer func() { _ = cl.Close() }() // all answers are there
	id, err := api.JobSubmit.Call(t.Context(), cl, c.Addr, wire.JobSpec{Name: "held", Program: wire.Program{Builtin: "count"}, Stages: 1, Output: out})
	if err != nil {
		t.Fatal(err)
	}
	c.Wait("the map runs", func() bool { return c.Status(id.Job).Maps.Running == 1 })
	if got := list(c); len(got) != 1 {
		t.Errorf("%s: no output is prepared, or more than one: %q", out, got)
	}
	if _, err := api.JobKill.Call(t.Context(), cl, c.Addr, wire.JobRequest{Job: id.Job}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if s := c.Finish(id.Job); s.State != "CANCELLED" || time.Since(begin) > time.Minute {
		t.Errorf("%s: %+v after %v", out, s, time.Since(begin))
	}
	c.Wait("what was prepared for "+out+" is gone", func() bool { return len(list(c)) == 0 })
}
