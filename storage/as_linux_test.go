package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// TestAsHasTheUsersRights: a root process that acts as another user can read what that user can, writes files that belong
// to that user, and gets no further by links, by /proc, or by removing what others own.
func TestAsHasTheUsersRights(t *testing.T) {
	require.Root(t)
	d := &DiskAs{name: "somebody", uid: 65534, gid: 65534} // no account is needed: rights go by numbers
	dir := t.TempDir()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) { // nobody must get there
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	secret, open := filepath.Join(dir, "secret"), filepath.Join(dir, "open")
	write(t, secret, 0o600)
	write(t, open, 0o644)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{secret, link, "/proc/self/environ", "/proc/self/mem", "/proc/1/environ", "/etc/shadow"} {
		if _, err := d.Open(p); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("open %s: %v", p, err)
		}
	}
	if err := d.RemoveAll(open); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("remove: %v", err)
	}
	if err := d.Rename(open, secret); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("rename: %v", err)
	}
	if _, err := d.Create(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("create: %v", err)
	}
	if f, err := d.Open(open); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	checkOwn(t, d, filepath.Join(dir, "theirs"))
	if os.Geteuid() != 0 {
		t.Error("the process itself is no longer root")
	}
	if _, err := (Disk{}).Open(secret); err != nil {
		t.Errorf("the process itself cannot read any more: %v", err)
	}
}

// checkOwn: in a directory of their own users may do everything, and it is theirs.
func checkOwn(t *testing.T, d *DiskAs, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, d.uid, d.gid); err != nil {
		t.Fatal(err)
	}
	if err := d.MkdirAll(filepath.Join(dir, "a/b")); err != nil {
		t.Fatal(err)
	}
	w, err := d.Create(filepath.Join(dir, "a/b/c"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, "a/b/c"))
	if err != nil {
		t.Fatal(err)
	}
	if s := st.Sys().(*syscall.Stat_t); int(s.Uid) != d.uid || int(s.Gid) != d.gid {
		t.Errorf("the file belongs to %d:%d, want %d:%d", s.Uid, s.Gid, d.uid, d.gid)
	}
	if err := d.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Error(err)
	}
}

func write(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), mode); err != nil {
		t.Fatal(err)
	}
}

func TestAsUnknownUser(t *testing.T) {
	if d, err := As("root"); err != nil || d.UID() != 0 {
		t.Errorf("root: %+v, %v", d, err)
	}
	if _, err := As("no-such-user-here"); err == nil {
		t.Error("a user without an account is accepted")
	}
}

func TestIsLocal(t *testing.T) {
	for p, want := range map[string]bool{"/a": true, "a/b": true, "file:/a": true, "dfs:/a": false, "count:/a": false, "x:/a": true, "a:b": true} {
		if IsLocal(p) != want {
			t.Errorf("IsLocal(%q) is %v", p, !want)
		}
	}
}
