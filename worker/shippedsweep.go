package worker

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// How long a shipped file is kept after its last use, and how many bytes of shipped files are kept while no job
// uses them.
const (
	shippedAge   = 24 * time.Hour
	shippedBytes = 4 << 30
)

// unfinished is the suffix of a file that is being fetched.
const unfinished = ".new"

// openShipped removes the links of all jobs, since nothing runs yet.
func openShipped(dir string, runs func(job wire.JobID) bool) (*shipped, error) {
	s := &shipped{dir: filepath.Join(dir, "shipped"), side: filepath.Join(dir, "side"), runs: runs, files: map[string]*shippedFile{}}
	return s, errors.Join(makeDir(s.dir), os.RemoveAll(s.side))
}

// forget removes the links of a job that no longer runs.
func (s *shipped) forget(job wire.JobID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.runs(job) {
		return nil
	}
	for _, f := range s.files {
		delete(f.jobs, job)
	}
	links := filepath.Join(s.side, string(job))
	delete(s.files, links)
	return os.RemoveAll(links)
}

// sweep removes files that no running job uses: those that are too old, and then the least recently used, until
// at most most bytes are left.
func (s *shipped) sweep(now time.Time, most int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var list []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		list, total = append(list, info), total+info.Size()
	}
	slices.SortFunc(list, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	var errs []error
	for _, f := range list {
		name := filepath.Join(s.dir, f.Name())
		if now.Sub(f.ModTime()) <= shippedAge && total <= most || s.used(name) {
			continue
		}
		delete(s.files, name)
		errs, total = append(errs, os.Remove(name)), total-f.Size()
	}
	return errors.Join(errs...)
}

// used reports whether a running job has used a file or is fetching it.
func (s *shipped) used(name string) bool {
	f := s.files[strings.TrimSuffix(name, unfinished)]
	return f != nil && slices.ContainsFunc(slices.Collect(maps.Keys(f.jobs)), s.runs)
}

// jobRuns reports whether an attempt of a job runs here.
func (w *Worker) jobRuns(job wire.JobID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.runs {
		if id.Job == job {
			return true
		}
	}
	return false
}
