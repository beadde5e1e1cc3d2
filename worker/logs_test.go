package worker

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

func newLogs(t *testing.T) (*logStore, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "logs")
	s, err := openLogs(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return s, dir
}

func attemptOf(job string, try uint64) wire.AttemptID {
	return wire.AttemptID{Job: wire.JobID(job), Kind: wire.MapTask, Index: 3, Try: try}
}

// TestInsideLogs: attempts of a job share a file, and each is read by itself, also where it says several lines.
func TestInsideLogs(t *testing.T) {
	s, _ := newLogs(t)
	for _, try := range []uint64{1, 11, 111} {
		l := &wire.Launch{ID: attemptOf("job-1", try), Spec: &wire.JobSpec{}}
		s.began(l)
		s.ended(l, &wire.Ended{ID: l.ID, Error: fmt.Sprint("bad ", try, "\nat line two")})
	}
	s.rest("job-1")
	got, err := s.read(wire.LogRequest{ID: attemptOf("job-1", 11)})
	if err != nil || strings.Count(string(got.Text), "\n") != 3 || !strings.Contains(string(got.Text), "bad 11\nat line two\n") {
		t.Errorf("%q, %v", got.Text, err)
	}
	end, err := s.read(wire.LogRequest{ID: attemptOf("job-1", 11), From: got.Next})
	if err != nil || len(end.Text) != 0 || end.More {
		t.Errorf("%+v, %v", end, err)
	}
	if _, err := s.read(wire.LogRequest{ID: attemptOf("job-1", 2)}); wire.KindOf(err) != wire.NotFound {
		t.Errorf("an attempt that never was: %v", err)
	}
}

// TestChildLogs: the log of a process is read in pieces and from its end, and says how the attempt ended.
func TestChildLogs(t *testing.T) {
	s, _ := newLogs(t)
	l := &wire.Launch{ID: attemptOf("job-2", 5), Spec: &wire.JobSpec{Program: wire.Program{Exe: "x"}}}
	f, err := s.create(l.ID)
	if err != nil {
		t.Fatal(err)
	}
	flood := strings.Repeat("0123456789abcde\n", 1<<17) // 2 MiB: more than is kept, and more than a piece
	if _, err := f.Write([]byte(flood)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte(flood + "the end\n")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s.ended(l, &wire.Ended{ID: l.ID, Error: "memory limit"})
	var all []byte
	for r := (wire.LogRequest{ID: l.ID}); ; {
		got, err := s.read(r)
		if err != nil || len(got.Text) > maxPiece {
			t.Fatal(len(got.Text), err)
		}
		all = append(all, got.Text...)
		if r.From = got.Next; !got.More {
			break
		}
	}
	text := string(all)
	if len(text) > logHead+logTail+1000 || !strings.Contains(text, "bytes left out") || !strings.Contains(text, "the end\n") || !strings.Contains(text, "memory limit") {
		t.Errorf("%d bytes, ending %q", len(text), text[len(text)-200:])
	}
	tail, err := s.read(wire.LogRequest{ID: l.ID, Tail: 20})
	if err != nil || string(tail.Text) != text[len(text)-20:] {
		t.Errorf("%q, %v", tail.Text, err)
	}
}

// TestLogsKeepBothEnds: the log of a process has the beginning and the end of what it printed, nothing twice, and says how much is between
// them, however it was printed.
func TestLogsKeepBothEnds(t *testing.T) {
	s, _ := newLogs(t)
	for i, sizes := range [][]int{{10}, {logHead}, {logHead + 1}, {logHead, 1}, {logHead - 5, 10, 10}, {logHead + logTail}, {logHead + logTail + 1}, {5 << 20}, {700_000, 700_000, 700_000}} {
		id := attemptOf("job-3", uint64(i))
		f, err := s.create(id)
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for _, n := range sizes {
			for from := len(all); len(all) < from+n; {
				all = fmt.Appendf(all, "%d\n", len(all))
				all = all[:min(len(all), from+n)]
			}
			if _, err := f.Write(all[len(all)-n:]); err != nil {
				t.Fatal(err)
			}
		}
		name := f.f.Name()
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		want := string(all)
		if left := len(all) - logHead - logTail; left > 0 {
			want = fmt.Sprintf("%s\n... %d bytes left out ...\n%s", all[:logHead], left, all[len(all)-logTail:])
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%v: %d bytes are kept, want %d, %v", sizes, len(got), len(want), err)
		}
	}
}

// TestLogNames: names from outside never become paths.
func TestLogNames(t *testing.T) {
	s, dir := newLogs(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "secret"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []wire.AttemptID{
		{Job: "../secret", Kind: wire.MapTask},
		{Job: "..", Kind: wire.MapTask},
		{Job: "", Kind: wire.MapTask},
		{Job: "job-1/../..", Kind: wire.MapTask},
		{Job: "job-1", Kind: "../../secret"},
		{Job: "job-1", Kind: ""},
		{Job: "job-1", Kind: wire.MapTask, Index: -1},
		{Job: "job-1\n", Kind: wire.MapTask},
		{Job: wire.JobID("job-" + strings.Repeat("9", 400)), Kind: wire.MapTask},
	} {
		if _, err := s.read(wire.LogRequest{ID: id}); wire.KindOf(err) != wire.Invalid {
			t.Errorf("%q: %v", id, err)
		}
		if _, err := s.create(id); wire.KindOf(err) != wire.Invalid {
			t.Errorf("%q: %v", id, err)
		}
		s.say(id, "hello")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestLogSweep: old logs go, then the oldest while there are too many bytes; a job that runs keeps its own.
func TestLogSweep(t *testing.T) {
	s, dir := newLogs(t)
	now := time.Now()
	for n := range 6 {
		id := attemptOf(fmt.Sprint("job-", n), 1)
		s.say(id, strings.Repeat("x", 1000))
		if n != 1 { // job-1 is old, and runs
			s.rest(id.Job)
		}
		when := now.Add(-time.Duration(6-n) * time.Hour)
		if err := os.Chtimes(filepath.Join(dir, string(id.Job), insideName), when, when); err != nil {
			t.Fatal(err)
		}
	}
	runs := func(job wire.JobID) bool { return job == "job-3" } // in processes of its own
	left := func() string {
		names, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, n := range names {
			out = append(out, n.Name())
		}
		return strings.Join(out, " ")
	}
	for _, step := range []struct {
		age  time.Duration
		most int64
		want string
	}{
		{0, 0, "job-0 job-1 job-2 job-3 job-4 job-5"},
		{4*time.Hour + time.Minute, 0, "job-1 job-2 job-3 job-4 job-5"},
		{0, 3500, "job-1 job-3 job-5"},
		{time.Minute, 1, "job-1 job-3"},
	} {
		if err := s.sweep(now, step.age, step.most, runs); err != nil {
			t.Fatal(err)
		}
		if got := left(); got != step.want {
			t.Errorf("after %s and %d bytes: %s, want %s", step.age, step.most, got, step.want)
		}
	}
}
