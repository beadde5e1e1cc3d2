package names

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/internal/wire"
)

// allEdits has one edit of each kind.
var allEdits = []edit{
	{op: opPut, id: 2, parent: 1, name: "d", user: "u", group: "g", mode: 0o1777, mtime: 5, dir: true},
	{op: opPut, id: 3, parent: 2, name: "é", user: "", group: "g", mode: 0o600, mtime: 1 << 40, shadow: true, replicas: 3, blockSize: 1 << 26, holder: "h", request: "r"},
	{op: opBlock, id: 3, index: 4, block: wire.Block{ID: 1 << 60, Gen: 9, Len: 77}, on: true, pipeline: []wire.NodeName{"n1", "n2"}},
	{op: opDrop, id: 3},
	{op: opClose, id: 3, mtime: 6, crc: 1<<32 - 1, on: true},
	{op: opHold, id: 3},
	{op: opMove, id: 3, parent: 1, name: "x", mtime: 7},
	{op: opRemove, id: 3, mtime: 8},
	{op: opReplica, id: 3, replicas: 255},
	{op: opQuota, id: 2, files: -1, bytes: 1 << 50},
	{op: opQuota, user: "u", files: 10, bytes: -1},
	{op: opGen, gen: 12},
	{op: opDrain, name: "n1", on: true},
	{op: opRights, id: 3, user: "v", group: "g", mode: 0o750},
	{op: opSnapshot, id: 2, name: "monday", mtime: 9},
}

func TestEditsGolden(t *testing.T) {
	golden(t, "testdata/golden-v2.record", encode(nil, allEdits))
	got, err := decode(encode(nil, allEdits))
	must(t, err)
	if d := cmp.Diff(allEdits, got, cmp.AllowUnexported(edit{})); d != "" {
		t.Error(d)
	}
	seen := map[byte]bool{}
	for _, e := range allEdits {
		seen[e.op] = true
	}
	if len(seen) != int(numOps)-1 {
		t.Errorf("%d of %d kinds of edits are tried", len(seen), numOps-1)
	}
	for _, bad := range [][]byte{nil, {9}, {recordVersion, byte(numOps)}, {recordVersion, opDrop}} {
		if _, err := decode(bad); err == nil {
			t.Errorf("%x was accepted", bad)
		}
	}
}

// TestOldRecord reads what version 1 wrote: the same edits, without groups and with the modes that there were.
func TestOldRecord(t *testing.T) {
	record, err := os.ReadFile("testdata/golden-v1.record")
	must(t, err)
	got, err := decode(record)
	must(t, err)
	want := slices.Clone(allEdits[:len(allEdits)-2])
	want[0].group, want[0].mode, want[1].group, want[1].mode = "", 0o755, "", 0o644
	if d := cmp.Diff(want, got, cmp.AllowUnexported(edit{})); d != "" {
		t.Error(d)
	}
}

// golden compares bytes with a file, or with MILLRACE_REWRITE makes it.
func golden(t *testing.T, name string, want []byte) {
	t.Helper()
	if os.Getenv("MILLRACE_REWRITE") != "" {
		must(t, os.WriteFile(name, want, 0o644))
	}
	got, err := os.ReadFile(name)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what this program writes", name)
	}
}

// TestGoldenCheckpoint opens a checkpoint of each version. The file's pages are bbolt's, so what is compared is what
// comes out. Of version 1 everything has the group supergroup and the modes 0755 and 0644.
func TestGoldenCheckpoint(t *testing.T) {
	for _, name := range []string{"testdata/golden-v1.db", "testdata/golden-v2.db"} {
		t.Run(name, func(t *testing.T) { goldenCheckpoint(t, name) })
	}
}

func goldenCheckpoint(t *testing.T, name string) {
	r := newRig(t)
	r.cfg.Rand = rand.New(rand.NewPCG(3, 3))
	if os.Getenv("MILLRACE_REWRITE") != "" && name != "testdata/golden-v1.db" {
		r.open()
		r.makeGolden()
		want := r.s.dump()
		must(t, r.s.Close())
		copyFile(t, r.cfg.Checkpoint, name)
		must(t, os.WriteFile(name+".txt", []byte(want), 0o644))
		r = newRig(t)
	}
	copyFile(t, name, r.cfg.Checkpoint)
	r.open()
	want, err := os.ReadFile(name + ".txt")
	must(t, err)
	if got := r.s.dump(); got != string(want) {
		t.Errorf("the checkpoint holds\n%s\nwant\n%s", got, want)
	}
	r.s.audit(t)
	if r.s.Cluster() != "cluster-482a02e011be36b9" || r.s.Epoch() != 2 {
		t.Errorf("cluster %s, epoch %d", r.s.Cluster(), r.s.Epoch())
	}
}

// makeGolden makes a namespace with some of everything.
func (r *rig) makeGolden() {
	for i := range 3 {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), "r", 1<<39)
	}
	must(r.t, r.put(wire.CreateRequest{Path: "/d/closed", User: "u0", Parents: true}, 2, "n0"))
	must(r.t, r.put(wire.CreateRequest{Path: "/d/empty ü", User: "u1"}, 0, "n0"))
	must(r.t, r.s.SetQuota(wire.QuotaRequest{Path: "/d", Files: 20, Bytes: -1}))
	must(r.t, r.s.SetQuota(wire.QuotaRequest{Of: "u0", Files: -1, Bytes: 1 << 30}))
	for _, path := range []string{"/d/open", "/d/closed"} {
		f, err := r.s.Create(wire.CreateRequest{Path: path, User: "u0", Holder: "h", Request: path, Overwrite: true, BlockSize: 1000})
		must(r.t, err)
		_, err = r.s.AddBlock(wire.AddBlockRequest{File: f.File.ID, Holder: "h"})
		must(r.t, err)
	}
	_, err := r.s.SetRights(wire.SetRightsRequest{Path: "/d/closed", Owner: "u1", Group: "g", Mode: 0o640})
	must(r.t, err)
	_, err = r.s.Snapshot(wire.SnapshotRequest{Path: "/d", Name: "monday"})
	must(r.t, err)
	_, err = r.s.Drain(wire.DrainRequest{Node: "n1", Force: true})
	must(r.t, err)
}

// A changed byte of any value, and a version of the future, are refused by name.
func TestDamagedCheckpoint(t *testing.T) {
	r := newRig(t)
	r.open()
	_, err := r.s.Mkdir(wire.MkdirRequest{Path: "/some"})
	must(t, err)
	must(t, r.s.Close())
	change := func(bucket, key []byte, edit func([]byte) []byte) {
		db, err := bolt.Open(r.cfg.Checkpoint, 0o600, nil)
		must(t, err)
		must(t, db.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket(bucket)
			return b.Put(key, edit(bytes.Clone(b.Get(key))))
		}))
		must(t, db.Close())
	}
	for _, place := range [][2][]byte{{inodeBucket, inodeKey(2)}, {metaBucket, stateKey}} {
		var whole []byte
		change(place[0], place[1], func(v []byte) []byte { whole = v; return v })
		for at := 0; at < len(whole); at += 1 + len(whole)/12 {
			change(place[0], place[1], func([]byte) []byte {
				bad := bytes.Clone(whole)
				bad[at] ^= 4
				return bad
			})
			if _, err := Open(r.cfg); !errors.Is(err, wire.Corrupt) || !strings.Contains(err.Error(), filepath.Base(r.cfg.Checkpoint)) {
				t.Fatalf("byte %d of %s: %v", at, place[1], err)
			}
		}
		change(place[0], place[1], func([]byte) []byte { return whole })
	}
	change(inodeBucket, inodeKey(2), func(v []byte) []byte {
		v[0] = 99
		return seal(inodeKey(2), v[:len(v)-4])
	})
	if _, err := Open(r.cfg); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("a newer entry: %v", err)
	}
	must(t, os.WriteFile(r.cfg.Checkpoint, []byte(strings.Repeat("not a database ", 1000)), 0o600))
	if _, err := Open(r.cfg); !errors.Is(err, wire.Corrupt) {
		t.Errorf("not a database: %v", err)
	}
	r.s = nil
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(nil, allEdits))
	for _, e := range allEdits {
		f.Add(encode(nil, []edit{e}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		edits, err := decode(b)
		if err != nil {
			return
		}
		again, err := decode(encode(nil, edits))
		if err != nil || !cmp.Equal(edits, again, cmp.AllowUnexported(edit{})) {
			t.Fatalf("%+v became %+v, %v", edits, again, err)
		}
		s := newService(DefaultConfig())
		s.cfg.Now = func() time.Duration { return 0 }
		for i := range edits {
			if s.apply(1, &edits[i]) != nil {
				break
			}
		}
		s.audit(t)
	})
}

func FuzzImage(f *testing.F) {
	key := inodeKey(7)
	f.Add(encodeImage(key, &image{parent: 1, name: "a", dir: true, quota: quota{-1, 5}}))
	f.Add(encodeImage(key, &image{parent: 1, name: "a", open: true, holder: "h", pipeline: []wire.NodeName{"n"}, blocks: []wire.Block{{ID: 1, Gen: 2, Len: 3}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, v := range [][]byte{b, seal(key, bytes.Clone(b))} {
			m, err := decodeImage(key, v)
			if err != nil {
				continue
			}
			again, err := decodeImage(key, encodeImage(key, m))
			if err != nil || !cmp.Equal(m, again, cmp.AllowUnexported(image{}, quota{})) {
				t.Fatalf("%+v became %+v, %v", m, again, err)
			}
		}
	})
}
