package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

// TestJobSoak is the soak of jobs: three users run mixed jobs over one file, each with numbers of reduces and splits of its
// own, on six workers that are processes, while workers and the master are killed, workers are stopped, bytes are flipped, a
// disk is full, policies change in turn and nonsense is submitted. Every job has the output of a run on one machine; in the end fsck is healthy
// and nothing is left.
func TestJobSoak(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	length, seed := soakLength(t, time.Minute)
	t.Logf("seed %d, %s", seed, length)
	s := &jobSoak{soak: startSoak(t, seed, "stop a worker", "change the policy", "submit nonsense")}
	s.patience = 3 * time.Minute
	data := text(t, 300_000)
	s.put("/in", data)
	s.kinds = []string{"wordcount", "distinct", "sort"}
	s.want = map[string][]string{}
	for _, kind := range s.kinds {
		s.want[kind] = onOneMachine(t, kind, data)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i, user := range []string{"ann", "bob", "eve"} {
		r := newRunner(s, user, rand.New(rand.NewPCG(seed, uint64(10+i))))
		wg.Go(func() { r.work(stop) })
	}
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		s.fault()
	}
	close(stop)
	wg.Wait()
	s.healthy()
	s.tidy()
	t.Logf("%d jobs, longest %s; faults: %v", s.ended.Load(), time.Duration(s.longest.Load()).Round(time.Millisecond), s.count)
}

// onOneMachine is the lines that a built-in job makes of a text without a cluster, in order.
func onOneMachine(t *testing.T, kind string, data []byte) []string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	writeFile(t, in, data)
	stages, err := jobs.Parse(kind, []string{"--input", in, "--output", out, "--reducers", "1"})
	if err == nil {
		_, err = local.Run(t.Context(), local.Config{Scratch: dir}, stages...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return linesIn(t, out)
}

// linesIn are the lines of an output on this machine, in order.
func linesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, f := range files {
		if parts[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return linesOf(parts)
}

// linesOf are the lines of all parts of an output, in order.
func linesOf(parts map[string][]byte) (out []string) {
	for name, b := range parts {
		if !strings.HasSuffix(name, "_SUCCESS") {
			for line := range bytes.Lines(b) {
				out = append(out, string(line))
			}
		}
	}
	slices.Sort(out)
	return out
}

// A jobSoak is a soak with jobs.
type jobSoak struct {
	*soak
	kinds          []string
	want           map[string][]string // lines, by kind of job
	ended, longest atomic.Int64
}

// A runner runs jobs of one user, one after the other.
type runner struct {
	s    *jobSoak
	cl   *client.Client
	user string
	rng  *rand.Rand
	next int
}

func newRunner(s *jobSoak, user string, rng *rand.Rand) *runner {
	cl, err := client.New(client.Config{Master: s.addr, User: user, Patience: 3 * time.Minute})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cl.Close() })
	return &runner{s: s, cl: cl, user: user, rng: rng}
}

func (r *runner) work(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		begin := time.Now()
		if err := r.one(); err != nil {
			r.s.t.Errorf("%s: %v", r.user, err)
			return
		}
		r.s.ended.Add(1)
		r.s.longest.Store(max(r.s.longest.Load(), int64(time.Since(begin))))
	}
}

// one runs a job and compares what it leaves.
func (r *runner) one() error {
	r.next++
	kind, out := r.s.kinds[r.rng.IntN(len(r.s.kinds))], fmt.Sprintf("/user/%s/out%d", r.user, r.next)
	words := []string{
		"--input", "dfs:/in", "--output", "dfs:" + out, "--reducers", fmt.Sprint(1 + r.rng.IntN(4)),
		"--split-bytes", fmt.Sprint(20_000 + r.rng.IntN(200_000)), "--compress", []string{"s2", "zstd", "none"}[r.rng.IntN(3)],
	}
	stages, err := jobs.Parse(kind, words)
	if err != nil {
		return err
	}
	ctx := context.Background()
	id, err := r.cl.Submit(ctx, client.SpecOf(stages, wire.Program{Builtin: kind, Args: words}, false))
	if err != nil {
		return err
	}
	st, err := r.cl.WaitFor(ctx, id, 3*time.Minute, nil, nil)
	if err != nil || st.State != wire.Succeeded {
		return fmt.Errorf("%s %v: %s %s, %w", id, words, st.State, st.Error, err)
	}
	parts, err := readDir(r.cl, out)
	if err != nil {
		return err
	}
	if got, want := linesOf(parts), r.s.want[kind]; !slices.Equal(got, want) || parts["_SUCCESS"] == nil {
		return fmt.Errorf("%s %s %v: %d lines, want %d; or others", id, kind, words, len(got), len(want))
	}
	return r.cl.DFS().Remove(ctx, out, true)
}

// tidy waits until nothing of any job is left: no attempt, no room that one holds, no file of one.
func (s *jobSoak) tidy() {
	s.t.Helper()
	var left []string
	defer func() {
		if s.t.Failed() {
			s.t.Logf("left: %q", left)
		}
	}()
	s.wait("nothing is left", func() bool {
		left = left[:0]
		nodes, err := s.cl.Nodes(context.Background())
		for _, n := range nodes {
			if n.Running > 0 || n.State != "up" {
				left = append(left, fmt.Sprintf("%s is %s with %d attempts", n.Node, n.State, n.Running))
			}
		}
		for _, dir := range []string{"/tmp/.millrace", "/user/ann", "/user/bob", "/user/eve"} {
			list, err2 := s.cl.DFS().ListAll(context.Background(), dir)
			if err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
				err = err2
			}
			for _, e := range list {
				left = append(left, e.Path)
			}
		}
		files, _ := filepath.Glob(filepath.Join(s.dir, "w*", "scratch", "*", "*", "*"))
		left = append(left, files...)
		return err == nil && len(left) == 0
	})
}
