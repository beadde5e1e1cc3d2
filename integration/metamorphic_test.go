package integration

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/worker"
)

// A setting is one way to run a job. Whatever it is, the output is the same.
type setting struct {
	local    bool   // on one machine, without a cluster
	runner   string // built-in job, command, or program of a user
	workers  int    // of the cluster
	policy   string
	split    int
	reducers int
	memory   int64 // of a run on one machine, in MiB
	codec    string
	copies   int  // of the input
	restart  bool // a worker is stopped and started meanwhile
}

// sizes are how many workers the clusters have.
var sizes = []int{1, 2, 4}

// plain is the setting that others are made simpler towards.
var plain = setting{runner: "built-in", workers: 4, policy: "fifo", split: 1 << 20, reducers: 1, memory: 64, codec: "s2", copies: 1}

func drawSetting(r *rand.Rand) setting {
	all := policies.Names(scheduler.Assignment)
	return setting{
		runner: []string{"built-in", "command", "program"}[r.IntN(3)], workers: sizes[r.IntN(len(sizes))],
		local: r.IntN(4) == 0, policy: all[r.IntN(len(all))], split: 5_000 + r.IntN(100_000), reducers: 1 + r.IntN(7), memory: 32 + r.Int64N(64),
		codec: []string{"s2", "zstd", "none"}[r.IntN(3)], copies: 1 + r.IntN(3), restart: r.IntN(5) == 0,
	}
}

// simpler lists settings with one thing more as in plain.
func (s setting) simpler() (out []setting) {
	for _, change := range []func(*setting){
		func(o *setting) { o.runner = plain.runner }, func(o *setting) { o.workers = plain.workers },
		func(o *setting) { o.restart = plain.restart }, func(o *setting) { o.policy = plain.policy }, func(o *setting) { o.copies = plain.copies },
		func(o *setting) { o.codec = plain.codec }, func(o *setting) { o.split = plain.split }, func(o *setting) { o.memory = plain.memory },
		func(o *setting) { o.reducers = plain.reducers }, func(o *setting) { o.local = plain.local },
	} {
		o := s
		if change(&o); o != s {
			out = append(out, o)
		}
	}
	return out
}

// TestAnySettingGivesOneOutput runs a word count in 20 random ways (500 with stress): as a built-in job, as commands and as a
// program, by every policy, over splits, reduces, memory, codecs and copies of any number, on one machine and on clusters of one to four workers, with
// and without a worker that restarts. All give one output. Of a setting that does not the smallest that still fails is printed.
func TestAnySettingGivesOneOutput(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	runs, seed := 20, uint64(1)
	if require.Stressed() {
		runs, seed = 500, drawnSeed(t)
	}
	t.Logf("seed %d", seed)
	m := newMeta(t)
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range runs {
		s := drawSetting(r)
		err := m.run(s)
		for err != nil {
			next := slices.IndexFunc(s.simpler(), func(o setting) bool { return m.run(o) != nil })
			if next < 0 {
				t.Fatalf("run %d: the smallest setting that fails: %+v: %v", i, s, m.run(s))
			}
			s = s.simpler()[next]
		}
	}
}

// A meta is clusters, an input and what a word count makes of it.
type meta struct {
	t        *testing.T
	clusters map[int]*testcluster.Cluster // by their workers
	file     string
	want     []string
	runs     int
}

func newMeta(t *testing.T) *meta {
	m := &meta{t: t, clusters: map[int]*testcluster.Cluster{}, file: filepath.Join(t.TempDir(), "in")}
	data := text(t, 120_000)
	writeFile(t, m.file, data)
	for _, n := range sizes {
		m.clusters[n] = m.start(n, data)
	}
	m.want = onOneMachine(t, "wordcount", data)
	return m
}

// start starts a cluster with copies of the input. Programs are the test's own, so they need no users of their own.
func (m *meta) start(workers int, data []byte) *testcluster.Cluster {
	c := testcluster.Start(m.t, testcluster.Config{Workers: workers, Racks: 2, Worker: func(w *worker.Config) { w.Isolation = worker.IsolationNone }})
	for copies := 1; copies <= 3; copies++ {
		w, err := c.DFS.Create(m.t.Context(), fmt.Sprint("/in", copies), dfs.CreateOptions{BlockSize: 32 << 10, Replication: copies})
		if err != nil {
			m.t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			m.t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			m.t.Fatal(err)
		}
	}
	return c
}

// words are those by which a setting's runner is told what to do. Programs cut no splits and choose no codec.
func (s setting) words(input, output string) []string {
	reducers := fmt.Sprint(s.reducers)
	if s.runner == "program" {
		return []string{"-input", input, "-output", output, "-reducers", reducers}
	}
	words := []string{"--input", input, "--output", output, "--reducers", reducers, "--split-bytes", fmt.Sprint(s.split), "--compress", s.codec}
	if s.runner == "command" {
		return append(words, "--mapper", `tr -s ' \t\r' '\n' | sed '/^$/d; s/$/\t1/'`, "--reducer", `cut -f1 | uniq -c | sed 's/^ *\([0-9]*\) \(.*\)/\2\t\1/'`)
	}
	return words
}

// job is the built-in job of a setting.
func (s setting) job() string {
	return map[string]string{"built-in": "wordcount", "command": "streaming"}[s.runner]
}

// run runs the job one way and says how its output differs.
func (m *meta) run(s setting) error {
	m.runs++
	if s.local {
		return m.runHere(s, filepath.Join(m.t.TempDir(), "out"))
	}
	c := m.clusters[s.workers]
	if _, err := api.SchedulerSet.Call(m.t.Context(), c.Client, c.Addr, wire.Choice{Name: s.policy}); err != nil {
		return err
	}
	out := fmt.Sprint("/tmp/out", m.runs) // where programs of whoever runs this may write
	id, err := m.submit(c, s, s.words(fmt.Sprint("dfs:/in", s.copies), "dfs:"+out))
	if err != nil {
		return err
	}
	if s.restart {
		w := c.Workers[m.runs%len(c.Workers)]
		w.Stop()
		w.Start()
	}
	if st := c.Finish(id); st.State != wire.Succeeded {
		return fmt.Errorf("%s: %s", st.State, st.Error)
	}
	parts, err := readDir(newClient(m.t, c, "ann"), out)
	if err != nil {
		return err
	}
	return m.differs(linesOf(parts))
}

// submit hands the job in; a program does that itself.
func (m *meta) submit(c *testcluster.Cluster, s setting, words []string) (wire.JobID, error) {
	if s.runner != "program" {
		return c.Submit(wire.JobSpec{}, append([]string{s.job()}, words...)...), nil
	}
	cmd := exec.Command(program(m.t, "wordcount"), append([]string{"-master", c.Addr, "-detach"}, words...)...)
	said, err := cmd.CombinedOutput()
	id := regexp.MustCompile(`job-\d+`).Find(said)
	if err != nil || id == nil {
		return "", fmt.Errorf("%v: %w: %s", cmd, err, said)
	}
	return wire.JobID(id), nil
}

func (m *meta) runHere(s setting, out string) error {
	words := s.words(m.file, out)
	if s.runner == "program" {
		words = append(words, "-local", "-memory", fmt.Sprint(s.memory, "MiB"))
		if said, err := exec.Command(program(m.t, "wordcount"), words...).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, said)
		}
		return m.differs(linesIn(m.t, out))
	}
	stages, err := jobs.Parse(s.job(), words)
	if err != nil {
		return err
	}
	if _, err := local.Run(m.t.Context(), local.Config{Scratch: m.t.TempDir(), Memory: s.memory << 20}, stages...); err != nil {
		return err
	}
	return m.differs(linesIn(m.t, out))
}

func (m *meta) differs(got []string) error {
	if slices.Equal(got, m.want) {
		return nil
	}
	return fmt.Errorf("%d lines, want %d; or others", len(got), len(m.want))
}
