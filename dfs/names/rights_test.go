package names

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// rightsRig is a namespace of ann and bob, who share the group pals, and of cat, who is in none. The superuser is root.
func rightsRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.cfg.Groups = func(user string) []string {
		return map[string][]string{"ann": {"pals"}, "bob": {"pals", "bobs"}, "sue": {"supergroup"}}[user]
	}
	r.open()
	for i := range 3 {
		r.addNode(wire.NodeName(fmt.Sprint("n", i)), "r", 1<<40)
	}
	return r
}

func (r *rig) as(user, path string) error {
	return r.put(wire.CreateRequest{Path: path, User: user, Parents: true, Holder: user, Overwrite: true}, 1, "n0")
}

func (r *rig) rights(user, path, owner, group string, mode int) error {
	_, err := r.s.SetRights(wire.SetRightsRequest{Path: path, User: user, Owner: owner, Group: group, Mode: mode})
	return err
}

// A deed is one call of a user about a path.
type deed func(s *Service, user, path string) error

var deeds = map[string]deed{
	"stat": func(s *Service, u, p string) error { _, err := s.Stat(wire.PathRequest{Path: p, User: u}); return err },
	"list": func(s *Service, u, p string) error { _, err := s.List(wire.ListRequest{Path: p, User: u}); return err },
	"read": func(s *Service, u, p string) error {
		_, err := s.Locate(wire.LocateRequest{Path: p, User: u, Len: -1})
		return err
	},
	"usage": func(s *Service, u, p string) error {
		_, err := s.Usage(wire.QuotaRequest{Path: p, User: u})
		return err
	},
	"overwrite": func(s *Service, u, p string) error {
		_, err := s.Create(wire.CreateRequest{Path: p, User: u, Holder: u, Overwrite: true})
		return err
	},
	"create in": func(s *Service, u, p string) error {
		_, err := s.Create(wire.CreateRequest{Path: p + "/new", User: u, Holder: u})
		return err
	},
	"mkdir in": func(s *Service, u, p string) error {
		_, err := s.Mkdir(wire.MkdirRequest{Path: p + "/d", User: u})
		return err
	},
	"remove": func(s *Service, u, p string) error {
		return s.Delete(wire.DeleteRequest{Path: p, User: u, Recursive: true})
	},
	"discard": func(s *Service, u, p string) error {
		return s.Delete(wire.DeleteRequest{Path: p, User: u, Recursive: true, Trash: true})
	},
	"move away": func(s *Service, u, p string) error {
		_, err := s.Rename(wire.RenameRequest{From: p, To: "/tmp/" + u + "-took", User: u})
		return err
	},
	"move over": func(s *Service, u, p string) error {
		_, err := s.Rename(wire.RenameRequest{From: "/user/" + u + "/own", To: p, User: u, Replace: true})
		return err
	},
	"replace": func(s *Service, u, p string) error {
		_, err := s.Rename(wire.RenameRequest{From: "/user/" + u + "/tree", To: p, User: u, Tree: true})
		return err
	},
	"setrep": func(s *Service, u, p string) error {
		_, err := s.SetReplication(wire.SetReplicationRequest{Path: p, User: u, Replication: 1})
		return err
	},
	"chmod": func(s *Service, u, p string) error {
		_, err := s.SetRights(wire.SetRightsRequest{Path: p, User: u, Mode: 0o777})
		return err
	},
	"chown": func(s *Service, u, p string) error {
		_, err := s.SetRights(wire.SetRightsRequest{Path: p, User: u, Owner: u, Mode: -1})
		return err
	},
	"chgrp": func(s *Service, u, p string) error {
		_, err := s.SetRights(wire.SetRightsRequest{Path: p, User: u, Group: "pals", Mode: -1})
		return err
	},
}

// TestPrivateFiles: what bob keeps to himself nobody but he and a superuser can read, list, move, remove, overwrite or take.
func TestPrivateFiles(t *testing.T) {
	for name, do := range deeds {
		for _, path := range []string{"/user/bob/private", "/user/bob/private/f", "/user/bob/private/d", "/shared/f"} {
			t.Run(name+" "+path, func(t *testing.T) {
				r := rightsRig(t)
				for _, p := range []string{"/user/bob/private/f", "/user/bob/private/d/f", "/user/ann/own", "/user/cat/own", "/user/ann/tree/f", "/user/cat/tree/f"} {
					must(t, r.as(strings.Split(p, "/")[2], p))
				}
				must(t, r.as("root", "/shared/f"))
				must(t, r.rights("root", "/shared/f", "bob", "bobs", 0o600))
				must(t, r.rights("bob", "/user/bob/private", "", "", 0o700))
				before := r.s.dump()
				for _, user := range []string{"ann", "cat"} {
					err := do(r.s, user, path)
					deep := strings.HasPrefix(path, "/user/bob/private/")
					visible := !deep && (name == "stat" || path == "/shared/f" && (name == "list" || name == "usage"))
					switch {
					case visible && err != nil, !visible && err == nil:
						t.Errorf("%s: %v", user, err)
					case deep && wire.KindOf(err) != wire.Denied:
						t.Errorf("%s is told more than that it may not: %v", user, err)
					}
				}
				if after := r.s.dump(); after != before {
					t.Errorf("changed from\n%s\nto\n%s", before, after)
				}
				if err := do(r.s, "sue", path); wire.KindOf(err) == wire.Denied && err != nil {
					t.Errorf("one of the supergroup: %v", err)
				}
			})
		}
	}
}

// TestDigits: the digit of the mode that counts is the owner's for the owner, the group's for its members, the last for others.
func TestDigits(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/f"))
	must(t, r.rights("ann", "/user/ann/f", "", "pals", -1))
	for mode, who := range map[int]string{0o400: "ann", 0o040: "bob", 0o004: "cat", 0o444: "ann bob cat", 0o333: "", 0o644: "ann bob cat", 0o640: "ann bob"} {
		must(t, r.rights("ann", "/user/ann/f", "", "", mode))
		for _, user := range []string{"ann", "bob", "cat"} {
			err := deeds["read"](r.s, user, "/user/ann/f")
			if want := strings.Contains(who, user); want != (err == nil) {
				t.Errorf("mode %o: %s: %v", mode, user, err)
			}
		}
	}
	must(t, r.rights("ann", "/user/ann/f", "", "", 0o640))
	if err := deeds["read"](r.s, "cat", "/user/ann/f"); err == nil || !strings.Contains(err.Error(), "-rw-r----- ann pals") {
		t.Errorf("the refusal does not say why: %v", err)
	}
}

// TestOwnersAndGroups: only a superuser gives files away, so nobody's quota is filled by another; the group is changed to one
// of the owner's.
func TestOwnersAndGroups(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/f"))
	must(t, r.s.SetQuota(wire.QuotaRequest{Of: "ann", Files: 3, Bytes: -1}))
	for _, owner := range []string{"bob", "root"} {
		if err := r.rights("ann", "/user/ann/f", owner, "", -1); wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("ann gives a file to %s: %v", owner, err)
		}
	}
	if err := r.rights("ann", "/user/ann/f", "", "bobs", -1); wire.KindOf(err) != wire.Denied || err == nil {
		t.Errorf("a group that is not ann's: %v", err)
	}
	for _, mode := range []int{0o2000, 0o10000, 1 << 20} {
		if err := r.rights("ann", "/user/ann/f", "", "", mode); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	must(t, r.rights("root", "/user/ann/f", "bob", "bobs", 0o600))
	r.s.audit(t)
	if u, err := r.s.Usage(wire.QuotaRequest{Of: "bob", User: "bob"}); err != nil || u.Files != 1 {
		t.Errorf("bob is charged for %+v, %v", u, err)
	}
	must(t, r.s.SetQuota(wire.QuotaRequest{Of: "ann", Files: 1, Bytes: -1}))
	if err := r.rights("root", "/user/ann/f", "ann", "", -1); wire.KindOf(err) != wire.Quota || err == nil {
		t.Errorf("beyond the new owner's quota: %v", err)
	}
	if _, err := r.s.Usage(wire.QuotaRequest{Of: "bob", User: "ann"}); wire.KindOf(err) != wire.Denied || err == nil {
		t.Errorf("ann sees what bob has: %v", err)
	}
	must(t, r.s.Close())
	r.open()
	i, err := r.s.Stat(wire.PathRequest{Path: "/user/ann/f"})
	if err != nil || i.User != "bob" || i.Group != "bobs" || i.Mode != 0o600 {
		t.Errorf("after a restart: %+v, %v", i, err)
	}
}

// TestStandingDirectories: /tmp and homes are made at first use; in /tmp only owners take files away; nobody makes another's
// home, or anything in the root.
func TestStandingDirectories(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/f"))
	must(t, r.as("ann", "/tmp/of-ann"))
	must(t, r.as("bob", "/tmp/.millrace/job-1/part"))
	for path, want := range map[string]string{
		"/tmp": "drwxrwxrwt root", "/tmp/.millrace": "drwxrwxrwt root", "/user": "drwxr-xr-x root", "/user/ann": "drwxr-xr-x ann",
		"/user/ann/f": "-rw-r--r-- ann", "/tmp/.millrace/job-1": "drwxr-xr-x bob", "/": "drwxr-xr-x root",
	} {
		i, err := r.s.Stat(wire.PathRequest{Path: path})
		if got := wire.ModeText(i.Dir, i.Mode) + " " + i.User; err != nil || got != want || i.Group != "supergroup" {
			t.Errorf("%s: %s %s, %v; want %s", path, got, i.Group, err, want)
		}
	}
	for what, err := range map[string]error{
		"removed from /tmp": deeds["remove"](r.s, "bob", "/tmp/of-ann"), "overwritten": r.as("bob", "/tmp/of-ann"),
		"moved over": r.rename("bob", "/tmp/.millrace/job-1/part", "/tmp/of-ann"), "another's home": r.as("ann", "/user/cat/f"),
		"in the root": r.as("ann", "/f"), "through a file of another": r.as("ann", "/tmp/.millrace/job-1/x"),
	} {
		if wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	must(t, r.rename("ann", "/tmp/of-ann", "/user/ann/back"))
}

func (r *rig) rename(user, from, to string) error {
	_, err := r.s.Rename(wire.RenameRequest{From: from, To: to, User: user, Replace: true})
	return err
}

// TestTreesOfOthers: a tree is removed whole or not at all; a directory of another in it that is not empty keeps it.
func TestTreesOfOthers(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/d/f"))
	must(t, r.rights("ann", "/user/ann/d", "", "", 0o777))
	must(t, r.as("bob", "/user/ann/d/of-bob/f"))
	must(t, r.as("ann", "/user/ann/tree/f"))
	for _, name := range []string{"remove", "discard", "replace"} {
		if err := deeds[name](r.s, "ann", "/user/ann/d"); wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("%s of a tree with another's directory: %v", name, err)
		}
	}
	must(t, deeds["stat"](r.s, "ann", "/user/ann/d/of-bob/f"))
	must(t, deeds["remove"](r.s, "bob", "/user/ann/d/of-bob"))
	must(t, r.as("bob", "/user/ann/d/file-of-bob"))
	must(t, deeds["replace"](r.s, "ann", "/user/ann/d")) // files need no rights of their own
	must(t, deeds["stat"](r.s, "ann", "/user/ann/d/f"))
	if err := deeds["stat"](r.s, "ann", "/user/ann/d/file-of-bob"); wire.KindOf(err) != wire.NotFound {
		t.Errorf("what was replaced is there: %v", err)
	}
	must(t, deeds["remove"](r.s, "ann", "/user/ann/d"))
	r.s.audit(t)
}

// TestOpenFilesOfOthers: who knows the name of a lease's holder cannot write, finish or give up another's file.
func TestOpenFilesOfOthers(t *testing.T) {
	r := rightsRig(t)
	f, err := r.s.Create(wire.CreateRequest{Path: "/tmp/f", User: "bob", Holder: "secret", Request: "1"})
	must(t, err)
	id := f.File.ID
	_, err1 := r.s.AddBlock(wire.AddBlockRequest{File: id, Holder: "secret", By: "ann"})
	_, err2 := r.s.Bump(wire.BumpRequest{File: id, Holder: "secret", By: "ann"})
	_, err3 := r.s.Complete(wire.CompleteRequest{File: id, Holder: "secret", By: "ann"})
	_, err4 := r.s.Create(wire.CreateRequest{Path: "/tmp/f", User: "ann", Holder: "secret", Request: "1", Overwrite: true})
	for n, err := range []error{err1, err2, err3, err4, r.s.Abandon(wire.LeaseRequest{File: id, Holder: "secret", By: "ann"}), r.s.RenewLease(wire.LeaseRequest{Holder: "secret", By: "ann"})} {
		if wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("call %d: %v", n+1, err)
		}
	}
	_, err = r.s.Create(wire.CreateRequest{Path: "/tmp/f", User: "ann", Holder: "a"})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the holder is told to others: %v", err)
	}
	_, err = r.s.Complete(wire.CompleteRequest{File: id, Holder: "secret", By: "bob"})
	must(t, err)
}

// TestTrash: what is thrown away lies in the user's trash under its old path, for a day.
func TestTrash(t *testing.T) {
	r := rightsRig(t)
	const bucket = "/user/ann/.Trash/20231114-2213"
	for range 2 {
		must(t, r.as("ann", "/tmp/d/f"))
		must(t, deeds["discard"](r.s, "ann", "/tmp/d"))
	}
	must(t, deeds["stat"](r.s, "ann", bucket+"/tmp/d/f"))
	must(t, deeds["stat"](r.s, "ann", bucket+"-1/tmp/d/f"))
	if err := deeds["discard"](r.s, "ann", "/user/ann"); err == nil {
		t.Error("the trash was thrown into itself")
	}
	must(t, deeds["discard"](r.s, "ann", bucket+"-1/tmp/d")) // for good
	if err := deeds["stat"](r.s, "ann", bucket+"-1/tmp/d"); wire.KindOf(err) != wire.NotFound {
		t.Error(err)
	}
	r.wall = r.wall.Add(23 * time.Hour)
	r.step(2 * time.Minute)
	must(t, deeds["stat"](r.s, "ann", bucket+"/tmp/d/f"))
	r.wall = r.wall.Add(2 * time.Hour)
	r.step(2 * time.Minute)
	if err := deeds["stat"](r.s, "ann", bucket); wire.KindOf(err) != wire.NotFound {
		t.Errorf("after a day: %v", err)
	}
	r.s.audit(t)
}

// TestChecksumsOfOthers: the checksum of a file is for those who may read it, whatever call describes the file.
func TestChecksumsOfOthers(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("root", "/shared/f"))
	must(t, r.rights("root", "/shared", "bob", "", 0o777))
	must(t, r.rights("root", "/shared/f", "bob", "bobs", 0o602)) // others may write it, and may not read it
	_, err := r.s.Snapshot(wire.SnapshotRequest{Path: "/shared", Name: "s", User: "bob"})
	must(t, err)
	for _, user := range []string{"ann", "cat", "bob", "root", "sue"} {
		may := user != "ann" && user != "cat"
		for call, f := range r.described(t, user) {
			if f.HasCRC != may || may != (f.CRC == 7) {
				t.Errorf("%s by %s: checksum %d (%t), want it: %t", call, user, f.CRC, f.HasCRC, may)
			}
		}
	}
	must(t, r.rights("bob", "/shared/f", "", "pals", 0o640))
	f, err := r.s.Stat(wire.PathRequest{Path: "/shared/f", User: "ann"})
	if err != nil || !f.HasCRC {
		t.Errorf("ann may read it by her group, and is told no checksum: %v", err)
	}
}

// described asks every call that describes a file about /shared/f.
func (r *rig) described(t *testing.T, user string) map[string]wire.FileInfo {
	t.Helper()
	out := map[string]wire.FileInfo{}
	add := func(call string, f wire.FileInfo, err error) {
		must(t, err)
		out[call] = f
	}
	for call, path := range map[string]string{"": "/shared/f", " in a snapshot": "/shared/.snapshot/s/f"} {
		f, err := r.s.Stat(wire.PathRequest{Path: path, User: user})
		add("stat"+call, f, err)
		for what, p := range map[string]string{"list": path, "list of the directory": strings.TrimSuffix(path, "/f")} {
			l, err := r.s.List(wire.ListRequest{Path: p, User: user})
			must(t, err)
			add(what+call, l.Entries[0], nil)
		}
	}
	f, err := r.s.Rename(wire.RenameRequest{From: "/shared/f", To: "/shared/g", User: user})
	add("rename", f, err)
	f, err = r.s.Rename(wire.RenameRequest{From: "/shared/g", To: "/shared/f", User: user})
	add("rename back", f, err)
	f, err = r.s.SetReplication(wire.SetReplicationRequest{Path: "/shared/f", User: user, Replication: 2})
	add("setrep", f, err)
	return out
}

// TestFsckShowsOnlyWhatIsVisible: the health report names no file in a directory that the asker cannot list.
func TestFsckShowsOnlyWhatIsVisible(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("bob", "/user/bob/private/f"))
	must(t, r.as("bob", "/user/bob/open"))
	must(t, r.rights("bob", "/user/bob/private", "", "", 0o700))
	for user, want := range map[string]int{"ann": 1, "bob": 2, "root": 2} {
		out, err := r.s.Fsck(wire.FsckRequest{Path: "/", User: user, All: true})
		if err != nil || len(out.Files) != want {
			t.Errorf("%s sees %d files, %v", user, len(out.Files), err)
		}
	}
}

// TestUpgrade: a namespace without rights opens; its /tmp is for all.
func TestUpgrade(t *testing.T) {
	r := newRig(t)
	copyFile(t, "testdata/golden-v1.db", r.cfg.Checkpoint)
	r.cfg.Groups = nil
	r.open()
	for path, want := range map[string]wire.Kind{"/d/f": wire.Denied, "/tmp/f": 0} {
		must(t, r.s.Checkpoint())
		_, err := r.s.SafeMode(wire.SafeModeRequest{Set: "leave"})
		must(t, err)
		_, err = r.s.Create(wire.CreateRequest{Path: path, User: "ann", Holder: "ann"})
		if want == 0 && err != nil || want != 0 && wire.KindOf(err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}
