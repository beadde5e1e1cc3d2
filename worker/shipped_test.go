package worker

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestShippedFilesAreSwept: files that were shipped go a day after their last use, or sooner if they are too many, and never while a job
// runs that has used them; links of a job go with it, and those of an earlier life at the start.
func TestShippedFilesAreSwept(t *testing.T) {
	dir, running := t.TempDir(), wire.JobID("job-2")
	old := filepath.Join(dir, "side", "job-9", "x")
	for _, d := range []string{filepath.Dir(old), filepath.Join(dir, "shipped")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s, err := openShipped(dir, func(job wire.JobID) bool { return job == running })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(old)); err == nil {
		t.Error("links of an earlier life are left")
	}
	now := time.Now()
	put := func(name string, bytes int, ago time.Duration, job wire.JobID) {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-ago), now.Add(-ago)); err != nil {
			t.Fatal(err)
		}
		s.jobs[path] = map[wire.JobID]bool{job: true}
	}
	put("old", 10, 25*time.Hour, "job-1")
	put("old but used", 10, 26*time.Hour, "job-2")
	put("new", 100, time.Hour, "job-1")
	put("newest", 100, time.Minute, "job-1")
	check := func(when string, want ...string) {
		t.Helper()
		list, err := os.ReadDir(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range list {
			got = append(got, e.Name())
		}
		if len(got) != len(want) {
			t.Fatalf("%s: %v, want %v", when, got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: %v, want %v", when, got, want)
			}
		}
	}
	if err := s.sweep(now, 24*time.Hour, 1000); err != nil {
		t.Fatal(err)
	}
	check("after a day", "new", "newest", "old but used")
	if err := s.sweep(now, 24*time.Hour, 120); err != nil {
		t.Fatal(err)
	}
	check("too many", "newest", "old but used")
	link := filepath.Join(s.side, "job-2", "x")
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, runs := range []wire.JobID{"job-2", ""} {
		running = runs
		if err := s.forget("job-2"); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Dir(link)); (err == nil) != (runs == "job-2") {
			t.Errorf("%q runs: %v", runs, err)
		}
	}
	if err := s.sweep(now, 24*time.Hour, 1000); err != nil {
		t.Fatal(err)
	}
	check("when nothing runs", "newest")
}
