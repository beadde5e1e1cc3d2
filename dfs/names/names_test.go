package names

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// oddNames are names from outside that have broken other systems.
func oddNames() []string {
	list := []string{
		"", ".", "..", "...", " ", "  x  ", "a b", "\t", "a\nb", "a\x00b", "\x00", "a\rb", "\x7f", "\u0085", "\u200b", "\ufeff", "\u202egnp.exe",
		"é", "e\u0301", "日本語", "🎉", strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("é", 127), strings.Repeat("é", 128),
		strings.Repeat("y", 4096), "\xff", "a\xc0\xaf", "\xed\xa0\x80", "a\xffb", "/etc/passwd", "../etc/passwd", "a/../../b", "a//b", "a/", "/a", "a/.",
		"C:\\x", "\\", "\"", "'", "`", "$(x)", "%2e%2e", "%00", "*", "?", "[a]", "{a,b}", "~", "-rf", "--", "#", "&", ";", "|", "<script>", "=", "+", ",", ":", "@",
		"con", "nul", "COM1", "_SUCCESS", "part-r-00000", ".hidden", "a.", "x\u2028y", "\u2029", "null", "true", "0", "-1", "1e9", "NaN",
	}
	for c := range 128 {
		list = append(list, "c"+string(rune(c))+"c")
	}
	return list
}

// Row 72: every odd name is refused, or comes back exactly, through a restart, with and
// without a checkpoint.
func TestOddNames(t *testing.T) {
	r := newRig(t)
	r.open()
	_, err := r.s.Mkdir(wire.MkdirRequest{Path: "/dir"})
	must(t, err)
	kept := map[string]bool{}
	for n, name := range oddNames() {
		if n == 60 {
			must(t, r.s.Checkpoint())
		}
		fi, err := r.s.Mkdir(wire.MkdirRequest{Path: "/dir/" + name})
		switch {
		case err == nil && fi.Path == "/dir/"+name && !strings.Contains(name, "/"):
			kept[name] = true
		case err == nil:
			t.Errorf("%q became %q", name, fi.Path)
		case !errors.Is(err, wire.Invalid) && !errors.Is(err, wire.NotFound) && !errors.Is(err, wire.Exists):
			t.Errorf("%q: %v", name, err)
		}
	}
	if len(oddNames()) < 200 || len(kept) < 120 {
		t.Errorf("%d names tried, %d kept", len(oddNames()), len(kept))
	}
	r.restart()
	resp, err := r.s.List(wire.ListRequest{Path: "/dir"})
	must(t, err)
	if len(resp.Entries) != len(kept) {
		t.Errorf("%d entries, %d were made", len(resp.Entries), len(kept))
	}
	for _, e := range resp.Entries {
		name := strings.TrimPrefix(e.Path, "/dir/")
		if _, err := r.s.Stat(wire.PathRequest{Path: e.Path}); !kept[name] || err != nil {
			t.Errorf("%q is there: %v", name, err)
		}
	}
	for _, path := range []string{"", "a", "dir/x", "//", "/dir//x", "/dir/"} {
		if _, err := r.s.Stat(wire.PathRequest{Path: path}); !errors.Is(err, wire.Invalid) {
			t.Errorf("stat %q: %v", path, err)
		}
	}
	for _, req := range []wire.CreateRequest{
		{Path: "/f", Holder: "h", Replication: 1000},
		{Path: "/f", Holder: "h", Replication: -1},
		{Path: "/f", Holder: "h", BlockSize: -1},
		{Path: "/f", Holder: "h", BlockSize: wire.MaxBlock + 1},
		{Path: "/f"},
		{Path: "/f", Holder: "\xff"},
		{Path: "/f", Holder: "h", User: strings.Repeat("u", 300)},
	} {
		if _, err := r.s.Create(req); !errors.Is(err, wire.Invalid) {
			t.Errorf("%+v: %v", req, err)
		}
	}
}

// A directory of many entries is split into pieces and pages through in order.
func TestLargeDirectory(t *testing.T) {
	r := newRig(t)
	r.open()
	const n = 3000
	for i := range n {
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: fmt.Sprintf("/%04d", i*7919%n)})
		must(t, err)
	}
	for i := range n / 2 {
		must(t, r.s.Delete(wire.DeleteRequest{Path: fmt.Sprintf("/%04d", 2*i)}))
	}
	r.s.audit(t)
	for range 2 {
		req, got := wire.ListRequest{Path: "/", Limit: 7}, 0
		for more := true; more; {
			resp, err := r.s.List(req)
			must(t, err)
			for _, e := range resp.Entries {
				if want := fmt.Sprintf("/%04d", 2*got+1); e.Path != want {
					t.Fatalf("entry %d is %s, want %s", got, e.Path, want)
				}
				got++
				req.After = e.Path[1:]
			}
			more = resp.More
		}
		if got != n/2 {
			t.Fatalf("%d entries, want %d", got, n/2)
		}
		r.restart()
	}
}

// Checkpoints run by themselves and let the journal's old files go.
func TestCheckpointsTrimTheJournal(t *testing.T) {
	r := newRig(t)
	r.cfg.CheckpointEvery = 100
	r.cfg.Journal.SegmentBytes = 2000
	r.open()
	for i := range 1500 {
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: fmt.Sprintf("/d%d", i)})
		must(t, err)
	}
	must(t, r.s.Checkpoint())
	if n := r.s.journal.Segments(); n > 2 {
		t.Errorf("%d journal files after a checkpoint", n)
	}
	if err := r.s.CheckpointError(); err != nil {
		t.Error(err)
	}
	r.restart()
	r.s.audit(t)
}

// TestRenameAll: many files move by one call, which may be repeated; what cannot move stops it, and is named.
func TestRenameAll(t *testing.T) {
	r := newRig(t)
	r.open()
	_, err := r.s.Mkdir(wire.MkdirRequest{Path: "/out/tmp", Parents: true})
	must(t, err)
	var moves []wire.Move
	for i := range 50 { // directories move as files do
		m := wire.Move{From: fmt.Sprintf("/out/tmp/part-%d-try", i), To: fmt.Sprintf("/out/part-%d", i)}
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: m.From})
		must(t, err)
		moves = append(moves, m)
	}
	must(t, r.s.RenameAll(wire.RenameAllRequest{Moves: moves[:20]}))
	must(t, r.s.RenameAll(wire.RenameAllRequest{Moves: moves}))
	r.restart()
	must(t, r.s.RenameAll(wire.RenameAllRequest{Moves: moves}))
	for path, want := range map[string]int{"/out": 51, "/out/tmp": 0} {
		resp, err := r.s.List(wire.ListRequest{Path: path})
		must(t, err)
		if len(resp.Entries) != want {
			t.Errorf("%s has %d entries, want %d", path, len(resp.Entries), want)
		}
	}
	err = r.s.RenameAll(wire.RenameAllRequest{Moves: []wire.Move{{From: "/out/part-1", To: "/out/x"}, {From: "/none", To: "/there"}, {From: "/out/part-2", To: "/out/y"}}})
	if !errors.Is(err, wire.NotFound) || !strings.Contains(err.Error(), "/none") {
		t.Errorf("a file that is nowhere: %v", err)
	}
	if _, err := r.s.Stat(wire.PathRequest{Path: "/out/y"}); err == nil {
		t.Error("it went on")
	}
	if err := r.s.RenameAll(wire.RenameAllRequest{Moves: make([]wire.Move, maxMoves+1)}); !errors.Is(err, wire.Invalid) {
		t.Errorf("too many: %v", err)
	}
}
