package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// TestStraggler is FAULTS row 4: on one worker everything takes very long. Without second attempts the job waits for it,
// with them it does not.
func TestStraggler(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	const long = 5 * time.Second
	took := map[bool]time.Duration{}
	for _, on := range []bool{false, true} {
		r := newRig(t, rigConfig{workers: 4, splits: 12, reducers: 2, master: func(c *master.Config) {
			c.Jobs.SecondAttempts.Off, c.Jobs.SecondAttempts.After = !on, 300*time.Millisecond
		}})
		r.hooks.Store(&hooks{onMap: func(node wire.NodeName, task *mapreduce.Task) error {
			d := 30 * time.Millisecond
			if node == "w2" {
				d = long
			}
			select {
			case <-time.After(d):
			case <-task.Context().Done():
			}
			return nil
		}})
		took[on] = r.timed()
		extra := 0
		for _, n := range r.launched(wire.JobID("job-2"), wire.MapTask) {
			extra += n - 1
		}
		t.Logf("second attempts %v: %s, %d of them", on, took[on], extra)
	}
	if took[false] < long || took[true] >= took[false] {
		t.Errorf("with second attempts %s, without %s", took[true], took[false])
	}
}

// TestReducersDiskFull is FAULTS row 33: a worker has no room for what its reduces fetch. They go elsewhere, and no map is
// blamed for it.
func TestReducersDiskFull(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	small := require.Tmpfs(t, "size=3m")
	r := newRig(t, rigConfig{workers: 3, splits: 12, reducers: 2, lineBytes: 600, worker: func(c *worker.Config) {
		c.Sort = 16 << 20
		if c.Node == "w1" {
			c.Data, c.Dir = []string{c.Dir}, small
		}
	}})
	id := r.submit(wire.JobSpec{})
	r.succeed(id)
	full := 0
	for _, e := range r.events(id) {
		switch {
		case e.Kind == wire.PastOutputLost || e.Kind == wire.PastFailed:
			t.Errorf("%s %d: %s: %s", e.Task, e.Index, e.Kind, e.Text)
		case e.Kind == wire.PastLost:
			full++
		}
	}
	t.Logf("%d attempts went elsewhere", full)
	if full == 0 {
		t.Error("the disk was never full, so nothing was tested")
	}
}

// TestFanOut is FAULTS row 35: many maps and many reduces on workers that may open few files.
func TestFanOut(t *testing.T) {
	require.Faults(t)
	n := 60
	if require.Stressed() {
		n = 500
	}
	p := startProcesses(t, 2)
	for _, name := range []string{"w1", "w2"} {
		limit := unix.Rlimit{Cur: 256, Max: 256}
		if err := unix.Prlimit(p.run[name].Process.Pid, unix.RLIMIT_NOFILE, &limit, nil); err != nil {
			t.Fatal(err)
		}
	}
	words := []string{"--maps", fmt.Sprint(n), "--reduces", fmt.Sprint(n), "--map-time", "1ms", "--reduce-time", "1ms", "--shuffle-bytes", "4MiB", "--output", "dfs:/out"}
	stages, err := jobs.Parse("synthetic", words)
	if err != nil {
		t.Fatal(err)
	}
	id, err := p.cl.Submit(t.Context(), client.SpecOf(stages, wire.Program{Builtin: "synthetic", Args: words}, false))
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	p.wait("the job ends", func() bool {
		for _, name := range []string{"w1", "w2"} {
			list, _ := os.ReadDir(filepath.Join("/proc", fmt.Sprint(p.run[name].Process.Pid), "fd"))
			most = max(most, len(list))
		}
		s, err := p.cl.Status(t.Context(), id)
		return err == nil && s.State.Ended()
	})
	s, err := p.cl.Status(t.Context(), id)
	if err != nil || s.State != "SUCCEEDED" || s.Attempts != 2*n+1 {
		t.Errorf("%v: %+v", err, s)
	}
	t.Logf("%d x %d: at most %d files open", n, n, most)
	if most > 200 {
		t.Errorf("%d files were open at once", most)
	}
}
