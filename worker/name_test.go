package worker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// TestNameIn: workers of one host that were given no name have different ones, each the same after a restart; a directory that
// a worker has used keeps that one's.
func TestNameIn(t *testing.T) {
	in := func(dir string) wire.NodeName {
		name, err := NameIn(dir, "host")
		if err != nil {
			t.Error(err)
		}
		return name
	}
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	a, b := in(one), in(two)
	if a == b || !strings.HasPrefix(string(a), "host-") || !strings.HasPrefix(string(b), "host-") {
		t.Errorf("two workers of one host are %s and %s", a, b)
	}
	if again := in(one); again != a {
		t.Errorf("after a restart %s is %s", a, again)
	}
	old := t.TempDir()
	l, err := disk.LockDir(old, lockNote+"w7")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := in(old); got != "w7" {
		t.Errorf("a directory of worker w7 has a worker %s now", got)
	}
	both := t.TempDir()
	var names [8]wire.NodeName
	var wg sync.WaitGroup
	for i := range names {
		wg.Go(func() { names[i] = in(both) })
	}
	wg.Wait()
	for _, n := range names {
		if n == "" || n != names[0] {
			t.Errorf("one directory has the names %v", names)
			break
		}
	}
	if left, err := filepath.Glob(filepath.Join(both, "*")); err != nil || len(left) != 1 {
		t.Errorf("files are left: %v, %v", left, err)
	}
	if err := os.WriteFile(filepath.Join(both, nameFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NameIn(both, "host"); err == nil || !strings.Contains(err.Error(), "--name") {
		t.Errorf("an empty name: %v", err)
	}
}

// TestNamesThatCannotBeKept: a worker whose directory cannot be made, read or written is told to be given a name, and leaves nothing that would be one.
func TestNamesThatCannotBeKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := t.TempDir()
	if err := os.Mkdir(filepath.Join(taken, nameFile), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), taken} {
		if name, err := NameIn(dir, "host"); name != "" || err == nil || !strings.Contains(err.Error(), "give --name") {
			t.Errorf("%s: %q, %v", dir, name, err)
		}
	}
	full := require.Tmpfs(t, "size=4k")
	filler := filepath.Join(full, "filler")
	if err := os.WriteFile(filler, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	if name, err := NameIn(full, "host"); name != "" || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %q, %v", name, err)
	}
	if left, err := filepath.Glob(filepath.Join(full, nameFile+"*")); err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if name, err := NameIn(full, ""); err != nil || !strings.HasPrefix(string(name), "worker-") {
		t.Errorf("of a host without a name: %q, %v", name, err)
	}
}
