package master

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
)

// export writes the decision log of a master as millrace scheduler log --export does.
func export(t *testing.T, m *Master, w io.Writer) {
	t.Helper()
	for from, more := uint64(0), true; more; {
		page, err := m.decisionLines(t.Context(), rpc.Caller{}, wire.DecisionsRequest{From: from})
		if err != nil {
			t.Fatal(err)
		}
		if from == 0 {
			_, _ = w.Write(append(page.Header, '\n'))
		} else if page.Next-uint64(len(page.Lines)) != from {
			t.Fatalf("lines from %d to %d, asked for from %d", page.Next-uint64(len(page.Lines)), page.Next, from)
		}
		_, _ = w.Write(joinLines(page.Lines))
		from, more = page.Next, page.More
	}
}

// byName makes policies that a log names.
func byName(p, a drive.Named) (policy scheduler.Policy, admission scheduler.Admission, err error) {
	if p.Name != "" {
		if policy, err = policies.Policy(p.Name, p.Params); err != nil {
			return nil, nil, err
		}
	}
	if a.Name != "" {
		admission, err = policies.Admission(a.Name, a.Params)
	}
	return policy, admission, err
}

// TestLongLogReplays: a decision log of more than memory keeps, 32 MiB, is kept from its first line on, and replays.
func TestLongLogReplays(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Dir, cfg.Listen, cfg.Hold = t.TempDir(), "127.0.0.1:0", time.Hour
	cfg.Policy = "fifo"
	m, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const rounds, lineBytes = 100_000, 500 // as the tracker counts
	if rounds*lineBytes <= cfg.Jobs.KeepLines {
		t.Fatal("the test makes no log beyond the bound")
	}
	for i := range 10 {
		_, err := ask(t.Context(), m, func(now time.Duration) (wire.JobID, error) {
			id, err := m.jobs.Submit(now, wire.JobSpec{Name: "j", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}})
			for range rounds / 10 {
				m.jobs.Tick(now + time.Duration(i))
			}
			return id, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	export(t, m, &log)
	v, err := drive.Verify(&log, "log", byName)
	if err != nil || v.Rounds < rounds {
		t.Errorf("%+v of %d rounds, %v", v, rounds, err)
	}
	eventually(t, "what memory has forgotten is on disk", func() bool {
		m.spool.mu.Lock()
		defer m.spool.mu.Unlock()
		return m.spool.size > 0 && len(m.spool.queue) == 0
	})
}

// TestLogWithoutItsBeginning: where the disk has no place for all of a decision log, a page of it says how many lines are lost.
func TestLogWithoutItsBeginning(t *testing.T) {
	m := served(t, func(c *Config) { c.KeepDecisions, c.Jobs.KeepLines, c.Hold = 1, 8000, time.Hour })
	_, err := ask(t.Context(), m, func(now time.Duration) (none, error) {
		for range 100 {
			m.jobs.Tick(now)
		}
		return none{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var page wire.DecisionLines
	eventually(t, "nothing is forgotten while it is read", func() bool {
		page, err = m.decisionLines(t.Context(), rpc.Caller{}, wire.DecisionsRequest{})
		return wire.KindOf(err) != wire.Unavailable || err == nil
	})
	if err != nil || len(page.Lines) == 0 {
		t.Fatalf("%d lines, %v", len(page.Lines), err)
	}
	var header drive.Header
	if err := json.Unmarshal(page.Header, &header); err != nil {
		t.Fatal(err)
	}
	if first := page.Next - uint64(len(page.Lines)); first == 0 || header.Lost != first {
		t.Errorf("the page begins with line %d, and %d are lost", first, header.Lost)
	}
}

// TestSpool: lines come back from wherever they are, from any of them on; a file that is full, and a disk that does not keep up,
// cost what came before, and whoever asks for it hears how much.
func TestSpool(t *testing.T) {
	page := func(first, n uint64) tracker.Page {
		return tracker.Page{First: first, Lines: make([]drive.Line, n)}
	}
	var said bytes.Buffer
	s, err := openSpool(filepath.Join(t.TempDir(), "d"), 300, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	has := func(from, first, next uint64) {
		t.Helper()
		lines, got, ok, err := s.read(from, 1e6)
		if err != nil || ok != (next > 0) || ok && (got != first || lines.Next != next || uint64(len(lines.Lines)) != next-first) {
			t.Errorf("from %d: lines %d to %d, %d of them, %v, %v; want %d to %d", from, got, lines.Next, len(lines.Lines), ok, err, first, next)
		}
	}
	has(0, 0, 0)
	s.take(page(0, 50))
	s.take(page(50, 50))
	has(10, 10, 50) // on the way
	has(60, 60, 100)
	never := make(chan struct{})
	if !s.next(never) {
		t.Error("nothing was written")
	}
	has(10, 10, 50) // on disk
	has(50, 50, 100)
	for s.next(never) {
	}
	has(99, 99, 100)
	has(100, 0, 0)
	for first := uint64(100); s.first == 0 && first < 10_000; first += 50 {
		s.take(page(first, 50))
		s.next(never)
	}
	if oldest := s.first; oldest < 100 || !strings.Contains(said.String(), "no more place") {
		t.Errorf("the oldest line in 300 bytes is %d: %s", oldest, &said)
	} else {
		has(0, oldest, oldest+50)
	}
	for i := range uint64(maxQueued + 1) { // nobody writes
		s.take(page(10_000+5*i, 5))
	}
	if len(s.queue) > maxQueued || len(s.blocks) > 0 {
		t.Errorf("%d pages wait, %d blocks are kept", len(s.queue), len(s.blocks))
	}
}

// TestSpoolStaysWithinItsFile: a file takes as much as it may have and not a byte more; what does not fit makes it begin anew.
func TestSpoolStaysWithinItsFile(t *testing.T) {
	const lines = 40
	write := func(most int64, pages uint64) *spool {
		t.Helper()
		s, err := openSpool(filepath.Join(t.TempDir(), "d"), most, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		for i := range pages {
			s.take(tracker.Page{First: lines * i, Lines: make([]drive.Line, lines)})
			if !s.next(nil) || s.next(nil) {
				t.Fatal("it does not write what it is given, or more")
			}
			if s.size > most {
				t.Fatalf("%d bytes where %d may be", s.size, most)
			}
		}
		return s
	}
	page := write(1<<20, 1).size
	for _, x := range []struct {
		most   int64
		blocks int
		first  uint64
	}{
		{2 * page, 2, 0}, {2*page - 1, 1, lines}, {page, 1, lines}, {3*page - 1, 2, 0},
	} {
		s := write(x.most, 2)
		if len(s.blocks) != x.blocks || s.first != x.first || s.size != page*int64(x.blocks) {
			t.Errorf("%d bytes for two pages of %d: %d blocks from line %d on", x.most, page, len(s.blocks), s.first)
		}
		info, err := s.file.Stat()
		if err != nil || info.Size() != s.size {
			t.Errorf("the file has %d bytes, counted are %d", info.Size(), s.size)
		}
	}
}

// TestSpoolOfABadDisk: lines that cannot be written are forgotten with all before them, and the log says so; those that come later are kept again.
// The file goes with the master, also where somebody has removed it before.
func TestSpoolOfABadDisk(t *testing.T) {
	var said bytes.Buffer
	name := filepath.Join(t.TempDir(), "d")
	s, err := openSpool(name, 1<<20, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	page := func(first uint64) tracker.Page { return tracker.Page{First: first, Lines: make([]drive.Line, 10)} }
	s.take(page(0))
	s.next(nil)
	good := s.file
	if s.file, err = os.Open(name); err != nil { // it takes nothing
		t.Fatal(err)
	}
	s.take(page(10))
	s.take(page(20))
	if !s.next(nil) || !strings.Contains(said.String(), "cannot be kept on disk") {
		t.Errorf("it says %q", &said)
	}
	if lines, first, ok, err := s.read(0, 1e6); first != 20 || lines.Next != 30 || !ok || err != nil {
		t.Errorf("lines from %d to %d, %t, %v", first, lines.Next, ok, err)
	}
	s.file.Close()
	s.file = good
	if !s.next(nil) || s.next(nil) {
		t.Error("the next page is not written")
	}
	if lines, first, ok, err := s.read(25, 1e6); first != 25 || lines.Next != 30 || len(lines.Lines) != 5 || !lines.More || !ok || err != nil {
		t.Errorf("lines from %d to %d, %t, %v", first, lines.Next, ok, err)
	}
	if _, err := s.file.WriteAt([]byte("odd"), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.read(25, 1e6); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a damaged file: %v", err)
	}
	if err := os.Truncate(name, 1); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := s.read(25, 1e6); err == nil {
		t.Error("a file that is cut short is read")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("the file is there: %v", err)
	}
	if s, err = openSpool(name, 1, s.log); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(name), s.Close(), (*spool)(nil).Close()); err != nil {
		t.Error(err)
	}
}
