package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/sim"
)

// TestLabOwnPolicy: a policy of the reader's runs on the cluster and the jobs of an experiment, beside those that it lets people watch.
func TestLabOwnPolicy(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "mine.star")
	if err := os.WriteFile(script, []byte("def key(job, node, now):\n    return job.maps\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	scene := lab.Scene{Name: "fifo", Setup: func() (sim.Config, []*sim.Job, error) {
		cfg, err := lab.Slotted(1, 1, 1, "fifo", nil)
		cfg.Heartbeat = time.Second
		job := func(id scheduler.JobID, maps int32) *sim.Job {
			return &sim.Job{Spec: &scheduler.JobSpec{ID: id, Maps: maps}, Maps: []time.Duration{10 * time.Second}}
		}
		return cfg, []*sim.Job{job(0, 9), job(1, 1)}, err
	}}
	o, cmd, said := labRun{out: dir}, &cobra.Command{}, &bytes.Buffer{}
	cmd.SetOut(said)
	cmd.SetErr(said)
	rest, err := o.takePolicy([]string{"nodes=60", "policy=" + script})
	if err != nil || len(rest) != 1 || rest[0] != "nodes=60" {
		t.Fatalf("%v, %v", rest, err)
	}
	if err := o.tryOwn(cmd, []lab.Report{{ID: "exp", Scenes: []lab.Scene{scene, scene}}}); err != nil {
		t.Fatal(err)
	}
	mean := map[string]string{}
	for line := range strings.Lines(said.String()) {
		if cells := strings.Split(line, "│"); len(cells) > 3 {
			mean[strings.TrimSpace(cells[1])] = strings.TrimSpace(cells[2])
		}
	}
	if mean["fifo"] == "" || mean["mine"] == "" || mean["fifo"] == mean["mine"] {
		t.Errorf("the small job comes first under the script, and last under fifo; it says\n%s", said)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "play", "exp-own.html")); err != nil || len(page) == 0 {
		t.Errorf("its player: %v", err)
	}
	if err := o.tryOwn(cmd, []lab.Report{{ID: "plain"}}); err == nil || !strings.Contains(err.Error(), "plain") {
		t.Errorf("an experiment with nothing to watch: %v", err)
	}
	for _, wrong := range []string{"policy=none", "policy=none.star", "policy="} {
		if _, err := (&labRun{}).takePolicy([]string{wrong}); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// An experiment whose runs are too long for a page gets none, and the command says so; its report has no link then.
func TestLongScenesHaveNoPlayer(t *testing.T) {
	scene := func(maps int32) lab.Scene {
		return lab.Scene{Name: "fifo", Setup: func() (sim.Config, []*sim.Job, error) {
			rng := rand.New(rand.NewPCG(1, 2))
			cfg, err := lab.Slotted(50, 4, 1, "fifo", nil)
			job := &sim.Job{Spec: &scheduler.JobSpec{Maps: maps}}
			for range maps {
				job.Maps = append(job.Maps, time.Duration(rng.Int64N(int64(time.Minute))))
			}
			return cfg, []*sim.Job{job}, err
		}}
	}
	short, long := scene(100), scene(20_000)
	reports := []lab.Report{{ID: "plain"}, {ID: "short", Scenes: []lab.Scene{short, short}}, {ID: "long", Scenes: []lab.Scene{long, long}}}
	o, cmd, said := labRun{out: t.TempDir()}, &cobra.Command{}, &bytes.Buffer{}
	cmd.SetErr(said)
	if err := o.writeScenes(cmd, reports, 200<<10); err != nil {
		t.Fatal(err)
	}
	if reports[0].Player != "" || reports[1].Player != "play/short.html" || reports[2].Player != "" {
		t.Errorf("players: %q, %q, %q", reports[0].Player, reports[1].Player, reports[2].Player)
	}
	if got := said.String(); !strings.HasPrefix(got, "long has no player: the page would have ") || strings.Count(got, "\n") != 1 {
		t.Errorf("it says %q", got)
	}
	files, err := os.ReadDir(filepath.Join(o.out, "play"))
	if err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestLabSetHelp: what can be set of an experiment is shown with its number and its meaning, also as JSON, and nothing is run.
func TestLabSetHelp(t *testing.T) {
	show := func(args ...string) string {
		t.Helper()
		var said bytes.Buffer
		cmd := newLab()
		cmd.SetOut(&said)
		cmd.SetArgs(append([]string{"run", "nas-40", "marp-slots", "--set", "help"}, args...))
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		return said.String()
	}
	for _, want := range []string{"│ nas-40     │ gap        │ 14      │ mean time between arrivals, in seconds ", "│ marp-slots │            │         │ nothing of its set-up can be changed"} {
		if said := show(); !strings.Contains(said, want) {
			t.Errorf("%s has no line %s", said, want)
		}
	}
	if said := show("--json"); !strings.HasPrefix(said, `[{"id":"nas-40","settings":[{"name":"containers","own":16,"meaning":"of each node"},`) || !strings.HasSuffix(said, `{"id":"marp-slots","settings":[]}]`+"\n") {
		t.Error(said)
	}
}
