package names

import (
	"errors"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

// TestEachChangeOnAFullDisk: whatever is asked for, a change that the journal has no room for is refused with that reason and is not there; time that
// passes says so, too. When there is room again, all goes on.
func TestEachChangeOnAFullDisk(t *testing.T) {
	r := newRig(t)
	m := memdisk.New()
	m.SetLimit(1 << 20)
	r.disk = m
	r.cfg.TrashAfter = time.Minute
	r.open()
	for _, n := range []wire.NodeName{"n0", "n1", "n2", "n3"} {
		r.addNode(n, "r", 1<<39)
	}
	must(t, r.put(wire.CreateRequest{Path: "/d/f", User: "ann", Parents: true}, 1, "n0"))
	must(t, r.put(wire.CreateRequest{Path: "/user/ann/old", User: "ann", Parents: true}, 1, "n0"))
	must(t, r.s.Delete(wire.DeleteRequest{Path: "/user/ann/old", User: "ann", Trash: true}))
	_, err := r.s.Snapshot(wire.SnapshotRequest{Path: "/d", Name: "s", User: "ann"})
	must(t, err)
	open := map[string]wire.FileID{}
	pipes := map[string]wire.Pipeline{}
	for _, name := range []string{"given", "empty", "lost"} {
		resp, err := r.s.Create(wire.CreateRequest{Path: "/" + name, Holder: name, BlockSize: 1000})
		must(t, err)
		if open[name] = resp.File.ID; name == "empty" {
			continue
		}
		pipes[name], err = r.s.AddBlock(wire.AddBlockRequest{File: resp.File.ID, Holder: name})
		must(t, err)
	}
	done, stored := r.write(pipes["given"], 500)
	r.write(pipes["lost"], 300)
	r.step(time.Second)
	hog, err := m.Create("hog")
	must(t, err)
	_, free, _ := m.Free()
	_, err = hog.Write(make([]byte, free))
	must(t, err)
	for err = nil; err == nil; { // the smallest record there is fills what the journal has
		err = r.s.SetQuota(wire.QuotaRequest{Path: "/", Files: -1, Bytes: -1})
	}
	before := r.s.dump()
	given := wire.BumpRequest{File: open["given"], Holder: "given", Block: pipes["given"].Block, Alive: stored[:1]}
	for what, change := range map[string]func() error{
		"mkdir":  func() error { _, err := r.s.Mkdir(wire.MkdirRequest{Path: "/new"}); return err },
		"create": func() error { _, err := r.s.Create(wire.CreateRequest{Path: "/new", Holder: "h"}); return err },
		"write over": func() error {
			_, err := r.s.Create(wire.CreateRequest{Path: "/d/f", Holder: "h", Overwrite: true})
			return err
		},
		"first block": func() error {
			_, err := r.s.AddBlock(wire.AddBlockRequest{File: open["empty"], Holder: "empty"})
			return err
		},
		"next block": func() error {
			_, err := r.s.AddBlock(wire.AddBlockRequest{File: open["given"], Holder: "given", Previous: &done, Stored: stored})
			return err
		},
		"bump": func() error { _, err := r.s.Bump(given); return err },
		"complete": func() error {
			_, err := r.s.Complete(wire.CompleteRequest{File: open["given"], Holder: "given", Last: &done, Stored: stored})
			return err
		},
		"complete empty": func() error {
			_, err := r.s.Complete(wire.CompleteRequest{File: open["empty"], Holder: "empty"})
			return err
		},
		"abandon": func() error { return r.s.Abandon(wire.LeaseRequest{File: open["given"], Holder: "given"}) },
		"rename":  func() error { _, err := r.s.Rename(wire.RenameRequest{From: "/given", To: "/g"}); return err },
		"rename all": func() error {
			return r.s.RenameAll(wire.RenameAllRequest{Moves: []wire.Move{{From: "/given", To: "/g"}}})
		},
		"delete": func() error { return r.s.Delete(wire.DeleteRequest{Path: "/given"}) },
		"throw away": func() error {
			return r.s.Delete(wire.DeleteRequest{Path: "/given", User: "ann", Super: true, Trash: true})
		},
		"replication": func() error {
			_, err := r.s.SetReplication(wire.SetReplicationRequest{Path: "/d/f", Replication: 2})
			return err
		},
		"quota":    func() error { return r.s.SetQuota(wire.QuotaRequest{Of: "ann", Files: 100, Bytes: -1}) },
		"rights":   func() error { _, err := r.s.SetRights(wire.SetRightsRequest{Path: "/d", Mode: 0o700}); return err },
		"snapshot": func() error { _, err := r.s.Snapshot(wire.SnapshotRequest{Path: "/d", Name: "t"}); return err },
		"remove snapshot": func() error {
			_, err := r.s.Snapshot(wire.SnapshotRequest{Path: "/d", Name: "s", Remove: true})
			return err
		},
		"drain": func() error { _, err := r.s.Drain(wire.DrainRequest{Node: "n3"}); return err },
	} {
		if err := change(); !errors.Is(err, wire.NoSpace) {
			t.Errorf("%s: %v", what, err)
		}
		if after := r.s.dump(); after != before {
			t.Fatalf("%s: refused, and yet there is\n%s\nafter\n%s", what, after, before)
		}
	}
	r.wall = r.wall.Add(time.Hour)
	r.now += sweepEvery
	r.beat("n0")
	if err := r.s.Tick(); !errors.Is(err, wire.NoSpace) {
		t.Errorf("the trash is swept: %v", err)
	}
	r.now += r.cfg.LeaseTimeout
	r.beat("n0")
	if err := r.s.Tick(); !errors.Is(err, wire.NoSpace) {
		t.Errorf("leases end: %v", err)
	}
	must(t, hog.Truncate(0))
	r.step(2 * time.Minute)
	for path, length := range map[string]int64{"/given": 500, "/lost": 300, "/empty": 0, "/d/f": 1000} {
		if fi, err := r.s.Stat(wire.PathRequest{Path: path}); err != nil || fi.Open || fi.Len != length {
			t.Errorf("%s: %+v, %v", path, fi, err)
		}
	}
	if resp, err := r.s.List(wire.ListRequest{Path: "/user/ann/.Trash"}); err != nil || len(resp.Entries) != 0 {
		t.Errorf("of the trash %d are left, %v", len(resp.Entries), err)
	}
	r.s.audit(t)
}

// TestRepeatedComplete: a request to close a file that comes again is known by the checksum and the last block, if it wrote one.
func TestRepeatedComplete(t *testing.T) {
	one, two := wire.Block{ID: 1, Gen: 1, Len: 10}, wire.Block{ID: 2, Gen: 1, Len: 10}
	full := content{crc: 7, hasCRC: true, blocks: []*block{{Block: one}}}
	for _, x := range []struct {
		file content
		last *wire.Block
		crc  uint32
		want bool
	}{
		{full, &one, 7, true},
		{full, &one, 8, false},
		{full, &two, 7, false},
		{full, nil, 7, true},
		{full, &wire.Block{ID: 3}, 7, true},
		{content{crc: 7, blocks: full.blocks}, &one, 7, false},
		{content{crc: 7, hasCRC: true}, &one, 7, false},
		{content{crc: 7, hasCRC: true}, nil, 7, true},
	} {
		if got := x.file.completed(&wire.CompleteRequest{CRC: x.crc, Last: x.last}); got != x.want {
			t.Errorf("a file of %d blocks, a request with checksum %d and last block %v: completed %v, want %v", len(x.file.blocks), x.crc, x.last, got, x.want)
		}
	}
}
