package integration

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
	"github.com/millrace/millrace/task"
)

// A steps store makes its user wait before each call until somebody lets it go on. Parts are moved and directories replaced as the
// block store does both.
type steps struct {
	storage.FS
	ask, may chan struct{}
}

func (s *steps) wait() {
	s.ask <- struct{}{}
	<-s.may
}

func (s *steps) Open(path string) (storage.File, error) {
	s.wait()
	return s.FS.Open(path)
}

func (s *steps) Stat(path string) (fs.FileInfo, error) {
	s.wait()
	return s.FS.Stat(path)
}

func (s *steps) Create(path string) (storage.Writer, error) {
	s.wait()
	w, err := s.FS.Create(path)
	return stepsFile{w, s}, err
}

func (s *steps) Rename(from, to string) error {
	s.wait()
	return s.FS.Rename(from, to)
}

func (s *steps) RemoveAll(path string) error {
	s.wait()
	return s.FS.RemoveAll(path)
}

func (s *steps) RenameAll(moves []storage.Move) error {
	s.wait()
	return s.FS.(storage.Mover).RenameAll(moves)
}

func (s *steps) ReplaceDir(from, to string) error {
	s.wait()
	return s.FS.(storage.Replacer).ReplaceDir(from, to)
}

type stepsFile struct {
	storage.Writer
	s *steps
}

func (f stepsFile) Close() error {
	f.s.wait()
	return f.Writer.Close()
}

// A slowDriver commits, and is let go on call by call.
type slowDriver struct {
	steps  *steps
	done   chan error
	asks   bool // it waits to be let go on
	ended  bool
	result error
}

// run lets the driver make n calls, or all that it has to.
func (d *slowDriver) run(n int) (made int) {
	for {
		for !d.asks && !d.ended {
			select {
			case <-d.steps.ask:
				d.asks = true
			case d.result = <-d.done:
				d.ended = true
			}
		}
		if d.ended || made == n {
			return made
		}
		made++
		d.asks = false
		d.steps.may <- struct{}{}
	}
}

// TestTwoDriversCommit is FAULTS row 20, too: a driver that was taken for dead lives, and commits while the next one does. Wherever each of
// them pauses for the other, both end without an error, so that whichever counts has committed; the output is whole, with its mark, and nothing is beside it.
func TestTwoDriversCommit(t *testing.T) {
	require.Faults(t)
	r := newRig(t, rigConfig{workers: 1, splits: 1})
	store := r.cl.DFS().Storage(t.Context())
	all := 1000
	for _, overwrite := range []bool{false, true} {
		longest := 0
		for first := 0; first <= max(longest, 1); first++ {
			for second := 0; second <= max(longest, 1); second++ {
				s := newCommitScene(t, store, fmt.Sprintf("/c-%v-%d-%d", overwrite, first, second), overwrite)
				a, b := s.driver(30), s.driver(31)
				n := a.run(first)
				b.run(second)
				n += a.run(all)
				b.run(all)
				longest = max(longest, n)
				s.check(a, b)
				if t.Failed() {
					t.Fatalf("overwrite %v: the first pauses after %d calls, the second after %d", overwrite, first, second)
				}
			}
		}
		if t.Logf("overwrite %v: up to %d calls", overwrite, longest); longest < 8 {
			t.Errorf("only %d calls: the test is blind", longest)
		}
	}
}

// A commitScene is an output that waits for its commit.
type commitScene struct {
	t         *testing.T
	store     storage.FS
	dir, work string
	overwrite bool
	winners   []uint64
}

func newCommitScene(t *testing.T, store storage.FS, dir string, overwrite bool) *commitScene {
	t.Helper()
	s := &commitScene{t: t, store: store, dir: dir, overwrite: overwrite, winners: []uint64{10, 11}}
	if err := store.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	if overwrite {
		if err := store.MkdirAll(dir + "/out/_attempts"); err != nil {
			t.Fatal(err)
		}
		s.write(dir+"/out/part-r-00000", "old")
	}
	o, err := task.CheckOutput(s.on(store), s.job(), "job-7-0", overwrite)
	if err := errors.Join(err, o.Make()); err != nil {
		t.Fatal(err)
	}
	s.work = o.Work()
	for i, try := range s.winners {
		s.write(fmt.Sprintf("%s/_attempts/part-r-%05d-%d", s.work, i, try), fmt.Sprint("part ", i))
	}
	return s
}

func (s *commitScene) on(store storage.FS) storage.Mux {
	return storage.Mux{Stores: map[string]storage.FS{"slow": store}}
}

func (s *commitScene) job() *mapreduce.Job { return &mapreduce.Job{Output: "slow:" + s.dir + "/out"} }

func (s *commitScene) write(name, text string) {
	s.t.Helper()
	w, err := s.store.Create(name)
	if err != nil {
		s.t.Fatal(err)
	}
	_, err = w.Write([]byte(text))
	if err := errors.Join(err, w.Close()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *commitScene) driver(try uint64) *slowDriver {
	d := &slowDriver{steps: &steps{s.store, make(chan struct{}), make(chan struct{})}, done: make(chan error, 1)}
	go func() {
		o, err := task.JoinOutput(s.on(d.steps), s.job(), s.work, s.overwrite)
		if err == nil {
			err = o.Publish(mapreduce.ReduceTask, s.winners)
		}
		if err == nil {
			err = o.CommitOnce("job-7", try)
		}
		d.done <- err
	}()
	return d
}

func (s *commitScene) check(drivers ...*slowDriver) {
	s.t.Helper()
	for i, d := range drivers {
		if !d.ended || d.result != nil {
			s.t.Errorf("driver %d: ended %v, %v", i, d.ended, d.result)
		}
	}
	if names := s.list(s.dir); names != "[out]" {
		s.t.Errorf("beside the output: %s", names)
	}
	if names := s.list(s.dir + "/out"); names != "[_SUCCESS part-r-00000 part-r-00001]" {
		s.t.Errorf("the output is %s", names)
	}
	for name, want := range map[string]string{"_SUCCESS": "job-7", "part-r-00000": "part 0", "part-r-00001": "part 1"} {
		f, err := s.store.Open(s.dir + "/out/" + name)
		if err != nil {
			s.t.Fatal(err)
		}
		got := make([]byte, f.Size())
		if _, err := f.ReadAt(got, 0); err != nil || string(got) != want {
			s.t.Errorf("%s is %q, %v", name, got, err)
		}
		_ = f.Close()
	}
}

func (s *commitScene) list(dir string) string {
	s.t.Helper()
	entries, err := s.store.ReadDir(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return fmt.Sprint(names)
}
