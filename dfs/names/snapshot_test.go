package names

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

func (r *rig) snapshot(user, path, name string, remove bool) error {
	_, err := r.s.Snapshot(wire.SnapshotRequest{Path: path, Name: name, User: user, Remove: remove})
	return err
}

// reopen restarts the service, with a checkpoint or from the journal alone, and expects the same namespace.
func (r *rig) reopen(checkpoint bool) {
	r.t.Helper()
	if checkpoint {
		must(r.t, r.s.Checkpoint())
	}
	before := r.s.dump()
	must(r.t, r.s.Close())
	r.open()
	if after := r.s.dump(); after != before {
		r.t.Fatalf("after a restart\n%s\nbefore\n%s", after, before)
	}
	r.s.audit(r.t)
	r.step(10 * time.Second)
}

// TestSnapshots: what was in a directory can be read after it is gone, over restarts; its blocks go with the last file that
// has them.
func TestSnapshots(t *testing.T) {
	for _, checkpoint := range []bool{false, true} {
		r := rightsRig(t)
		must(t, r.as("ann", "/user/ann/d/f"))
		must(t, r.as("ann", "/user/ann/d/e/g"))
		_, err := r.s.Create(wire.CreateRequest{Path: "/user/ann/d/open", User: "ann", Holder: "o"})
		must(t, err)
		must(t, r.snapshot("ann", "/user/ann/d", "one", false))
		r.s.audit(t)
		must(t, r.snapshot("ann", "/user/ann/d", "two", false))
		must(t, deeds["remove"](r.s, "ann", "/user/ann/d/e"))
		must(t, r.as("ann", "/user/ann/d/f")) // another content
		r.s.audit(t)
		r.reopen(checkpoint)
		for _, snap := range []string{"one", "two"} {
			for _, name := range []string{"/f", "/e/g"} {
				loc, err := r.s.Locate(wire.LocateRequest{Path: "/user/ann/d/.snapshot/" + snap + name, User: "bob", Len: -1})
				if err != nil || len(loc.Blocks) != 1 || len(loc.Blocks[0].Places) != 3 {
					t.Fatalf("%s%s: %+v, %v", snap, name, loc, err)
				}
			}
		}
		if err := deeds["stat"](r.s, "ann", "/user/ann/d/.snapshot/one/open"); wire.KindOf(err) != wire.NotFound {
			t.Errorf("a file that was being written: %v", err)
		}
		list, err := r.s.List(wire.ListRequest{Path: "/user/ann/d/.snapshot", User: "bob"})
		if err != nil || len(list.Entries) != 2 || list.Entries[1].Path != "/user/ann/d/.snapshot/two" {
			t.Errorf("the snapshots: %+v, %v", list, err)
		}
		must(t, r.snapshot("ann", "/user/ann/d", "one", true))
		must(t, deeds["read"](r.s, "ann", "/user/ann/d/.snapshot/two/e/g"))
		r.takeLog()
		must(t, r.snapshot("ann", "/user/ann/d", "two", true))
		r.s.audit(t)
		r.step(10 * time.Second)
		if log := r.takeLog(); strings.Count(log, "deletes") != 6 {
			t.Errorf("the blocks of two files that are gone: %s", log)
		}
		r.reopen(checkpoint)
		must(t, deeds["read"](r.s, "ann", "/user/ann/d/f"))
	}
}

// TestSnapshotsAreReadOnly: nothing in a snapshot is changed, by nobody; a directory with snapshots stays.
func TestSnapshotsAreReadOnly(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/d/f"))
	must(t, r.as("ann", "/user/ann/own"))
	must(t, r.as("ann", "/user/ann/tree/f"))
	must(t, r.as("root", "/user/root/tree/f"))
	must(t, r.snapshot("ann", "/user/ann/d", "s", false))
	before := r.s.dump()
	for _, user := range []string{"ann", "root"} {
		for _, name := range []string{"overwrite", "create in", "mkdir in", "remove", "discard", "move away", "move over", "replace", "setrep", "chmod", "chown", "chgrp"} {
			for _, path := range []string{"/user/ann/d/.snapshot/s/f", "/user/ann/d/.snapshot/s", "/user/ann/d/.snapshot"} {
				if err := deeds[name](r.s, user, path); err == nil {
					t.Errorf("%s %s %s", user, name, path)
				}
			}
		}
		for _, name := range []string{"remove", "discard", "replace"} {
			if err := deeds[name](r.s, user, "/user/ann/d"); err == nil || !strings.Contains(err.Error(), "has snapshots") {
				t.Errorf("%s %s the directory: %v", user, name, err)
			}
		}
		if err := r.snapshot(user, "/user/ann/d/.snapshot/s", "t", false); err == nil {
			t.Error("a snapshot of a snapshot")
		}
	}
	for _, name := range []string{"", ".", "a/b", strings.Repeat("x", 300), "s"} {
		if err := r.snapshot("ann", "/user/ann/d", name, false); err == nil {
			t.Errorf("snapshot %q was made", name)
		}
	}
	for what, err := range map[string]error{
		"made by bob": r.snapshot("bob", "/user/ann/d", "x", false), "removed by bob": r.snapshot("bob", "/user/ann/d", "s", true),
	} {
		if wire.KindOf(err) != wire.Denied || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := r.s.dump(); after != before {
		t.Errorf("changed from\n%s\nto\n%s", before, after)
	}
}

// TestSnapshotsCount: a snapshot counts for the quota of its owner, so that nobody keeps more than allowed by removing what a
// snapshot has.
func TestSnapshotsCount(t *testing.T) {
	r := rightsRig(t)
	must(t, r.as("ann", "/user/ann/d/f"))
	must(t, r.rights("ann", "/user/ann/d", "", "", 0o777))
	must(t, r.as("bob", "/user/ann/d/of-bob"))
	before, err := r.s.Usage(wire.QuotaRequest{Of: "bob"})
	must(t, err)
	must(t, r.s.SetQuota(wire.QuotaRequest{Of: "ann", Files: 5, Bytes: -1}))
	if err := r.snapshot("ann", "/user/ann/d", "s", false); wire.KindOf(err) != wire.Quota || err == nil {
		t.Errorf("3 more names than the 3 there are, of 5: %v", err)
	}
	must(t, r.s.SetQuota(wire.QuotaRequest{Of: "ann", Files: 6, Bytes: -1}))
	must(t, r.snapshot("ann", "/user/ann/d", "s", false))
	if after, err := r.s.Usage(wire.QuotaRequest{Of: "bob"}); err != nil || after != before {
		t.Errorf("bob is charged %+v for ann's snapshot, %v", after, err)
	}
	r.s.audit(t)
	must(t, r.rename("ann", "/user/ann/d", "/user/ann/elsewhere"))
	must(t, deeds["read"](r.s, "bob", "/user/ann/elsewhere/.snapshot/s/of-bob"))
	r.s.audit(t)
	r.reopen(true)
	must(t, r.snapshot("ann", "/user/ann/elsewhere", "s", true))
	r.s.audit(t)
}
