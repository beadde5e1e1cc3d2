package worker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
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

// TestPiecesOfLogs: what is asked for is given, and never more than there is.
func TestPiecesOfLogs(t *testing.T) {
	s, dir := newLogs(t)
	id := attemptOf("job-4", 1)
	f, err := s.create(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("0123456789")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	for _, x := range []struct {
		from, tail int64
		want       string
	}{{0, 0, "0123456789"}, {-5, 0, "0123456789"}, {3, 0, "3456789"}, {10, 0, ""}, {11, 0, ""}, {0, 4, "6789"}, {0, 10, "0123456789"}, {0, 11, "0123456789"}, {-1, 1, "9"}, {3, 4, "3456789"}} {
		if got, err := s.read(wire.LogRequest{ID: id, From: x.from, Tail: x.tail}); err != nil || string(got.Text) != x.want || got.Next != 10 || got.More {
			t.Errorf("from %d, tail %d: %q, %+v, %v", x.from, x.tail, got.Text, got, err)
		}
	}
	w := &Worker{holdings: holdings{logs: s}, duties: duties{runs: map[wire.AttemptID]run{id: {}}}}
	for _, runs := range []bool{true, false} {
		if got, err := w.taskLog(t.Context(), rpc.Caller{}, wire.LogRequest{ID: id}); err != nil || got.Open != runs || len(got.Text) != 10 {
			t.Errorf("it runs: %v; %+v, %v", runs, got, err)
		}
		delete(w.runs, id)
	}
	long := attemptOf("job-4", 2)
	if err := os.WriteFile(filepath.Join(dir, logName(long)), make([]byte, maxPiece+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := s.read(wire.LogRequest{ID: long}); err != nil || len(got.Text) != maxPiece || got.Next != maxPiece || !got.More {
		t.Errorf("of a long one %d bytes, next %d, more %v, %v", len(got.Text), got.Next, got.More, err)
	}
	if got, err := s.read(wire.LogRequest{ID: long, From: 1}); err != nil || len(got.Text) != maxPiece || got.More {
		t.Errorf("of its rest %d bytes, more %v, %v", len(got.Text), got.More, err)
	}
	none := []wire.AttemptID{attemptOf("job-4", 3), attemptOf("job-41", 1), attemptOf("job-42", 1), attemptOf("job-43", 1)}
	err = errors.Join(os.Mkdir(filepath.Join(dir, logName(none[0])), 0o700), os.MkdirAll(filepath.Join(dir, "job-41", insideName), 0o700), os.Symlink(dir, filepath.Join(dir, "job-42")),
		os.Mkdir(filepath.Join(dir, "job-43"), 0o700), os.Symlink(dir, filepath.Join(dir, "job-43", insideName)))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range none {
		if got, err := s.read(wire.LogRequest{ID: id}); err == nil || wire.KindOf(err) == wire.NotFound || len(got.Text) > 0 {
			t.Errorf("%s: a log that is none: %+v, %v", id.Job, got, err)
		}
	}
}

// TestLogsSayHowItEnded: of attempts with a process and of those inside this one; what has no log gets none.
func TestLogsSayHowItEnded(t *testing.T) {
	s, dir := newLogs(t)
	for i, x := range []struct {
		end  wire.Ended
		want string
	}{
		{wire.Ended{OK: true, Millis: 12, InBytes: 34, OutBytes: 56}, "map 3 is done after 12 ms: 34 bytes in, 56 out"},
		{wire.Ended{Millis: 12, Error: "no luck"}, "map 3 failed after 12 ms: no luck"},
		{wire.Ended{Lost: true, Millis: 12, Error: "stopped"}, "map 3 was lost or stopped after 12 ms: stopped"},
	} {
		for _, exe := range []string{"", "/program"} {
			job := fmt.Sprintf("job-%d%d", i, len(exe))
			l := &wire.Launch{ID: attemptOf(job, 1), Number: 1, Spec: &wire.JobSpec{Program: wire.Program{Exe: exe}}}
			if exe != "" {
				f, err := s.create(l.ID)
				if err != nil {
					t.Fatal(err)
				}
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			}
			x.end.ID = l.ID
			s.began(l)
			s.ended(l, &x.end)
			got, err := s.read(wire.LogRequest{ID: l.ID})
			lines := strings.Split(strings.TrimSuffix(string(got.Text), "\n"), "\n")
			if began := strings.Contains(lines[0], "map 3 began, try 2"); err != nil || began != (exe == "") || !strings.HasSuffix(lines[len(lines)-1], x.want) {
				t.Errorf("%q: %q, %v", exe, got.Text, err)
			}
			if _, err := os.Stat(filepath.Join(dir, job, insideName)); (err == nil) != (exe == "") {
				t.Errorf("%q: the log of those inside: %v", exe, err)
			}
		}
	}
	l := &wire.Launch{ID: attemptOf("job-9", 1), Spec: &wire.JobSpec{Program: wire.Program{Exe: "/program"}}}
	s.ended(l, &wire.Ended{ID: l.ID})
	if _, err := s.read(wire.LogRequest{ID: l.ID}); wire.KindOf(err) != wire.NotFound {
		t.Errorf("of one that never began: %v", err)
	}
}

// TestInsideLogsAreBounded in bytes, those of an earlier life among them, and in files that are open.
func TestInsideLogsAreBounded(t *testing.T) {
	s, dir := newLogs(t)
	for n := range maxOpen + 5 {
		s.say(attemptOf(fmt.Sprint("job-", n), 1), "hello")
		if len(s.inside) > maxOpen {
			t.Fatalf("%d files are open", len(s.inside))
		}
	}
	s.say(attemptOf("job-1", 1), "again")
	if got, err := s.read(wire.LogRequest{ID: attemptOf("job-1", 1)}); err != nil || string(got.Text) != "hello\nagain\n" {
		t.Errorf("%q, %v", got.Text, err)
	}
	for size, want := range map[int64]int64{maxInside: maxInside + int64(len("1 hello\n")), maxInside + 1: maxInside + 1} {
		job := fmt.Sprint("job-1", size)
		name := filepath.Join(dir, job, insideName)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, nil, 0o600), os.Truncate(name, size)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			s.say(attemptOf(job, 1), "hello")
		}
		if info, err := os.Stat(name); err != nil || info.Size() != want {
			t.Errorf("of %d bytes it has become %d, want %d, %v", size, info.Size(), want, err)
		}
	}
}

// TestTailOfALog is the last of what was printed, for the message of a failure.
func TestTailOfALog(t *testing.T) {
	s, _ := newLogs(t)
	for i, n := range []int{0, 10, 4095, 4096, 4097, 2*logTail + 1, 5 * logTail} {
		f, err := s.create(attemptOf("job-5", uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		var all []byte
		for len(all) < n {
			piece := fmt.Appendf(nil, "%d,", len(all))
			all = append(all, piece[:min(len(piece), n-len(all))]...)
		}
		for rest := all; len(rest) > 0; rest = rest[min(len(rest), 1000):] {
			if _, err := f.Write(rest[:min(len(rest), 1000)]); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := f.tail(), string(all[max(0, n-4096):]); got != want {
			t.Errorf("of %d bytes: %d, want %d", n, len(got), len(want))
		}
		if len(f.end) > 2*logTail {
			t.Errorf("of %d bytes %d are in memory", n, len(f.end))
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestLogsThatCannotBe: where a job has no directory, or an attempt no file, nothing fails but the log, and what has a process of its own hears why.
func TestLogsThatCannotBe(t *testing.T) {
	s, dir := newLogs(t)
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "job-1"), nil, 0o600), os.MkdirAll(filepath.Join(dir, logName(attemptOf("job-2", 1))), 0o700), os.Mkdir(filepath.Join(dir, "job-2", insideName), 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{"job-1", "job-2"} {
		if f, err := s.create(attemptOf(job, 1)); err == nil || f != nil {
			t.Errorf("%s: %v, %v", job, f, err)
		}
		if s.say(attemptOf(job, 1), "hello"); s.busy(wire.JobID(job)) {
			t.Errorf("%s has an open log", job)
		}
	}
	for _, at := range []string{filepath.Join(dir, "job-1"), filepath.Join(dir, "job-1", "x")} {
		if s, err := openLogs(at); err == nil {
			t.Errorf("%s: logs are in a file, and close with %v", at, s.close())
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
