package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// TestSideFilesUnderTheirNames: side files of a job lie in a directory of its own, under the names that it gives them, for all its attempts; two users
// share no file. A name that leads elsewhere is refused.
func TestSideFilesUnderTheirNames(t *testing.T) {
	calls := rpc.NewClient(rpc.ClientConfig{})
	defer calls.Close()
	from := dfs.NewClient(dfs.Config{Master: "127.0.0.1:1", Client: calls})
	defer from.Close()
	top := t.TempDir()
	w := &Worker{cfg: DefaultConfig()}
	var err error
	if w.shipped, err = openShipped(top, w.jobRuns); err != nil {
		t.Fatal(err)
	}
	one, two := strings.Repeat("1", 64), strings.Repeat("2", 64)
	past := time.Now().Add(-time.Hour)
	for hash, text := range map[string]string{one: "one", two: "two"} {
		name := w.shipped.name("ann", hash)
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, past, past)); err != nil {
			t.Fatal(err)
		}
	}
	launch := func(job wire.JobID, user string, files ...wire.Side) *wire.Launch {
		return &wire.Launch{ID: wire.AttemptID{Job: job, Kind: wire.MapTask}, Spec: &wire.JobSpec{User: user, Program: wire.Program{Files: files}}}
	}
	if dir, err := w.sideDir(t.Context(), launch("job-1", "ann"), from); dir != "" || err != nil {
		t.Errorf("of a job without: %q, %v", dir, err)
	}
	if _, err := os.Stat(filepath.Join(top, "side")); err == nil {
		t.Error("a job without side files has a directory of them")
	}
	for range 2 { // two attempts
		dir, err := w.sideDir(t.Context(), launch("job-1", "ann", wire.Side{Name: "a", Path: "/x", Hash: one}, wire.Side{Name: "b", Path: "/y", Hash: two}), from)
		if err != nil || dir != filepath.Join(top, "side", "job-1") {
			t.Fatalf("%s, %v", dir, err)
		}
		for name, want := range map[string]string{"a": "one", "b": "two"} {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
	if st, err := os.Stat(w.shipped.name("ann", one)); err != nil || time.Since(st.ModTime()) > time.Minute {
		t.Errorf("a file that was used looks as old as before: %v, %v", st, err)
	}
	for _, name := range []string{"..", ".", "", "a/b", "/etc/passwd", "../x"} {
		if dir, err := w.sideDir(t.Context(), launch("job-2", "ann", wire.Side{Name: name, Path: "/x", Hash: one}), from); wire.KindOf(err) != wire.Invalid || dir != "" {
			t.Errorf("%q: %q, %v", name, dir, err)
		}
	}
	for _, hash := range []string{"", one[1:], one + "11", strings.Repeat("x", 64)} {
		if dir, err := w.sideDir(t.Context(), launch("job-2", "ann", wire.Side{Name: "a", Path: "/x", Hash: hash}), from); wire.KindOf(err) != wire.Invalid || dir != "" {
			t.Errorf("hash %q: %q, %v", hash, dir, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if dir, err := w.sideDir(gone, launch("job-3", "bob", wire.Side{Name: "a", Path: "/x", Hash: one}), from); err == nil || dir != "" || !strings.Contains(err.Error(), "fetch /x") {
		t.Errorf("bob has ann's file: %q, %v", dir, err)
	}
	if err := os.WriteFile(filepath.Join(top, "side", "job-4"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if dir, err := w.sideDir(t.Context(), launch("job-4", "ann", wire.Side{Name: "a", Path: "/x", Hash: one}), from); err == nil || dir != "" {
		t.Errorf("where there can be no directory: %q, %v", dir, err)
	}
	if err := w.shipped.forget("job-1"); err != nil {
		t.Fatal(err)
	}
	if f := w.shipped.files[filepath.Join(top, "side", "job-1")]; f != nil {
		t.Error("the links of a job that is over are still in the books")
	}
	for path, there := range map[string]bool{filepath.Join(top, "side", "job-1"): false, w.shipped.name("ann", one): true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("after the job %s: %v", path, err)
		}
	}
}
