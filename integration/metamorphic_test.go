package integration

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
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
)

// A setting is one way to run a job. Whatever it is, the output is the same.
type setting struct {
	local    bool // on one machine, without a cluster
	policy   string
	split    int
	reducers int
	memory   int64 // of a run on one machine, in MiB
	codec    string
	copies   int  // of the input
	restart  bool // a worker is stopped and started meanwhile
}

// plain is the setting that others are made simpler towards.
var plain = setting{policy: "fifo", split: 1 << 20, reducers: 1, memory: 64, codec: "s2", copies: 1}

func drawSetting(r *rand.Rand) setting {
	all := policies.Names(scheduler.Assignment)
	return setting{
		local: r.IntN(4) == 0, policy: all[r.IntN(len(all))], split: 5_000 + r.IntN(100_000), reducers: 1 + r.IntN(7), memory: 32 + r.Int64N(64),
		codec: []string{"s2", "zstd", "none"}[r.IntN(3)], copies: 1 + r.IntN(3), restart: r.IntN(5) == 0,
	}
}

// simpler lists settings with one thing more as in plain.
func (s setting) simpler() (out []setting) {
	for _, change := range []func(*setting){
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

// TestAnySettingGivesOneOutput runs a word count in 20 random ways (500 with stress): by every policy, over splits, reduces,
// memory, codecs and copies of any number, on one machine and on a cluster, with and without a worker that restarts. All give one output. Of
// a setting that does not the smallest that still fails is printed.
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

// A meta is a cluster, an input and what a word count makes of it.
type meta struct {
	*testcluster.Cluster
	t    *testing.T
	file string
	want []string
	runs int
}

func newMeta(t *testing.T) *meta {
	m := &meta{Cluster: testcluster.Start(t, testcluster.Config{Workers: 4, Racks: 2}), t: t, file: filepath.Join(t.TempDir(), "in")}
	data := text(t, 120_000)
	writeFile(t, m.file, data)
	for copies := 1; copies <= 3; copies++ {
		w, err := m.DFS.Create(t.Context(), fmt.Sprint("/in", copies), dfs.CreateOptions{BlockSize: 32 << 10, Replication: copies})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m.want = onOneMachine(t, "wordcount", data)
	return m
}

// run runs the job one way and says how its output differs.
func (m *meta) run(s setting) error {
	m.runs++
	out := fmt.Sprint("/out", m.runs)
	words := []string{"--reducers", fmt.Sprint(s.reducers), "--split-bytes", fmt.Sprint(s.split), "--compress", s.codec}
	if s.local {
		return m.runHere(s, append(words, "--input", m.file, "--output", filepath.Join(m.t.TempDir(), "out")))
	}
	if _, err := api.SchedulerSet.Call(m.t.Context(), m.Client, m.Addr, wire.Choice{Name: s.policy}); err != nil {
		return err
	}
	words = append(words, "--input", fmt.Sprint("dfs:/in", s.copies), "--output", "dfs:"+out)
	id := m.Submit(wire.JobSpec{}, append([]string{"wordcount"}, words...)...)
	if s.restart {
		w := m.Workers[m.runs%len(m.Workers)]
		w.Stop()
		w.Start()
	}
	if st := m.Finish(id); st.State != wire.Succeeded {
		return fmt.Errorf("%s: %s", st.State, st.Error)
	}
	parts, err := readDir(newClient(m.t, m.Cluster, "ann"), out)
	if err != nil {
		return err
	}
	return m.differs(linesOf(parts))
}

func (m *meta) runHere(s setting, words []string) error {
	stages, err := jobs.Parse("wordcount", words)
	if err != nil {
		return err
	}
	if _, err := local.Run(m.t.Context(), local.Config{Scratch: m.t.TempDir(), Memory: s.memory << 20}, stages...); err != nil {
		return err
	}
	return m.differs(linesIn(m.t, stages[0].Output))
}

func (m *meta) differs(got []string) error {
	if slices.Equal(got, m.want) {
		return nil
	}
	return fmt.Errorf("%d lines, want %d; or others", len(got), len(m.want))
}
