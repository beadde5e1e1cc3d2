package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestWhereNoDirectoryCanBe: a file in the way is an error of whoever asks, with its name, and nothing is left behind.
func TestWhereNoDirectoryCanBe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(file, "below")
	for what, try := range map[string]func() error{
		"a root":      func() error { _, err := OpenRoot(below); return err },
		"a lock":      func() error { _, err := LockDir(below, "w"); return err },
		"a claim":     func() error { _, err := NewClaim(below, "run-"); return err },
		"a temporary": func() error { _, err := TempDir(below, "run-"); return err },
		"free space":  func() error { _, _, err := Free(below); return err },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), below) && !strings.Contains(err.Error(), file) {
			t.Errorf("%s below a file: %v", what, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if err := (*Lock)(nil).Close(); err != nil {
		t.Error(err)
	}
	(*Claim)(nil).Release()
}

// TestALockThatIsADirectory: what cannot be locked is no lock, and is not taken for one in use.
func TestALockThatIsADirectory(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(dir, "w"); err == nil || strings.Contains(err.Error(), "in use") {
		t.Errorf("%v", err)
	}
}

// TestTheNoteOfALock: a lock says who has it now, also where the one before had more to say.
func TestTheNoteOfALock(t *testing.T) {
	dir := t.TempDir()
	for _, who := range []string{strings.Repeat("long ", 20), "b"} {
		l, err := LockDir(dir, who)
		if err != nil {
			t.Fatal(err)
		}
		note, err := os.ReadFile(filepath.Join(dir, "lock"))
		if err != nil || !strings.HasPrefix(string(note), who+", process ") || strings.Count(string(note), "\n") != 1 {
			t.Errorf("%q has locked it, and the note is %q, %v", who, note, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSharedLocks: several may share a file, and then nobody has it alone.
func TestSharedLocks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	for i, x := range []struct{ shared, want bool }{{true, true}, {true, true}, {false, false}} {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if got, err := TryLock(f, x.shared); got != x.want || err != nil {
			t.Errorf("number %d, shared %t: %t, %v", i, x.shared, got, err)
		}
	}
	closed, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := TryLock(closed, true); got || err == nil {
		t.Errorf("a closed file is locked: %t, %v", got, err)
	}
}

// TestSweepsThatFail: what could not be cleaned stays claimed and is tried again, the others go, and the caller is told.
func TestSweepsThatFail(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run-1.lock", "run-2.lock", "run-3.lock"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bad := errors.New("input/output error")
	var asked []string
	clean := func(path string) error {
		asked = append(asked, filepath.Base(path))
		if strings.HasSuffix(path, "2") {
			return bad
		}
		return nil
	}
	if err := Sweep(dir, "run-", clean); !errors.Is(err, bad) || !slices.Equal(asked, []string{"run-1", "run-2", "run-3"}) {
		t.Errorf("cleaned %q, %v", asked, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 || filepath.Base(left[0]) != "run-2.lock" {
		t.Errorf("left: %q", left)
	}
	asked, bad = nil, nil
	if err := Sweep(dir, "run-", clean); err != nil || !slices.Equal(asked, []string{"run-2"}) {
		t.Errorf("then cleaned %q, %v", asked, err)
	}
	if err := Sweep(filepath.Join(dir, "none"), "run-", clean); err != nil || len(asked) != 1 {
		t.Errorf("no directory: %v, cleaned %q", err, asked)
	}
}

// TestTemporaryDirectories: without a directory they lie where temporary files do; a name that is taken is no claim, and Remove leaves nothing.
func TestTemporaryDirectories(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	c, err := TempDir("", "run-")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.Path())
	if err != nil || filepath.Dir(c.Path()) != dir || info.Mode() != fs.ModeDir|0o700 || !Ours(info) {
		t.Fatalf("%s: %v, %v", c.Path(), info, err)
	}
	if err := os.WriteFile(filepath.Join(c.Path(), "f"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestWhatIsClosed: a file or directory that was given back answers with errors; a sync above all.
func TestWhatIsClosed(t *testing.T) {
	r, err := OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := r.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ReadDir("f"); err == nil {
		t.Error("a file is listed")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, size := f.Size()
	_, write := f.Write([]byte("x"))
	_, open := r.Open("f")
	for what, err := range map[string]error{"file synced": f.Sync(), "size of a file": size, "file written": write, "directory opened in": open, "directory still there": r.Lost(), "directory synced": r.SyncDir(".")} {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("closed, %s: %v", what, err)
		}
	}
}

// TestClaimsOfAnotherFile: a claim is made with the file that has the name, not with one that had it.
func TestClaimsOfAnotherFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run-1.lock")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if !names(f) {
		t.Error("a file has lost its name")
	}
	if err := errors.Join(os.Rename(name, name+".old"), os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if names(f) {
		t.Error("another file has its name")
	}
}
