package names

import (
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestUmask: what is made has the rights that its client's umask leaves, and others can do just that with it. Parents that are made on the way stay
// open to their owner; what everybody needs does not become one user's.
func TestUmask(t *testing.T) {
	for _, tt := range []struct {
		umask                          wire.Umask
		file, dir, parent              uint16
		catReads, catLists, bobReplace bool // cat is a stranger, bob in the group
	}{
		{"", 0o644, 0o755, 0o755, true, true, false},
		{"022", 0o644, 0o755, 0o755, true, true, false},
		{"077", 0o600, 0o700, 0o700, false, false, false},
		{"027", 0o640, 0o750, 0o750, false, false, false},
		{"0", 0o666, 0o777, 0o777, true, true, true},
		{"777", 0, 0, 0o300, false, false, false},
	} {
		r := rightsRig(t)
		must(t, r.as("root", "/project/x"))
		must(t, r.rights("root", "/project", "", "pals", 0o777))
		create := wire.CreateRequest{Path: "/project/p/f", User: "ann", Parents: true, Holder: "ann", Umask: tt.umask}
		must(t, r.put(create, 1, "n0"))
		_, err := r.s.Mkdir(wire.MkdirRequest{Path: "/project/d", User: "ann", Umask: tt.umask})
		must(t, err)
		_, err = r.s.Mkdir(wire.MkdirRequest{Path: "/user/ann/x", User: "ann", Parents: true, Umask: tt.umask})
		must(t, err)
		for path, want := range map[string]uint16{
			"/project/p/f": tt.file, "/project/d": tt.dir, "/project/p": tt.parent, "/user/ann": 0o755, "/user": 0o755,
		} {
			if i, err := r.s.Stat(wire.PathRequest{Path: path, User: "root"}); err != nil || i.Mode != want {
				t.Errorf("umask %q: %s has mode %o, %v; want %o", tt.umask, path, i.Mode, err, want)
			}
		}
		for what, want := range map[string]bool{"read": tt.catReads, "list": tt.catLists} {
			path := map[string]string{"read": "/project/p/f", "list": "/project/d"}[what]
			if err := deeds[what](r.s, "cat", path); (err == nil) != want {
				t.Errorf("umask %q: cat may %s: %v", tt.umask, what, err)
			}
		}
		if err := deeds["overwrite"](r.s, "bob", "/project/p/f"); (err == nil) != tt.bobReplace {
			t.Errorf("umask %q: bob may replace: %v", tt.umask, err)
		}
	}
}

// TestUmasksThatAreNone: they make nothing.
func TestUmasksThatAreNone(t *testing.T) {
	r := rightsRig(t)
	for _, u := range []wire.Umask{"8", "1777", "rw"} {
		_, err1 := r.s.Create(wire.CreateRequest{Path: "/tmp/f", User: "ann", Holder: "h", Umask: u})
		_, err2 := r.s.Mkdir(wire.MkdirRequest{Path: "/tmp/d", User: "ann", Umask: u})
		for _, err := range []error{err1, err2} {
			if wire.KindOf(err) != wire.Invalid || err == nil {
				t.Errorf("%q: %v", u, err)
			}
		}
	}
	if list, err := r.s.List(wire.ListRequest{Path: "/", User: "root"}); err != nil || len(list.Entries) > 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestTrashIsPrivate: a file that others could not reach, because a directory above it kept them out, they cannot reach in the trash either; its owner can,
// and takes it back with the rights that it had.
func TestTrashIsPrivate(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("bob", "/user/bob/private/f"))
	must(t, r.rights("bob", "/user/bob/private", "", "", 0o700))
	must(t, r.s.Delete(wire.DeleteRequest{Path: "/user/bob/private/f", User: "bob", Trash: true}))
	list, err := r.s.List(wire.ListRequest{Path: "/user/bob/.Trash", User: "bob"})
	if err != nil || len(list.Entries) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	f := list.Entries[0].Path + "/user/bob/private/f"
	must(t, deeds["read"](r.s, "bob", f))
	for _, user := range []string{"ann", "cat"} {
		if err := deeds["read"](r.s, user, f); wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("%s reads %s: %v", user, f, err)
		}
	}
	_, err = r.s.Rename(wire.RenameRequest{From: f, To: "/user/bob/private/f", User: "bob"})
	must(t, err)
	if i, err := r.s.Stat(wire.PathRequest{Path: "/user/bob/private/f", User: "bob"}); err != nil || i.Mode != 0o644 {
		t.Errorf("%+v, %v", i, err)
	}
}
