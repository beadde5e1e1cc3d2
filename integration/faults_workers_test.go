package integration

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// TestLostMapOutput is FAULTS row 3: a worker dies when all maps but one are done, before anything was fetched. Exactly
// the maps whose output lay there run again.
func TestLostMapOutput(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	r := newRig(t, rigConfig{workers: 4, splits: 12, reducers: 3})
	release := make(chan struct{})
	var held atomic.Value // the node that runs the last map
	r.hooks.Store(&hooks{onMap: func(node wire.NodeName, task *mapreduce.Task) error {
		if task.Index == 11 {
			held.CompareAndSwap(nil, node)
			select {
			case <-release:
			case <-task.Context().Done():
			}
		}
		return nil
	}})
	id := r.submit(wire.JobSpec{Slowstart: 1})
	r.Wait("all maps but one are done", func() bool { return r.Status(id).Maps.Done == 11 })
	s := r.Status(id)
	var victim int
	for i, n := range r.Workers {
		if n.Name != held.Load() && string(n.Name) != s.Driver && len(r.mapsOn(id, n.Name)) > 0 {
			victim = i
		}
	}
	lost := r.mapsOn(id, r.Workers[victim].Name)
	begin := time.Now()
	r.Workers[victim].Stop()
	r.Wait("the loss is noticed", func() bool {
		for _, n := range r.Nodes() {
			if n.Node == r.Workers[victim].Name {
				return n.State == "down"
			}
		}
		return false
	})
	noticed := time.Since(begin)
	close(release)
	r.succeed(id)
	t.Logf("%d maps lost, noticed after %s, done after %s; without faults the job takes %s", len(lost), noticed, time.Since(begin), r.took)
	if got := again(r.launched(id, wire.MapTask)); !maps.Equal(got, lost) {
		t.Errorf("maps %v ran again, the output of %v was lost", got, lost)
	}
}

// spoil makes a worker's scratch directory unusable, also for root.
func spoil(t *testing.T, n *testcluster.Node) {
	t.Helper()
	dir := filepath.Join(n.Dir, "scratch")
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
}

// TestBlackHole is FAULTS row 9: a worker on which every attempt fails at once is left alone soon, also where there are
// only two; where all are like that the job ends and says why.
func TestBlackHole(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	for _, workers := range []int{2, 4} {
		r := newRig(t, rigConfig{workers: workers, splits: 20, reducers: 3})
		spoil(t, r.Workers[0])
		id := r.submit(wire.JobSpec{})
		r.succeed(id)
		bad := 0
		for _, e := range r.events(id) {
			if e.Kind == wire.PastLaunched && e.Node == r.Workers[0].Name {
				bad++
			}
		}
		if slots := 3; bad > 3+slots {
			t.Errorf("of %d workers the bad one got %d attempts", workers, bad)
		}
		t.Logf("of %d workers the bad one got %d attempts", workers, bad)
		for _, n := range r.Workers[1:] {
			spoil(t, n)
		}
		begin := time.Now()
		s := r.Finish(r.submit(wire.JobSpec{}))
		t.Logf("%s after %s, %d attempts: %s", s.State, time.Since(begin), s.Attempts, s.Error)
		if s.State != "FAILED" || !strings.Contains(s.Error, "not a directory") || time.Since(begin) > 30*time.Second {
			t.Errorf("all workers are bad: %s after %s, %q", s.State, time.Since(begin), s.Error)
		}
		r.tidy()
	}
}
