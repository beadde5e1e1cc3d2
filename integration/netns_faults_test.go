package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// lanJob is the slow job of a lan and what it must write.
type lanJob struct {
	*lan
	want []string
}

func withJob(t *testing.T, workers int, masterFlags ...string) *lanJob {
	t.Helper()
	data := text(t, 20<<16)
	want := reference(t, data, "streaming", "--mapper", "cut -d' ' -f1", "--reducer", "uniq -c", "--reducers", "3")
	l := startLAN(t, workers, masterFlags...)
	l.put("/in", data)
	return &lanJob{l, want}
}

// at waits until a share of a stage's tasks is done or, for reduces, all maps are.
func (l *lanJob) at(id wire.JobID, phase string) {
	l.t.Helper()
	l.wait("the job is in its "+phase+" phase", func() bool {
		s, err := l.cl.Status(l.t.Context(), id)
		if err != nil {
			return false
		}
		if phase == "map" {
			return s.Maps.Done >= s.Maps.Total/4 && s.Maps.Total > 0
		}
		return s.Maps.Total > 0 && s.Maps.Done == s.Maps.Total
	})
}

// ends waits for the job and compares its output.
func (l *lanJob) ends(id wire.JobID, out string) {
	l.t.Helper()
	var s wire.JobStatus
	l.wait("the job ends", func() bool {
		var err error
		s, err = l.cl.Status(l.t.Context(), id)
		return err == nil && s.State != "QUEUED" && s.State != "RUNNING"
	})
	if s.State != "SUCCEEDED" {
		l.t.Fatalf("%+v", s)
	}
	if got := lines(l.output(out)); !slices.Equal(got, l.want) {
		l.t.Errorf("%s: another output than on one machine: %d lines, want %d", out, len(got), len(l.want))
	}
}

// back waits until all workers are up and hold their blocks, and says how long it took.
func (l *lanJob) back(workers int, limit time.Duration) {
	l.t.Helper()
	begin := time.Now()
	l.wait("all are back", func() bool {
		stores, err := l.cl.DFS().Nodes(l.t.Context())
		live := 0
		for _, n := range stores {
			if n.State == "live" {
				live++
			}
		}
		return err == nil && live == workers && len(l.in("up")) == workers
	})
	took := time.Since(begin)
	l.t.Logf("all are back %s after healing", took)
	if took > limit {
		l.t.Errorf("all are back only %s after healing, want %s", took, limit)
	}
}

// TestCutWorker is rows 52 and 53 of FAULTS.md: a worker that is cut off while the job maps, and another while it
// reduces, cost time and nothing else.
func TestCutWorker(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	l := withJob(t, 4)
	for phase, cut := range map[string]time.Duration{"map": 10 * time.Second, "reduce": 12 * time.Second} {
		if require.Stressed() && phase == "reduce" {
			cut = 45 * time.Second
		}
		id := l.slowWords("/out-" + phase)
		l.at(id, phase)
		l.cut("w2")
		time.Sleep(cut)
		l.heal()
		l.back(4, 15*time.Second)
		l.ends(id, "/out-"+phase)
	}
}

// replicas says on which workers each file of the block stores lies.
func (l *lanJob) replicas() map[string][]string {
	l.t.Helper()
	out := map[string][]string{}
	for i := range len(l.within) - 1 {
		name := fmt.Sprint("w", i+1)
		dir := filepath.Join(l.dir, name, "blocks")
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				out[d.Name()] = append(out[d.Name()], name)
			}
			return err
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return out
}

// TestCutMaster is row 55: a master that hears nobody does not take all for dead.
func TestCutMaster(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	l := withJob(t, 4)
	cut := 12 * time.Second // more than --silence
	if require.Stressed() {
		cut = 15 * time.Second
	}
	id := l.slowWords("/out")
	l.at(id, "map")
	before := l.replicas()
	l.cut("master")
	time.Sleep(cut)
	l.heal()
	l.back(4, 15*time.Second)
	l.ends(id, "/out")
	lost := l.count(id, wire.PastOutputLost) + l.count(id, wire.PastLost)
	if lost > 0 {
		t.Errorf("%d attempts and outputs were given up", lost)
	}
	after := l.replicas()
	for name, where := range before {
		if !slices.Equal(after[name], where) {
			t.Errorf("%s was on %s and is on %s: copied or deleted", name, where, after[name])
		}
	}
}

// count counts events of a job that has ended.
func (l *lanJob) count(id wire.JobID, kind wire.PastKind) (n int) {
	l.t.Helper()
	if err := l.cl.Events(l.t.Context(), id, func(e *wire.PastEvent) {
		if e.Kind == kind {
			n++
			l.t.Logf("%+v", *e)
		}
	}); err != nil {
		l.t.Fatal(err)
	}
	return n
}

// TestSplit is row 56: the side with the master goes on, though it is the smaller one; what the other side does counts
// for nothing.
func TestSplit(t *testing.T) {
	require.Stress(t)
	t.Parallel()
	l := withJob(t, 5)
	id := l.slowWords("/out")
	l.at(id, "map")
	there := `{ "w3", "w4", "w5" }`
	l.drop("iifname "+there+" oifname != "+there, "iifname != "+there+" oifname "+there)
	l.wait("three are given up", func() bool { return len(l.in("down")) == 3 })
	time.Sleep(time.Second)
	l.heal()
	l.back(5, 15*time.Second)
	l.ends(id, "/out")
	for task, n := range l.winners(id) {
		if n != 1 {
			t.Errorf("%d attempts of %s count", n, task)
		}
	}
}

// TestLossyNetwork is row 57: where every twentieth packet is lost nobody is given up, and the job ends; where one worker
// loses three in ten the job ends. The second half is for stress; gossip's part of it is in internal/membership.
func TestLossyNetwork(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	l := withJob(t, 4)
	l.drop("numgen random mod 100 < 5")
	id := l.slowWords("/out5")
	l.ends(id, "/out5")
	if require.Stressed() {
		time.Sleep(time.Minute)
	}
	if log := l.log("master"); strings.Contains(log, "is gone") {
		t.Errorf("given up:\n%s", log)
	}
	if !require.Stressed() {
		return
	}
	l.heal()
	l.drop(`iifname "w2" numgen random mod 100 < 30`, `oifname "w2" numgen random mod 100 < 30`)
	l.patience = 5 * time.Minute // half of all round trips fail, and TCP waits twice as long after each
	begin := time.Now()
	l.ends(l.slowWords("/out30"), "/out30")
	t.Logf("the job took %s with 30 %% loss of one worker, both ways", time.Since(begin))
	l.heal()
	l.back(4, 15*time.Second)
}

// log is what a process has written.
func (l *lanJob) log(name string) string {
	l.t.Helper()
	b, err := os.ReadFile(filepath.Join(l.dir, name+".log"))
	if err != nil {
		l.t.Fatal(err)
	}
	return string(b)
}

// winners is how many attempts of each task count.
func (l *lanJob) winners(id wire.JobID) map[string]int {
	l.t.Helper()
	out := map[string]int{}
	if err := l.cl.Events(l.t.Context(), id, func(e *wire.PastEvent) {
		switch task := fmt.Sprint(e.Task, e.Index); {
		case e.Kind == wire.PastDone && e.Task != wire.DriverTask:
			out[task]++
		case e.Kind == wire.PastOutputLost:
			out[task]--
		}
	}); err != nil {
		l.t.Fatal(err)
	}
	return out
}

// TestTwoCannotTalk: two workers that the master hears and that do not reach each other, for good. Map output that one
// cannot fetch from the other is made again elsewhere, and writes go around.
func TestTwoCannotTalk(t *testing.T) {
	require.Stress(t)
	t.Parallel()
	l := withJob(t, 4)
	l.drop(`iifname "w1" oifname "w2"`, `iifname "w2" oifname "w1"`)
	begin := time.Now()
	l.ends(l.slowWords("/out"), "/out")
	t.Logf("the job took %s", time.Since(begin))
}

// TestOneWayCut: a worker that is heard and hears nothing, then one that hears and is not heard.
func TestOneWayCut(t *testing.T) {
	require.Stress(t)
	t.Parallel()
	l := withJob(t, 4)
	for _, way := range []string{"iif", "oif"} {
		id := l.slowWords("/out-" + way)
		l.at(id, "map")
		l.drop(way + `name "w2"`)
		time.Sleep(15 * time.Second)
		l.heal()
		l.back(4, 15*time.Second)
		l.ends(id, "/out-"+way)
	}
}
