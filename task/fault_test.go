package task

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/storage"
)

// badDisk is a disk of which one operation fails, counted from 1, in the order in which they come.
type badDisk struct {
	storage.Disk
	at, n  atomic.Int64
	failed string // what it was
}

var errDisk = errors.New("bad disk")

func (d *badDisk) fails(what string) error {
	if d.n.Add(1) != d.at.Load() {
		return nil
	}
	d.failed = what
	return errDisk
}

func (d *badDisk) Open(path string) (storage.File, error) {
	if err := d.fails("open"); err != nil {
		return nil, err
	}
	f, err := d.Disk.Open(path)
	return badFile{f, d}, err
}

func (d *badDisk) Stat(path string) (fs.FileInfo, error) {
	if err := d.fails("stat"); err != nil {
		return nil, err
	}
	return d.Disk.Stat(path)
}

func (d *badDisk) ReadDir(path string) ([]fs.DirEntry, error) {
	if err := d.fails("read a directory"); err != nil {
		return nil, err
	}
	return d.Disk.ReadDir(path)
}

func (d *badDisk) Create(path string) (storage.Writer, error) {
	if err := d.fails("create"); err != nil {
		return nil, err
	}
	w, err := d.Disk.Create(path)
	return badWriter{w, d}, err
}

func (d *badDisk) MkdirAll(path string) error {
	if err := d.fails("make a directory"); err != nil {
		return err
	}
	return d.Disk.MkdirAll(path)
}

func (d *badDisk) Rename(from, to string) error {
	if err := d.fails("rename"); err != nil {
		return err
	}
	return d.Disk.Rename(from, to)
}

func (d *badDisk) RemoveAll(path string) error {
	if err := d.fails("remove"); err != nil {
		return err
	}
	return d.Disk.RemoveAll(path)
}

type badFile struct {
	storage.File
	disk *badDisk
}

func (f badFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.disk.fails("read"); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

type badWriter struct {
	storage.Writer
	disk *badDisk
}

func (w badWriter) Write(b []byte) (int, error) {
	if err := w.disk.fails("write"); err != nil {
		return 0, err
	}
	return w.Writer.Write(b)
}

func (w badWriter) Close() error { return errors.Join(w.Writer.Close(), w.disk.fails("close")) }

// on runs a job whose input is in dir on a disk, and puts its output there too.
func on(t *testing.T, disk *badDisk, dir string, job mapreduce.Job, shared, overwrite bool) (s *stage, parts []string, err error) {
	t.Helper()
	job.Name, job.Input, job.Output = "j", []string{dir + "/in"}, dir+"/made/out"
	store := storage.Mux{Local: func(string) (storage.FS, error) { return disk, nil }}
	s = &stage{dir: dir, job: &job, counts: mapreduce.Counts{}, env: &Env{Store: store, Scratch: t.TempDir(), Pool: shuffle.NewPool(1 << 20), MaxRecord: 1 << 16}}
	reducers := 2
	if job.MapOnly {
		reducers = 0
	}
	if s.plan, err = MakePlan(t.Context(), s.env, s.job, func(*mapreduce.Job, int64) (int64, int) { return 8, reducers }); err != nil {
		return s, nil, err
	}
	if shared {
		s.out, err = prepare(store, s.job, "test", overwrite)
	} else {
		s.out, err = PrepareOwnOutput(store, s.job, overwrite)
	}
	if err != nil {
		return s, nil, err
	}
	s.out.shared = shared
	parts, err = s.run(t.Context())
	return s, parts, err
}

// TestEveryStepOnABadDisk makes each operation on input and output fail in turn: the job fails for that, or its output is right; what was there before stays
// until the new output takes its place; and drivers that share an output can go on where one failed.
func TestEveryStepOnABadDisk(t *testing.T) {
	for what, job := range map[string]mapreduce.Job{
		"map only": {MapOnly: true}, "fold": {Fold: mapreduce.Sum}, "total order": {Reduce: reduceOf(add), Partition: mapreduce.TotalOrder{}},
	} {
		job.Map = mapOf(words{})
		for _, how := range []struct{ shared, overwrite bool }{{false, false}, {false, true}, {true, true}} {
			var want []string
			for at, last := int64(0), int64(1); at <= last; at++ {
				disk, dir := &badDisk{}, bedOf(t, how.overwrite)
				disk.at.Store(at)
				s, got, err := on(t, disk, dir, job, how.shared, how.overwrite)
				if at == 0 { // nothing fails
					want, last = got, disk.n.Load()
				}
				if err == nil && !slices.Equal(got, want) || at == 0 && (err != nil || len(strings.Join(got, "")) < 20) || err != nil && !errors.Is(err, errDisk) {
					t.Errorf("%s, %+v: operation %d of %d, %s, failed: %q, %v", what, how, at, last, disk.failed, got, err)
				}
				if err != nil {
					checkAfter(t, s, disk, how.overwrite, want)
				} else if _, err := os.Stat(filepath.Join(s.job.Output, SuccessFile)); err != nil {
					t.Errorf("%s, %+v: operation %d of %d, %s, failed, and the output has no mark: %v", what, how, at, last, disk.failed, err)
				}
				if left := list(t, s.env.Scratch); left != "" {
					t.Errorf("%s: operation %d of %d, %s, left %s", what, at, last, disk.failed, left)
				}
			}
		}
	}
}

// bedOf is a directory with input, and with output of an earlier job if that is to be overwritten.
func bedOf(t *testing.T, old bool) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{"in": "b a\nb c\nd e f\n"}
	if old {
		files["made/out/_SUCCESS"], files["made/out/part-old"] = "", "old"
	}
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// checkAfter looks at what a job that failed leaves: what was there before or its whole output; and when the job is given up, nothing else. A driver that
// shares the output ends the job where all tasks had ended.
func checkAfter(t *testing.T, s *stage, disk *badDisk, old bool, want []string) {
	t.Helper()
	got, err := s.parts()
	if before := old && slices.Equal(got, []string{"old"}) || !old && len(got) == 0; err != nil || !before && !slices.Equal(got, want) {
		t.Errorf("after %s failed the output is %q, %v", disk.failed, got, err)
	}
	if s.ran && s.out.shared {
		if err := s.commit(); err != nil {
			t.Errorf("after %s failed, nobody can commit: %v", disk.failed, err)
		} else if got, err := s.parts(); !slices.Equal(got, want) {
			t.Errorf("after %s failed another driver commits %q, %v", disk.failed, got, err)
		} else if _, err := os.Stat(filepath.Join(s.job.Output, SuccessFile)); err != nil {
			t.Errorf("after %s failed another driver commits without a mark: %v", disk.failed, err)
		}
		if left := list(t, filepath.Dir(s.job.Output)); left != "out" {
			t.Errorf("after %s failed and another driver has committed: %s", disk.failed, left)
		}
		return
	}
	if s.out == nil || disk.failed == "remove" {
		return
	}
	if err := s.out.Abort(); err != nil {
		t.Errorf("after %s failed: %v", disk.failed, err)
	}
	if left := list(t, s.dir); !old && left != "in" {
		t.Errorf("after %s failed, and the job was given up, there is %s", disk.failed, left)
	} else if old && list(t, filepath.Dir(s.job.Output)) != "out" {
		t.Errorf("after %s failed, and the job was given up, there is %s", disk.failed, list(t, filepath.Dir(s.job.Output)))
	}
}
