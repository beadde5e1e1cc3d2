//go:build unix

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestOwnDir: nobody else looks into a directory, whether it is new or was open, and the one above stays as it was.
func TestOwnDir(t *testing.T) {
	top := t.TempDir()
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, before := range map[string]fs.FileMode{"new": 0, "open": 0o755, "writable": 0o777, "group": 0o750, "own": 0o700, "read-only": 0o500} {
		dir, want := filepath.Join(top, name), fs.FileMode(0o700)
		if before != 0 {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, before); err != nil {
				t.Fatal(err)
			}
			want = before &^ 0o077
		}
		if err := OwnDir(dir); err != nil {
			t.Error(err)
		}
		if got := permOf(t, dir); got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	if got := permOf(t, top); got != 0o755 {
		t.Errorf("the directory above has mode %o now", got)
	}
}

func permOf(t *testing.T, name string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
