package memdisk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/disk"
)

// kinds are what callers ask of an error, and all systems say alike.
var kinds = []error{fs.ErrNotExist, fs.ErrClosed, io.EOF}

// kind is what a caller can tell of an error: that there is one, and its kind.
func kind(err error) string {
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	if err != nil {
		return "some error"
	}
	return "no error"
}

// step does something random, the same on each disk for the same numbers, and says what a program sees of it.
func step(d disk.FS, rng *rand.Rand) string {
	names := []string{"a", "b", "d", "d/a", "d/b", "d/e", "d/e/a"}
	name, other := names[rng.IntN(len(names))], names[rng.IntN(len(names))]
	var err error
	what := ""
	switch rng.IntN(8) {
	case 0:
		what, err = "mkdir "+name, d.MkdirAll(name)
	case 1:
		if strings.HasPrefix(other+"/", name+"/") || isDir(d, other) { // of which systems say different things
			return ""
		}
		return fmt.Sprint("rename ", name, " ", other, d.Rename(name, other) == nil) // of two reasons any may come first
	case 2:
		what, err = "remove "+name, d.Remove(name)
	case 3:
		list, e := d.ReadDir(name)
		what, err = fmt.Sprint("list ", name, list), e
	case 4:
		info, e := d.Stat(name)
		if what, err = "stat "+name, e; e == nil {
			what += fmt.Sprint(info.Name(), info.IsDir(), info.Mode().IsDir(), info.IsDir() || info.Size() == size(d, name))
		}
	default:
		if isDir(d, name) { // which some systems open, and some do not
			return ""
		}
		how := []func(string) (disk.File, error){d.Create, d.Open, d.Edit}[rng.IntN(3)]
		f, e := how(name)
		if what, err = "file "+name, e; e == nil {
			what += use(f, rng)
		}
	}
	return what + ": " + kind(err)
}

func isDir(d disk.FS, name string) bool {
	info, err := d.Stat(name)
	return err == nil && info.IsDir()
}

func size(d disk.FS, name string) int64 {
	f, err := d.Open(name)
	if err != nil {
		return -1
	}
	defer f.Close()
	n, err := f.Size()
	if err != nil {
		return -1
	}
	return n
}

// use writes to a file and reads it in several ways, and once more when it is closed.
func use(f disk.File, rng *rand.Rand) string {
	var out strings.Builder
	say := func(what string, n int64, err error) { fmt.Fprintf(&out, "; %s %d %s", what, n, kind(err)) }
	buf := make([]byte, 1+rng.IntN(20))
	text := bytes.Repeat([]byte{byte('a' + rng.IntN(26))}, 1+rng.IntN(30))
	for range 6 {
		at := int64(rng.IntN(42) - 1)
		switch rng.IntN(6) {
		case 0:
			n, err := f.Write(text)
			say("write", int64(n), err)
		case 1:
			n, err := f.WriteAt(text, at)
			say("write at", int64(n), err)
		case 2:
			say("truncate", at, f.Truncate(at))
		case 3:
			n, err := f.Read(buf)
			say("read "+string(buf[:n]), int64(n), err)
		case 4:
			n, err := f.ReadAt(buf, at)
			say("read at "+string(buf[:n]), int64(n), err)
		case 5:
			n, err := f.Size()
			say("size", n, err)
		}
	}
	say("close", 0, f.Close())
	_, err := f.Read(buf)
	say("read", 0, err)
	_, err = f.WriteAt(text, 0)
	say("write", 0, err)
	_, err = f.Size()
	say("size", 0, err)
	say("sync", 0, f.Sync())
	say("truncate", 0, f.Truncate(0))
	say("close", 0, f.Close())
	return out.String()
}

// TestAsARealDisk: whatever a program does, it sees the same here as on a directory of the machine.
func TestAsARealDisk(t *testing.T) {
	for seed := range uint64(60) {
		real, err := disk.OpenRoot(t.TempDir())
		must(t, err)
		m, here, there := New(), seeded(seed), seeded(seed)
		for i := range 60 {
			if got, want := step(m, here), step(real, there); got != want {
				t.Fatalf("seed %d, step %d:\n%s\nwhere the machine says\n%s", seed, i, got, want)
			}
		}
		must(t, real.Close())
	}
}

// TestEveryOperationCanFail: an operation for which the hook has an error returns it, and does nothing.
func TestEveryOperationCanFail(t *testing.T) {
	for op, do := range map[string]func(m *FS, f disk.File) error{
		"create":   func(m *FS, _ disk.File) error { _, err := m.Create("b"); return err },
		"open":     func(m *FS, _ disk.File) error { _, err := m.Open("a"); return err },
		"edit":     func(m *FS, _ disk.File) error { _, err := m.Edit("a"); return err },
		"rename":   func(m *FS, _ disk.File) error { return m.Rename("a", "b") },
		"remove":   func(m *FS, _ disk.File) error { return m.Remove("a") },
		"mkdir":    func(m *FS, _ disk.File) error { return m.MkdirAll("b") },
		"readdir":  func(m *FS, _ disk.File) error { _, err := m.ReadDir("."); return err },
		"stat":     func(m *FS, _ disk.File) error { _, err := m.Stat("a"); return err },
		"syncdir":  func(m *FS, _ disk.File) error { return m.SyncDir(".") },
		"read":     func(_ *FS, f disk.File) error { _, err := f.Read(make([]byte, 1)); return err },
		"sync":     func(_ *FS, f disk.File) error { return f.Sync() },
		"truncate": func(_ *FS, f disk.File) error { return f.Truncate(0) },
	} {
		m := New()
		put(t, m, "a", "text", true, true)
		f, err := m.Edit("a")
		must(t, err)
		m.SetFail(func(asked, _ string, _ int) error {
			if asked == op {
				return syscall.EIO
			}
			return nil
		})
		if err := do(m, f); !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", op, err)
		}
		m.SetFail(nil)
		if names, err := m.ReadDir("."); err != nil || fmt.Sprint(names) != "[a]" || text(t, m, "a") != "text" {
			t.Errorf("a %s that fails leaves %v with %q, %v", op, names, text(t, m, "a"), err)
		}
	}
}
