package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/task"
)

// A dying store is a file system whose user dies at one of its changes: just before it, or when it is made and nobody has
// been told.
type dying struct {
	storage.FS
	mu   sync.Mutex
	left int
	late bool
}

var errDead = errors.New("the driver is dead")

func (d *dying) change(do func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.left--
	switch {
	case d.left > 0:
		return do()
	case d.left == 0 && d.late:
		return errors.Join(errDead, do())
	}
	return errDead
}

func (d *dying) Create(path string) (w storage.Writer, err error) {
	err = d.change(func() (err error) {
		w, err = d.FS.Create(path)
		return err
	})
	if err != nil {
		if w != nil {
			w.Close()
		}
		return nil, err
	}
	return dyingFile{w, d}, nil
}

func (d *dying) Rename(from, to string) error {
	return d.change(func() error { return d.FS.Rename(from, to) })
}

func (d *dying) RemoveAll(path string) error {
	return d.change(func() error { return d.FS.RemoveAll(path) })
}

type dyingFile struct {
	storage.Writer
	d *dying
}

func (f dyingFile) Write(b []byte) (n int, err error) {
	err = f.d.change(func() (err error) {
		n, err = f.Writer.Write(b)
		return err
	})
	return n, err
}

// TestDriverDiesInCommit is FAULTS row 20: the driver dies at each step of the commit, and the next one goes on. The output
// is never seen without a part, and in the end it is whole, with nothing beside it.
func TestDriverDiesInCommit(t *testing.T) {
	require.Faults(t)
	for _, overwrite := range []bool{false, true} {
		for _, late := range []bool{false, true} {
			for step := 1; ; step++ {
				died := commitTwice(t, overwrite, late, step)
				if t.Failed() {
					t.Fatalf("overwrite %v, late %v, step %d", overwrite, late, step)
				}
				if !died {
					if t.Logf("overwrite %v, late %v: %d steps", overwrite, late, step-1); step < 8 {
						t.Errorf("only %d steps: the test is blind", step-1)
					}
					break
				}
			}
		}
	}
}

func commitTwice(t *testing.T, overwrite, late bool, step int) (died bool) {
	t.Helper()
	const parts = 3
	dir := t.TempDir()
	final := filepath.Join(dir, "out")
	job := &mapreduce.Job{Output: "dying:" + final}
	if overwrite {
		if err := errors.Join(os.Mkdir(final, 0o700), os.WriteFile(filepath.Join(final, "part-r-00000"), []byte("old"), 0o600),
			os.Mkdir(filepath.Join(final, "_attempts"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	on := func(fs storage.FS) storage.Mux { return storage.Mux{Stores: map[string]storage.FS{"dying": fs}} }
	o, err := task.CheckOutput(on(storage.Disk{}), job, "job-7-0", overwrite)
	if err := errors.Join(err, o.Make()); err != nil {
		t.Fatal(err)
	}
	winners := make([]uint64, parts)
	for i := range parts {
		winners[i] = uint64(10 + i)
		for _, try := range []uint64{5, winners[i]} {
			name := filepath.Join(o.Work(), "_attempts", fmt.Sprintf("part-r-%05d-%d", i, try))
			writeFile(t, name, fmt.Appendf(nil, "part %d of %d", i, try))
		}
	}
	drive := func(mux storage.Mux) error {
		o, err := task.JoinOutput(mux, job, o.Work(), overwrite)
		if err != nil {
			return err
		}
		if err := o.Publish(mapreduce.ReduceTask, winners); err != nil {
			return err
		}
		return o.CommitOnce("job-7", 20)
	}
	err = drive(on(&dying{FS: storage.Disk{}, left: step, late: late}))
	died = errors.Is(err, errDead)
	if err != nil && !died {
		t.Errorf("the first driver: %v", err)
	}
	if _, err := os.Stat(filepath.Join(final, "_SUCCESS")); err == nil {
		wholeOutput(t, final, parts) // nobody sees a part of it
	}
	if err := drive(on(storage.Disk{})); err != nil {
		t.Errorf("the second driver: %v", err)
	}
	wholeOutput(t, final, parts)
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("beside the output: %v, %v", list, err)
	}
	return died
}

func wholeOutput(t *testing.T, dir string, parts int) {
	t.Helper()
	for i := range parts {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("part-r-%05d", i)))
		if err != nil || string(b) != fmt.Sprintf("part %d of %d", i, 10+i) {
			t.Errorf("part %d is %q, %v", i, b, err)
		}
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != parts+1 {
		t.Errorf("the output is %v, %v", list, err)
	}
}

// TestCommitError is the other half of FAULTS row 20: an output that cannot get its name is a failed job, and what was there
// stays as it was.
func TestCommitError(t *testing.T) {
	require.Faults(t)
	r := newRig(t, rigConfig{workers: 2, splits: 4, reducers: 2})
	reached, release := make(chan struct{}, 8), make(chan struct{})
	r.hooks.Store(&hooks{onReduce: func(wire.NodeName, *mapreduce.Task) error {
		reached <- struct{}{}
		<-release
		return nil
	}})
	id := r.submit(wire.JobSpec{})
	<-reached
	dfsPut(t, r.Cluster, "/out2/mine", []byte("mine"))
	close(release)
	s := r.Finish(id)
	if s.State != "FAILED" || !strings.Contains(s.Error, "commit") {
		t.Errorf("%s: %q", s.State, s.Error)
	}
	got, err := readDir(r.cl, "/out2")
	if err != nil || len(got) != 1 || string(got["mine"]) != "mine" {
		t.Errorf("the other's output is %q, %v", got, err)
	}
	r.tidy()
}

// TestTwoAttemptsCommit is FAULTS row 15: two attempts of a reduce end at the same moment. One of them counts, always, and
// nothing is left of the other.
func TestTwoAttemptsCommit(t *testing.T) {
	require.Faults(t)
	runs := 5
	if require.Stressed() {
		runs = 200
	}
	r := newRig(t, rigConfig{workers: 3, splits: 3, reducers: 3, master: func(c *master.Config) {
		c.Jobs.SecondAttempts = tracker.SecondAttempts{LATE: drive.LATE{After: 20 * time.Millisecond, Slower: 1, Share: 1}}
	}})
	raced := 0
	for range runs {
		var mu sync.Mutex
		here, both := 0, make(chan struct{})
		r.hooks.Store(&hooks{onReduce: func(_ wire.NodeName, task *mapreduce.Task) error {
			if task.Index != 0 {
				return nil
			}
			mu.Lock()
			if here++; here == 2 {
				close(both)
			}
			mu.Unlock()
			select {
			case <-both:
			case <-task.Context().Done():
			case <-time.After(20 * time.Second): // nobody came
			}
			return nil
		}})
		id := r.submit(wire.JobSpec{})
		r.succeed(id)
		if r.launched(id, wire.ReduceTask)[0] >= 2 {
			raced++
		}
		if err := r.cl.DFS().Remove(t.Context(), fmt.Sprint("/out", r.runs), true); err != nil {
			t.Fatal(err)
		}
	}
	if raced != runs {
		t.Errorf("two attempts met in %d of %d runs", raced, runs)
	}
}
