package names

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// TestNothingIsShownThatIsNotDurable: after a change that did not reach the disk, whatever would show it, or that something is not there any more, says that it
// cannot tell; what the change did not touch is shown.
func TestNothingIsShownThatIsNotDurable(t *testing.T) {
	stat := func(path string) func(s *Service) error {
		return func(s *Service) error { _, err := s.Stat(wire.PathRequest{Path: path}); return err }
	}
	list := func(path string) func(s *Service) error {
		return func(s *Service) error { _, err := s.List(wire.ListRequest{Path: path}); return err }
	}
	usage := func(r wire.QuotaRequest) func(s *Service) error {
		return func(s *Service) error { _, err := s.Usage(r); return err }
	}
	for what, x := range map[string]struct {
		change func(s *Service) error
		shows  []func(s *Service) error
	}{
		"mkdir":  {func(s *Service) error { _, err := s.Mkdir(wire.MkdirRequest{Path: "/d/new"}); return err }, []func(s *Service) error{stat("/d/new"), stat("/d"), list("/d"), list("/d/new"), list("/")}},
		"delete": {func(s *Service) error { return s.Delete(wire.DeleteRequest{Path: "/d/f"}) }, []func(s *Service) error{stat("/d/f"), stat("/d"), list("/d")}},
		"rename": {func(s *Service) error { _, err := s.Rename(wire.RenameRequest{From: "/d/f", To: "/d/g"}); return err }, []func(s *Service) error{stat("/d/f"), stat("/d/g"), list("/d")}},
		"rights": {func(s *Service) error {
			_, err := s.SetRights(wire.SetRightsRequest{Path: "/d/f", Mode: 0o600})
			return err
		}, []func(s *Service) error{stat("/d/f"), list("/d")}},
		"replication": {func(s *Service) error {
			_, err := s.SetReplication(wire.SetReplicationRequest{Path: "/d/f", Replication: 2})
			return err
		}, []func(s *Service) error{stat("/d/f"), list("/d")}},
		"quota":     {func(s *Service) error { return s.SetQuota(wire.QuotaRequest{Path: "/d", Files: 9, Bytes: -1}) }, []func(s *Service) error{usage(wire.QuotaRequest{Path: "/d"})}},
		"of a user": {func(s *Service) error { return s.SetQuota(wire.QuotaRequest{Of: "ann", Files: 9, Bytes: -1}) }, []func(s *Service) error{usage(wire.QuotaRequest{Of: "ann"})}},
	} {
		r := newRig(t)
		m := memdisk.New()
		r.disk = m
		r.open()
		r.addNode("n0", "r", 1<<39)
		must(t, r.put(wire.CreateRequest{Path: "/d/f", User: "ann", Replication: 1, Parents: true}, 1, "n0"))
		must(t, r.put(wire.CreateRequest{Path: "/safe/f", Replication: 1, Parents: true}, 1, "n0"))
		m.SetFail(func(op, _ string, _ int) error {
			if op == "sync" {
				return syscall.EIO
			}
			return nil
		})
		if err := x.change(r.s); !errors.Is(err, wire.Unavailable) {
			t.Errorf("%s: %v", what, err)
		}
		for i, show := range x.shows {
			if err := show(r.s); !errors.Is(err, wire.Unavailable) {
				t.Errorf("%s: read %d says %v", what, i, err)
			}
		}
		for _, show := range []func(s *Service) error{stat("/safe/f"), stat("/safe"), list("/safe")} {
			if err := show(r.s); err != nil {
				t.Errorf("%s: what it did not touch: %v", what, err)
			}
		}
		_ = r.s.Close() // it says that it lost something
		r.s = nil
	}
}

// TestQuotasThatStay: one of two limits is set, and the other is as it was; of a directory and of a user, of one who has nothing, too.
func TestQuotasThatStay(t *testing.T) {
	r := storeRig(t, "r")
	for _, of := range []wire.QuotaRequest{{Path: "/"}, {Of: "ann"}} {
		for _, x := range []struct {
			files, bytes         int64
			keepFiles, keepBytes bool
			wantFiles, wantBytes int64
		}{
			{7, 8, true, true, -1, -1},
			{7, 8, false, false, 7, 8},
			{1, 2, true, false, 7, 2},
			{3, 4, false, true, 3, 2},
			{5, 6, true, true, 3, 2},
			{-9, -9, false, true, -1, 2},
		} {
			q := of
			q.Files, q.Bytes, q.KeepFiles, q.KeepBytes = x.files, x.bytes, x.keepFiles, x.keepBytes
			must(t, r.s.SetQuota(q))
			if u, err := r.s.Usage(of); err != nil || u.QuotaFiles != x.wantFiles || u.QuotaBytes != x.wantBytes {
				t.Errorf("%+v: %+v, %v", q, u, err)
			}
		}
	}
	for _, bad := range []wire.QuotaRequest{{Of: strings.Repeat("a", wire.MaxName+1)}, {Path: "/nowhere"}, {Path: "/f"}} {
		if bad.Path == "/f" {
			must(t, r.s.SetQuota(wire.QuotaRequest{Path: "/", Files: -1, Bytes: -1}))
			must(t, r.put(wire.CreateRequest{Path: "/f", Replication: 1}, 1, ""))
		}
		if err := r.s.SetQuota(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// TestRenamesToThemselves change nothing, and are no error; neither is a file that was moved before.
func TestRenamesToThemselves(t *testing.T) {
	r := storeRig(t, "r")
	must(t, r.put(wire.CreateRequest{Path: "/d/f", Replication: 1, Parents: true}, 1, ""))
	before := r.s.dump()
	for _, path := range []string{"/d/f", "/d"} {
		if fi, err := r.s.Rename(wire.RenameRequest{From: path, To: path, Replace: true, Tree: true}); err != nil || fi.Path != path {
			t.Errorf("%s to itself: %+v, %v", path, fi, err)
		}
	}
	must(t, r.s.RenameAll(wire.RenameAllRequest{Moves: []wire.Move{{From: "/gone", To: "/d/f"}}}))
	if after := r.s.dump(); after != before {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	if err := r.s.RenameAll(wire.RenameAllRequest{Moves: []wire.Move{{From: "/gone", To: "/nowhere"}, {From: "/d/f", To: "/g"}}}); !errors.Is(err, wire.NotFound) {
		t.Errorf("of what never was: %v", err)
	}
	if err := r.s.RenameAll(wire.RenameAllRequest{Moves: make([]wire.Move, maxMoves+1)}); !errors.Is(err, wire.Invalid) {
		t.Errorf("too many at once: %v", err)
	}
	if after := r.s.dump(); after != before {
		t.Errorf("behind a move that failed it was\n%s\nand is\n%s", before, after)
	}
}

// TestBlocksOutOfTurn: a block is given out behind the file's last one only, again for the same request, and finished in the generation that it has.
func TestBlocksOutOfTurn(t *testing.T) {
	r := storeRig(t, "r", "r")
	f, err := r.s.Create(wire.CreateRequest{Path: "/f", Holder: "h", BlockSize: 100, Replication: 1})
	must(t, err)
	add := func(previous *wire.Block, exclude ...wire.NodeName) (wire.Pipeline, error) {
		return r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h", Previous: previous, Stored: []wire.NodeName{"n0", "n1"}, Exclude: exclude})
	}
	if _, err := add(&wire.Block{ID: 77, Len: 10}); !errors.Is(err, wire.Invalid) {
		t.Errorf("behind a block of an empty file: %v", err)
	}
	first, err := add(nil)
	must(t, err)
	if again, err := add(nil); err != nil || again.Block != first.Block || len(again.Places) != 1 || again.Places[0] != first.Places[0] {
		t.Errorf("the first one again: %+v, %v; it was %+v", again, err, first)
	}
	moved, err := add(nil, first.Places[0].Node)
	if err != nil || moved.Block.ID != first.Block.ID || moved.Block.Gen <= first.Block.Gen || moved.Places[0] == first.Places[0] {
		t.Errorf("the first one elsewhere: %+v, %v; it was %+v", moved, err, first)
	}
	one := moved.Block
	one.Len = 100
	last := func(b wire.Block) error {
		_, err := r.s.Complete(wire.CompleteRequest{File: f.File.ID, Holder: "h", Last: &b, Stored: []wire.NodeName{"n0"}})
		return err
	}
	for what, b := range map[string]wire.Block{"older": {ID: one.ID, Gen: first.Block.Gen, Len: 100}, "too long": {ID: one.ID, Gen: one.Gen, Len: 101}, "less than empty": {ID: one.ID, Gen: one.Gen, Len: -1}, "another": {ID: one.ID + 1, Gen: one.Gen, Len: 100}} {
		if _, err := add(&b); err == nil {
			t.Errorf("behind one that is %s: no error", what)
		}
		if err := last(b); err == nil {
			t.Errorf("completed by one that is %s: no error", what)
		}
	}
	second, err := add(&one)
	must(t, err)
	if again, err := add(&one); err != nil || again.Block != second.Block {
		t.Errorf("the second one again: %+v, %v; it was %+v", again, err, second)
	}
	if _, err := add(nil); !errors.Is(err, wire.Invalid) {
		t.Errorf("the first one, late: %v", err)
	}
	if _, err := r.s.Bump(wire.BumpRequest{File: f.File.ID, Holder: "h", Block: one}); !errors.Is(err, wire.Stale) {
		t.Errorf("a new generation of a block that is finished: %v", err)
	}
	if _, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h", By: "eve"}); !errors.Is(err, wire.Denied) {
		t.Errorf("somebody else: %v", err)
	}
	if _, err := r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "eve"}); !errors.Is(err, wire.Stale) {
		t.Errorf("another holder: %v", err)
	}
	must(t, last(wire.Block{ID: second.Block.ID, Gen: second.Block.Gen})) // nothing was written to it
	if fi, err := r.s.Stat(wire.PathRequest{Path: "/f"}); err != nil || fi.Len != 100 || fi.Open {
		t.Errorf("%+v, %v", fi, err)
	}
	if _, err := add(&one); !errors.Is(err, wire.Stale) {
		t.Errorf("when it is closed: %v", err)
	}
}

// TestCheckpointThatCannotBeWritten: an entry that the database refuses fails the checkpoint, which keeps nothing of it.
func TestCheckpointThatCannotBeWritten(t *testing.T) {
	db, err := bolt.Open(filepath.Join(t.TempDir(), "names.db"), 0o600, nil)
	must(t, err)
	defer db.Close()
	must(t, db.Update(func(tx *bolt.Tx) error {
		_, err1 := tx.CreateBucket(inodeBucket)
		_, err2 := tx.CreateBucket(metaBucket)
		return cmp.Or(err1, err2)
	}))
	for _, bad := range []change{{value: []byte("no key")}, {key: make([]byte, bolt.MaxKeySize+1), value: []byte("a long key")}} {
		list := []change{{key: inodeKey(1), value: []byte("good")}, bad, {key: inodeKey(2), value: []byte("good")}}
		if err := db.Update(func(tx *bolt.Tx) error { return writeAll(tx, state{Version: stateVersion}, list) }); err == nil {
			t.Errorf("%.20s: nobody complains", bad.value)
		}
	}
	must(t, db.View(func(tx *bolt.Tx) error {
		if k, _ := tx.Bucket(inodeBucket).Cursor().First(); k != nil {
			t.Errorf("it keeps %x", k)
		}
		return nil
	}))
}
