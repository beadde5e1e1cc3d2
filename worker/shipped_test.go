package worker

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/rpc"
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
		s.use(path, job)
	}
	put("old", 10, 25*time.Hour, "job-1")
	put("old but used", 10, 26*time.Hour, "job-2")
	put("fetched just now"+unfinished, 10, 26*time.Hour, "job-1")
	s.use(filepath.Join(s.dir, "fetched just now"), "job-2")
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
	if err := s.sweep(now, 1000); err != nil {
		t.Fatal(err)
	}
	check("after a day", "fetched just now"+unfinished, "new", "newest", "old but used")
	if err := s.sweep(now, 130); err != nil {
		t.Fatal(err)
	}
	check("too many", "fetched just now"+unfinished, "newest", "old but used")
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
	if err := s.sweep(now, 1000); err != nil {
		t.Fatal(err)
	}
	check("when nothing runs", "newest")
	if len(s.files) != 2 || s.files[filepath.Join(s.dir, "newest")] == nil || s.files[filepath.Join(s.dir, "fetched just now")] == nil {
		t.Errorf("%d files are in the books", len(s.files))
	}
}

// TestNobodyWaitsForFilesOfOthers: ann's file takes long to come; another of ann's, and one of bob's, are had meanwhile.
func TestNobodyWaitsForFilesOfOthers(t *testing.T) {
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	calls := rpc.NewClient(rpc.ClientConfig{})
	defer calls.Close()
	from := dfs.NewClient(dfs.Config{Master: mute.Addr().String(), Client: calls, User: "ann"})
	defer from.Close()
	s, err := openShipped(t.TempDir(), func(wire.JobID) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.get(ctx, from, "ann", "job-1", wire.Side{Path: "/large", Hash: strings.Repeat("0", 64)})
		done <- err
	}()
	c, err := mute.Accept() // it is asked for the file, and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, user := range []string{"ann", "bob"} {
		small := strings.Repeat("1", 64)
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.name(user, small), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		there := make(chan error, 1)
		go func() {
			_, err := s.get(ctx, from, user, "job-2", wire.Side{Path: "/small", Hash: small})
			there <- err
		}()
		select {
		case err := <-there:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("%s waits for ann's file", user)
		}
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a file came from nowhere")
	}
}
