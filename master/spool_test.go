package master

import (
	"bytes"
	"io"
	"log/slog"
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
