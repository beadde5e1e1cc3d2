package blocks

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/wire"
)

func openOn(t testing.TB, dirs ...disk.FS) *Store {
	t.Helper()
	s, err := tryOpen(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(dirs ...disk.FS) (*Store, error) {
	cfg := StoreConfig{Node: "n1"}
	for i, d := range dirs {
		cfg.Dirs = append(cfg.Dirs, Dir{fmt.Sprint("d", i), d})
	}
	n := 0
	cfg.NewID = func() string { n++; return fmt.Sprint("v", n) }
	return OpenStore(cfg)
}

// content is what block id holds in these tests.
func content(id wire.BlockID, n int) []byte {
	b := make([]byte, n)
	rng := rand.New(rand.NewPCG(uint64(id), 7))
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], rng.Uint64())
	}
	return b
}

// appendAll writes data from off on, chunk by chunk.
func appendAll(w *Writer, data []byte, off int) error {
	for off < len(data) {
		end := min(len(data), off+pipe.ChunkSize)
		if err := w.Append(data[off:end], pipe.Checksum(data[off:end])); err != nil {
			return err
		}
		off = end
	}
	return nil
}

func put(s *Store, b wire.Block) error {
	w, err := s.Begin(b, b.Len)
	if err != nil {
		return err
	}
	if err := appendAll(w, content(b.ID, int(b.Len)), 0); err != nil {
		return err
	}
	return w.Finish()
}

// check reads a replica whole and verifies it.
func check(s *Store, b wire.Block) error {
	r, err := s.Open(b.ID, b.Gen)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Block != b {
		return fmt.Errorf("holds %v, want %v", r.Block, b)
	}
	got := make([]byte, b.Len)
	if err := readAt(r, got, 0); err != nil {
		return err
	}
	if !bytes.Equal(got, content(b.ID, int(b.Len))) {
		return errors.New("other bytes")
	}
	return CheckFile(r.file, b, func(int) {})
}

func TestReplicasSurviveARestart(t *testing.T) {
	root, err := disk.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	s := openOn(t, root)
	var want []wire.Block
	for i, n := range []int{0, 1, pipe.ChunkSize - 1, pipe.ChunkSize, pipe.ChunkSize + 1, 5 * pipe.ChunkSize} {
		b := wire.Block{ID: wire.BlockID(i + 1), Gen: uint64(i), Len: int64(n)}
		if err := put(s, b); err != nil {
			t.Fatal(b, err)
		}
		want = append(want, b)
	}
	half, err := s.Begin(wire.Block{ID: 99, Gen: 1}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if err := half.Append([]byte("x"), pipe.Checksum([]byte("x"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got := s.List(); !slices.Equal(got, want) {
			t.Fatalf("list %v, want %v", got, want)
		}
		for _, b := range want {
			if err := check(s, b); err != nil {
				t.Error(b, err)
			}
		}
		s = openOn(t, root)
	}
	if names, err := root.ReadDir(tmpDir); err != nil || len(names) > 0 {
		t.Errorf("left in tmp: %v, %v", names, err)
	}
}

func TestOldGenerationsGiveWay(t *testing.T) {
	s := openOn(t, memdisk.New())
	b := wire.Block{ID: 1, Gen: 3, Len: 1000}
	if err := put(s, b); err != nil {
		t.Fatal(err)
	}
	for gen, want := range map[uint64]wire.Kind{2: wire.Stale, 3: wire.Exists} {
		if _, err := s.Begin(wire.Block{ID: 1, Gen: gen}, 10); wire.KindOf(err) != want {
			t.Errorf("generation %d over 3: %v", gen, err)
		}
		if _, err := s.Resume(1, gen, 0, 10); wire.KindOf(err) != wire.Stale {
			t.Errorf("resume of generation %d over 3: %v", gen, err)
		}
	}
	if _, err := s.Open(1, 4); wire.KindOf(err) != wire.Stale {
		t.Errorf("opened a newer generation: %v", err)
	}
	b.Gen = 4
	if err := put(s, b); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(wire.Block{ID: 1, Gen: 3}); err != nil {
		t.Fatal(err)
	}
	if err := check(s, b); err != nil {
		t.Errorf("after an old generation was deleted: %v", err)
	}
}

// TestResume cuts a replica, being written or finished, at a chunk and goes on.
func TestResume(t *testing.T) {
	data := content(7, 3*pipe.ChunkSize+100)
	for _, done := range []bool{false, true} {
		for _, keep := range []int{0, pipe.ChunkSize, 2 * pipe.ChunkSize, 3 * pipe.ChunkSize, len(data)} {
			d := memdisk.New()
			s := openOn(t, d)
			old, err := s.Begin(wire.Block{ID: 7, Gen: 1}, int64(len(data)))
			if err == nil {
				err = appendAll(old, data, 0)
			}
			if done && err == nil {
				err = old.Finish()
			}
			if err != nil {
				t.Fatal(err)
			}
			w, err := s.Resume(7, 2, int64(keep), int64(len(data)))
			if err != nil {
				t.Fatal(done, keep, err)
			}
			if err := old.Append([]byte("zombie"), 0); wire.KindOf(err) != wire.Stale {
				t.Errorf("the old writer may still write: %v", err)
			}
			if err := errors.Join(appendAll(w, data, keep), w.Finish()); err != nil {
				t.Fatal(done, keep, err)
			}
			b := wire.Block{ID: 7, Gen: 2, Len: int64(len(data))}
			if err := errors.Join(check(s, b), check(openOn(t, d), b)); err != nil {
				t.Error(done, keep, err)
			}
		}
	}
	s := openOn(t, memdisk.New())
	if err := put(s, wire.Block{ID: 7, Gen: 1, Len: 1000}); err != nil {
		t.Fatal(err)
	}
	for _, keep := range []int64{1, 999, 1001} {
		if _, err := s.Resume(7, 2, keep, 1000); wire.KindOf(err) != wire.Invalid {
			t.Errorf("cut 1000 bytes to %d: %v", keep, err)
		}
	}
}

// TestFlippedBits: a flip anywhere in the file is found, and the replica put aside.
func TestFlippedBits(t *testing.T) {
	d := memdisk.New()
	s := openOn(t, d)
	b := wire.Block{ID: 5, Gen: 2, Len: pipe.ChunkSize + 50}
	if err := put(s, b); err != nil {
		t.Fatal(err)
	}
	name := dirOf(b) + "/" + fileName(b)
	f, err := d.Edit(name)
	if err != nil {
		t.Fatal(err)
	}
	size := fileSize(b.Len)
	offs := []int64{size - 1, headerSize + b.Len, headerSize + b.Len + 5}
	for i := int64(0); i < size; i += 97 {
		offs = append(offs, i)
	}
	var one [1]byte
	for _, off := range offs {
		if _, err := f.ReadAt(one[:], off); err != nil {
			t.Fatal(err)
		}
		one[0] ^= 0x10
		if _, err := f.WriteAt(one[:], off); err != nil {
			t.Fatal(err)
		}
		if err := CheckFile(f, b, func(int) {}); err == nil {
			t.Fatalf("flip at %d of %d not found", off, size)
		}
		one[0] ^= 0x10
		if _, err := f.WriteAt(one[:], off); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Verify(b.ID, func(int) {}); err != nil {
		t.Fatalf("whole again: %v", err)
	}
	if _, err := f.WriteAt([]byte{1, 2, 3}, 1000); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(b.ID, func(int) {}); wire.KindOf(err) != wire.Corrupt {
		t.Fatalf("damaged: %v", err)
	}
	if n := s.changes.take(); len(n.Corrupt) != 1 || n.Corrupt[0].Block != b {
		t.Errorf("reported %+v", n)
	}
	if _, err := s.Open(b.ID, b.Gen); wire.KindOf(err) != wire.NotFound {
		t.Errorf("a quarantined replica was opened: %v", err)
	}
	if bad, _ := d.ReadDir(badDir); len(bad) != 1 {
		t.Errorf("quarantine holds %v", bad)
	}
	if err := s.Delete(b); err != nil {
		t.Fatal(err)
	}
	if bad, _ := d.ReadDir(badDir); len(bad) != 0 {
		t.Errorf("quarantine still holds %v", bad)
	}
}

func TestVolumesInTurnAndFailing(t *testing.T) {
	d1, d2 := memdisk.New(), memdisk.New()
	s := openOn(t, d1, d2)
	for i := range 10 {
		if err := put(s, wire.Block{ID: wire.BlockID(i), Gen: 1, Len: 100}); err != nil {
			t.Fatal(err)
		}
	}
	s.changes.take()
	d1.SetFail(func(op, _ string, _ int) error {
		if op == "create" || op == "write" || op == "open" {
			return syscall.EIO
		}
		return nil
	})
	if err := s.Probe(); err != nil {
		t.Fatalf("one of two failed: %v", err)
	}
	if n := s.changes.take(); len(n.Deleted) != 5 || len(s.List()) != 5 {
		t.Errorf("%d reported gone, %d left", len(n.Deleted), len(s.List()))
	}
	if v := s.Volumes(); v[0].Failed == "" || v[1].Failed != "" {
		t.Errorf("volumes %+v", v)
	}
	if err := put(s, wire.Block{ID: 50, Gen: 1, Len: 100}); err != nil {
		t.Errorf("the other volume: %v", err)
	}
	d2.SetFail(func(string, string, int) error { return syscall.EIO })
	if err := s.Probe(); err == nil || !strings.Contains(err.Error(), "2 of 2") {
		t.Errorf("both failed: %v", err)
	}
}

func TestFullDisks(t *testing.T) {
	d := memdisk.New()
	d.SetLimit(1 << 20)
	s := openOn(t, d)
	if _, err := s.Begin(wire.Block{ID: 1, Gen: 1}, 2<<20); wire.KindOf(err) != wire.NoSpace {
		t.Errorf("more than there is: %v", err)
	}
	w, err := s.Begin(wire.Block{ID: 2, Gen: 1}, 700<<10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(wire.Block{ID: 3, Gen: 1}, 700<<10); wire.KindOf(err) != wire.NoSpace {
		t.Errorf("more than is promised to others: %v", err)
	}
	d.SetLimit(100 << 10) // somebody else fills the disk
	err = appendAll(w, content(2, 700<<10), 0)
	if wire.KindOf(err) != wire.NoSpace {
		t.Errorf("written past the end: %v", err)
	}
	w.Discard()
	if v := s.Volumes()[0]; v.Failed != "" {
		t.Errorf("a full disk is not a broken one: %+v", v)
	}
	d.SetLimit(1 << 20)
	if err := put(s, wire.Block{ID: 4, Gen: 1, Len: 700 << 10}); err != nil {
		t.Errorf("after space was freed: %v", err)
	}
}

// TestFailedSyncIsNotAcknowledged fails every operation in turn: what Finish acknowledged
// reads back after a power cut, whatever failed.
func TestFailedSyncIsNotAcknowledged(t *testing.T) {
	b := wire.Block{ID: 1, Gen: 1, Len: 3 * pipe.ChunkSize / 2}
	clean := memdisk.New()
	if err := put(openOn(t, clean), b); err != nil {
		t.Fatal(err)
	}
	for k := range clean.Ops() + 1 { // they count from 1; 0 fails none
		d := memdisk.New()
		d.SetFail(func(_, _ string, n int) error {
			if n == k {
				return syscall.EIO
			}
			return nil
		})
		s, err := tryOpen(d)
		if err != nil {
			continue
		}
		acked := put(s, b) == nil
		d.SetFail(nil)
		for seed := range uint64(20) {
			after, err := tryOpen(d.Crash(rand.New(rand.NewPCG(seed, 1))))
			if err != nil {
				continue // the volume's own birth failed: nothing was acknowledged on it
			}
			if err := check(after, b); acked && err != nil {
				t.Fatalf("operation %d failed, the block was acknowledged, and after a power cut: %v", k, err)
			}
		}
	}
}

// TestPowerCuts runs random operations on a disk that loses power, many times: what was
// acknowledged is there, what is there is whole.
func TestPowerCuts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := memdisk.New()
		have := map[wire.BlockID]wire.Block{} // acknowledged
		maybe := map[wire.Block]bool{}        // removed since the last cut
		gen := uint64(0)
		for round := range rapid.IntRange(1, 4).Draw(rt, "cuts") {
			s, err := tryOpen(d)
			if err != nil {
				rt.Fatal(err)
			}
			for _, b := range s.List() {
				if err := check(s, b); err != nil {
					rt.Fatalf("%v after cut %d: %v", b, round, err)
				}
				if have[b.ID] != b && !maybe[b] {
					rt.Fatalf("%v came from nowhere", b)
				}
				have[b.ID] = b
			}
			for _, b := range have {
				if err := check(s, b); err != nil {
					rt.Fatalf("%v was acknowledged, and after the cut: %v", b, err)
				}
			}
			clear(maybe)
			for range rapid.IntRange(0, 12).Draw(rt, "ops") {
				id := wire.BlockID(rapid.IntRange(1, 6).Draw(rt, "id"))
				gen++
				b := wire.Block{ID: id, Gen: gen, Len: int64(rapid.IntRange(0, 3*pipe.ChunkSize).Draw(rt, "len"))}
				if old, ok := have[id]; ok {
					maybe[old] = true
				}
				if rapid.Bool().Draw(rt, "delete") {
					if err := s.Delete(have[id]); err != nil {
						rt.Fatal(err)
					}
					delete(have, id)
					continue
				}
				if err := put(s, b); err != nil {
					rt.Fatal(err)
				}
				have[id] = b
			}
			d = d.Crash(rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1)))
		}
	})
}

func TestWrongNodeOrClusterIsRefused(t *testing.T) {
	d := memdisk.New()
	s := openOn(t, d)
	if err := s.Join("c1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Join("c2"); wire.KindOf(err) != wire.Invalid {
		t.Errorf("joined another cluster: %v", err)
	}
	if got := openOn(t, d).Cluster(); got != "c1" {
		t.Errorf("cluster %q", got)
	}
	_, err := OpenStore(StoreConfig{Node: "n2", Dirs: []Dir{{"d", d}}, NewID: func() string { return "v" }})
	if wire.KindOf(err) != wire.Invalid {
		t.Errorf("another node's directory: %v", err)
	}
}

// FuzzBlockFile: no bytes make the reader of block files panic, or pass for a block they are
// not.
func FuzzBlockFile(f *testing.F) {
	d := memdisk.New()
	b := wire.Block{ID: 1, Gen: 1, Len: 100}
	if err := put(openOn(f, d), b); err != nil {
		f.Fatal(err)
	}
	file, err := d.Open(dirOf(b) + "/" + fileName(b))
	if err != nil {
		f.Fatal(err)
	}
	good := make([]byte, fileSize(b.Len))
	if _, err := file.ReadAt(good, 0); err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-1])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, raw []byte) {
		d := memdisk.New()
		w, err := d.Create("x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(raw); err != nil {
			t.Fatal(err)
		}
		if CheckFile(w, b, func(int) {}) == nil && !bytes.Equal(raw, good) {
			t.Errorf("%d other bytes pass for the block", len(raw))
		}
	})
}
