package memdisk

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// put writes a file; sync and name say what of it is made durable.
func put(t *testing.T, m *FS, name, text string, sync, dir bool) {
	t.Helper()
	f, err := m.Create(name)
	must(t, err)
	_, err = f.Write([]byte(text))
	must(t, err)
	if sync {
		must(t, f.Sync())
	}
	must(t, f.Close())
	if dir {
		must(t, m.SyncDir("."))
	}
}

// text returns a file's content, or "-" where there is none.
func text(t *testing.T, m *FS, name string) string {
	t.Helper()
	f, err := m.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	must(t, err)
	size, err := f.Size()
	must(t, err)
	b := make([]byte, size)
	if size > 0 {
		_, err = f.ReadAt(b, 0)
		must(t, err)
	}
	return string(b)
}

// outcomes collects what a file looks like after 300 different crashes.
func outcomes(t *testing.T, m *FS, look func(*FS) string) []string {
	t.Helper()
	var all []string
	for seed := range uint64(300) {
		all = append(all, look(m.Crash(seeded(seed))))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("after crashes: %q, want %q", got, want)
	}
}

func TestSyncedSurvives(t *testing.T) {
	m := New()
	put(t, m, "a", "whole", true, true)
	look := func(c *FS) string { return text(t, c, "a") }
	expect(t, outcomes(t, m, look), "whole")
	f, err := m.Edit("a")
	must(t, err)
	_, err = f.WriteAt([]byte("W"), 0)
	must(t, err)
	expect(t, outcomes(t, m, look), "whole", "Whole")
	must(t, f.Truncate(2))
	expect(t, outcomes(t, m, look), "whole", "Whole", "Wh", "wh")
	must(t, f.Sync())
	expect(t, outcomes(t, m, look), "Wh")
	if text(t, m, "a") != "Wh" {
		t.Error("the disk itself changed by crashing copies of it")
	}
}

func TestNamesNeedSyncDir(t *testing.T) {
	m := New()
	put(t, m, "a", "x", true, false)
	expect(t, outcomes(t, m, func(c *FS) string { return text(t, c, "a") }), "-", "x")
	must(t, m.SyncDir("."))
	must(t, m.Remove("a"))
	expect(t, outcomes(t, m, func(c *FS) string { return text(t, c, "a") }), "-", "x")
	must(t, m.MkdirAll("d/e"))
	put(t, m, "d/e/f", "y", true, false)
	must(t, m.SyncDir("d/e"))
	expect(t, outcomes(t, m, func(c *FS) string { return text(t, c, "d/e/f") }), "-", "y")
	must(t, m.SyncDir("d"))
	must(t, m.SyncDir("."))
	expect(t, outcomes(t, m, func(c *FS) string { return text(t, c, "d/e/f") }), "y")
}

func TestRenameIsWholeOrNot(t *testing.T) {
	m := New()
	put(t, m, "new", "2", true, true)
	put(t, m, "old", "1", true, true)
	must(t, m.Rename("new", "old"))
	both := func(c *FS) string { return text(t, c, "new") + text(t, c, "old") }
	expect(t, outcomes(t, m, both), "21", "-2")
	must(t, m.SyncDir("."))
	expect(t, outcomes(t, m, both), "-2")
	must(t, m.MkdirAll("d"))
	must(t, m.SyncDir("."))
	must(t, m.Rename("old", "d/x"))
	must(t, m.SyncDir("d"))
	expect(t, outcomes(t, m, func(c *FS) string { return text(t, c, "old") + text(t, c, "d/x") }), "-2")
}

func TestWritesTearInPieces(t *testing.T) {
	m := New()
	f, err := m.Create("a")
	must(t, err)
	must(t, m.SyncDir("."))
	_, err = f.Write(bytes.Repeat([]byte("x"), 5000))
	must(t, err)
	torn := 0
	for _, got := range outcomes(t, m, func(c *FS) string { return text(t, c, "a") }) {
		for at := 0; at < len(got); at += 512 {
			piece := got[at:min(at+512, len(got))]
			if n := strings.Count(piece, "x"); n != 0 && n != len(piece) {
				t.Fatalf("a piece at %d is half there", at)
			}
		}
		if len(got) != 5000 || strings.Contains(got, "\x00") {
			torn++
		}
	}
	if torn < 20 {
		t.Errorf("only %d kinds of torn files in 300 crashes", torn)
	}
}

func TestFailedSyncDrops(t *testing.T) {
	m := New()
	put(t, m, "a", "1", true, true)
	f, err := m.Edit("a")
	must(t, err)
	_, err = f.WriteAt([]byte("2"), 0)
	must(t, err)
	m.SetFail(func(op, _ string, _ int) error {
		if op == "sync" {
			return syscall.EIO
		}
		return nil
	})
	if err := f.Sync(); !errors.Is(err, syscall.EIO) {
		t.Fatalf("sync: %v", err)
	}
	m.SetFail(nil)
	must(t, f.Sync())
	if text(t, m, "a") != "2" {
		t.Error("the program no longer reads what it wrote")
	}
	expect(t, outcomes(t, m, func(c *FS) string { return text(t, c, "a") }), "1")
}

func TestFailKthOperation(t *testing.T) {
	for k := 1; k <= 4; k++ {
		m := New()
		m.SetFail(func(_, _ string, n int) error {
			if n == k {
				return syscall.ENOSPC
			}
			return nil
		})
		var err error
		f, e := m.Create("a")
		if err = e; err == nil {
			if _, err = f.Write([]byte("1234")); err == nil {
				if err = f.Sync(); err == nil {
					err = m.SyncDir(".")
				}
			}
		}
		if !errors.Is(err, syscall.ENOSPC) || m.Ops() != k {
			t.Errorf("operation %d of %d: %v", k, m.Ops(), err)
		}
	}
}

func TestLimit(t *testing.T) {
	m := New()
	m.SetLimit(10)
	put(t, m, "a", "12345678", true, true)
	f, err := m.Create("b")
	must(t, err)
	n, err := f.Write([]byte("abcd"))
	if n != 2 || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("wrote %d, %v", n, err)
	}
	must(t, m.Remove("a"))
	if _, err := f.Write([]byte("cd")); err != nil {
		t.Error(err)
	}
	if _, free, _ := m.Free(); free != 6 {
		t.Errorf("%d free, want 6", free)
	}
	must(t, m.SyncDir("."))
	if _, free, _ := m.Crash(seeded(1)).Free(); free < 6 {
		t.Errorf("%d free after a crash", free)
	}
}

func TestRefusals(t *testing.T) {
	m := New()
	must(t, m.MkdirAll("d"))
	put(t, m, "d/a", "x", true, true)
	for what, err := range map[string]error{
		"exists":   func() error { _, err := m.Create("d/a"); return err }(),
		"missing":  func() error { _, err := m.Open("b"); return err }(),
		"outside":  func() error { _, err := m.Create("../b"); return err }(),
		"dir":      func() error { _, err := m.Edit("d"); return err }(),
		"not dir":  m.MkdirAll("d/a/b"),
		"full dir": m.Remove("d"),
		"inside":   m.Rename("d", "d/e"),
		"over dir": m.Rename("d/a", "d"),
	} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	f, err := m.Open("d/a")
	must(t, err)
	if _, err := f.Write([]byte("y")); err == nil {
		t.Error("wrote to a file opened for reading")
	}
	must(t, f.Close())
	if err := f.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second close: %v", err)
	}
	if names, err := m.ReadDir("d"); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Errorf("%v, %v", names, err)
	}
}
