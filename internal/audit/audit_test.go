package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

var named = []string{"job.submit", "job.kill"}

// lines reads an audit log, oldest first.
func lines(t *testing.T, path string) (out []Entry) {
	t.Helper()
	for i := maxFiles; i >= 0; i-- {
		name := path
		if i > 0 {
			name = fmt.Sprintf("%s.%d", path, i)
		}
		f, err := os.Open(name)
		if err != nil {
			continue // there are not that many
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			var e Entry
			if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			out = append(out, e)
		}
		f.Close()
	}
	return out
}

// TestAudit: what changes something is written, with who and from where; of the rest what was refused, and of many refusals of one
// caller a few; a log that is opened again is appended to.
func TestAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	ann, bob := rpc.Caller{User: "ann", Addr: "10.0.0.7:99"}, rpc.Caller{User: "bob", Addr: "10.0.0.8:98"}
	denied := wire.Errorf(wire.Denied, "not yours")
	for range 2 {
		a, err := Open(path, named, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		a.Called(ann, "job.kill", wire.JobRequest{Job: "job-1"}, nil)
		a.Called(ann, "job.status", wire.JobRequest{Job: "job-1"}, nil)
		a.Called(ann, "dfs.stat", wire.PathRequest{}, wire.Errorf(wire.NotFound, "no"))
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Open(path, named, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 5000 {
		a.Called(bob, "job.log", wire.LogRequest{ID: wire.AttemptID{Job: "job-1", Kind: wire.MapTask}}, denied)
	}
	a.Called(bob, "job.submit", wire.JobSpec{Name: "x"}, nil)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	got := lines(t, path)
	if len(got) < 2+maxRefused+1 || len(got) > 2+50*maxRefused {
		t.Fatalf("%d lines", len(got))
	}
	for _, e := range got[:2] {
		if e.User != "ann" || e.From != ann.Addr || e.Call != "job.kill" || e.What != "job-1" || !e.Allowed || e.At.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	refusals := 0
	for _, e := range got[2:] {
		refusals += e.Refused
		if !e.Allowed {
			refusals++
		}
	}
	if e := got[2]; refusals != 5000 || e.Allowed || e.User != "bob" || e.Error != "not yours" {
		t.Errorf("%d of 5000 refusals are told of; the first is %+v", refusals, e)
	}
	if last := got[len(got)-1]; last.Call != "job.submit" || !last.Allowed {
		t.Errorf("the last is %+v", last)
	}
}

// TestAuditIsBounded: however much is done, so many files of so many bytes are kept, of whole lines, the newest.
func TestAuditIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	a, err := Open(path, named, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a.bytes = 2000
	for i := range 1000 {
		a.Called(rpc.Caller{User: "ann"}, "job.kill", wire.JobRequest{Job: wire.JobID(fmt.Sprint("job-", i))}, nil)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != maxFiles {
		t.Fatalf("%d files, %v", len(list), err)
	}
	for _, e := range list {
		if info, err := e.Info(); err != nil || info.Size() > 2000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info, err)
		}
	}
	got := lines(t, path)
	for i, e := range got {
		if want := fmt.Sprint("job-", 1000-len(got)+i); e.What != want {
			t.Fatalf("line %d is about %s, want %s", i, e.What, want)
		}
	}
}
