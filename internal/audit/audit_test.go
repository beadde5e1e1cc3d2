package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
	if len(got) < 2+maxFailed+1 || len(got) > 2+50*maxFailed {
		t.Fatalf("%d lines", len(got))
	}
	for _, e := range got[:2] {
		if e.User != "ann" || e.From != ann.Addr || e.Call != "job.kill" || e.What != "job-1" || !e.Allowed || e.At.IsZero() {
			t.Errorf("%+v", e)
		}
	}
	refusals := 0
	for _, e := range got[2:] {
		refusals += e.Unwritten
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

// TestNobodyPushesOutWhatTheyDid: a user calls what is written as often as a connection can, also with success; what they did before stays,
// and the log says how many calls it leaves out.
func TestNobodyPushesOutWhatTheyDid(t *testing.T) {
	for _, failed := range []error{nil, wire.Errorf(wire.NotFound, "no such file"), wire.Errorf(wire.Denied, "not yours")} {
		path := filepath.Join(t.TempDir(), "audit.log")
		a, err := Open(path, []string{"job.submit", "dfs.delete"}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		a.bytes, a.own = maxBytes/100, maxOwn/100
		ann := rpc.Caller{User: "ann"}
		a.Called(ann, "job.submit", wire.JobSpec{Name: "mine"}, nil)
		const calls = 1000 // of 2 kB each: more than all files hold
		for i := range calls {
			task := rpc.Caller{User: "ann", Job: fmt.Sprint("job-", i%7)} // whatever they call from
			a.Called(task, "dfs.delete", wire.PathRequest{Path: fmt.Sprintf("/%01900d", i)}, failed)
		}
		a.Called(rpc.Caller{User: "bob"}, "dfs.delete", wire.PathRequest{Path: "/b"}, nil)
		a.Called(ann, "job.submit", wire.JobSpec{Name: "another"}, nil)
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		got := lines(t, path)
		told, bob := 0, 0
		for _, e := range got {
			switch {
			case e.User == "bob":
				bob++
			case e.Call == "dfs.delete":
				told++
			}
			told += e.Unwritten
		}
		if got[0].What != "mine: , output " || got[len(got)-1].Call != "job.submit" || bob != 1 || told != calls {
			t.Errorf("%v: the first of %d lines is %+v, bob has %d, %d of %d calls are told of", failed, len(got), got[0], bob, told, calls)
		}
	}
}

// TestWhatCallsAreAbout: a line says what the call was about, in the words of the command where it is short, and clipped where it is long.
func TestWhatCallsAreAbout(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	a, err := Open(path, []string{"any"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	calls := []struct {
		req  any
		want string
	}{
		{wire.JobSpec{Name: "x", Program: wire.Program{Builtin: "grep"}, Output: "/o"}, "x: grep, output /o"},
		{wire.LogRequest{ID: wire.AttemptID{Job: "job-1", Kind: wire.MapTask}}, wire.AttemptID{Job: "job-1", Kind: wire.MapTask}.String()},
		{wire.DrainRequest{Node: "w1", Undo: true}, "w1, undo true"},
		{wire.Choice{Name: "fair"}, "fair"},
		{nil, ""},
		{map[string]int{"n": 3}, `{"n":3}`},
		{func() {}, "json: unsupported type: func()"},
		{wire.JobRequest{Job: wire.JobID(strings.Repeat("x", 2*wire.MaxReason))}, wire.Clip(strings.Repeat("x", 2*wire.MaxReason), wire.MaxReason)},
	}
	for _, c := range calls {
		a.Called(rpc.Caller{Node: "w1", Job: "job-2"}, "any", c.req, nil)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	got := lines(t, path)
	if len(got) != len(calls) {
		t.Fatalf("%d lines for %d calls", len(got), len(calls))
	}
	for i, c := range calls {
		if got[i].What != c.want || got[i].Node != "w1" || got[i].Job != "job-2" {
			t.Errorf("%T: %+v, want %q", c.req, got[i], c.want)
		}
	}
}

// TestCallersAreCountedApart: nodes and the tasks of jobs have no user, and each its own share of the lines; so has everybody again when very many call.
func TestCallersAreCountedApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	a, err := Open(path, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	const callers = 5000
	for i := range callers {
		for _, c := range []rpc.Caller{{Node: fmt.Sprint("w", i)}, {Job: fmt.Sprint("job-", i)}} {
			a.Called(c, "any", nil, wire.Errorf(wire.Denied, "no"))
		}
	}
	if n := max(len(a.spent), len(a.missing), len(a.failed)); n > 1002 {
		t.Errorf("%d callers are remembered", n)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if got := lines(t, path); len(got) != 2*callers {
		t.Errorf("%d lines of %d callers", len(got), 2*callers)
	}
}

// TestAuditThatCannotBeWritten: the daemon's own log has what the audit log cannot take, and the daemon goes on.
func TestAuditThatCannotBeWritten(t *testing.T) {
	var said bytes.Buffer
	path := filepath.Join(t.TempDir(), "audit.log")
	a, err := Open(path, named, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	a.bytes = 10
	kill := func(job wire.JobID) { a.Called(rpc.Caller{User: "ann"}, "job.kill", wire.JobRequest{Job: job}, nil) }
	kill("job-1")
	if err := errors.Join(os.WriteFile(path+".3", nil, 0o600), os.MkdirAll(filepath.Join(path+".4", "in the way"), 0o700)); err != nil {
		t.Fatal(err)
	}
	kill("job-2") // the file is full, and cannot be put aside
	if err := os.RemoveAll(path + ".4"); err != nil {
		t.Fatal(err)
	}
	kill("job-3")
	for range 2 {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	kill("job-4")
	got := lines(t, path)
	if len(got) != 2 || got[0].What != "job-1" || got[1].What != "job-3" {
		t.Errorf("%+v", got)
	}
	for job, want := range map[string]bool{"job-1": false, "job-2": true, "job-3": false, "job-4": true} {
		if strings.Contains(said.String(), job) != want {
			t.Errorf("%s is in the daemon's log: %v", job, !want)
		}
	}
	if err := (*Log)(nil).Close(); err != nil {
		t.Error("no log:", err)
	}
	if _, err := Open(filepath.Join(path, "below a file"), named, nil); err == nil {
		t.Error("a log was opened below a file")
	}
}

// TestAuditThatCannotBeOpenedForAWhile: the log goes on once it can be opened again.
func TestAuditThatCannotBeOpenedForAWhile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "audit.log")
	a, err := Open(path, named, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	a.bytes = 10
	kill := func(job wire.JobID) { a.Called(rpc.Caller{User: "ann"}, "job.kill", wire.JobRequest{Job: job}, nil) }
	kill("job-1")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	kill("job-2") // begins a new file, where there is no directory
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	kill("job-3")
	if got := lines(t, path); len(got) != 2 || got[1].What != "job-3" {
		t.Errorf("%+v", got)
	}
}
