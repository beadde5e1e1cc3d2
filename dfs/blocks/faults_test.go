package blocks

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/dfs/token"
	"github.com/millrace/millrace/internal/disk/memdisk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// broken makes a disk fail at everything, or at some operations.
func broken(d *memdisk.FS, ops ...string) {
	d.SetFail(func(op, _ string, _ int) error {
		if len(ops) == 0 || slices.Contains(ops, op) {
			return syscall.EIO
		}
		return nil
	})
}

// TestToleratedDisks: a store goes on while one disk works, or until more have failed than the config allows.
func TestToleratedDisks(t *testing.T) {
	for _, x := range []struct{ tolerated, failed, ok int }{{0, 1, 1}, {0, 2, 1}, {0, 3, 0}, {1, 0, 1}, {1, 1, 1}, {1, 2, 0}, {2, 2, 1}} {
		disks := []*memdisk.FS{memdisk.New(), memdisk.New(), memdisk.New()}
		s := openOn(t, disks[0], disks[1], disks[2])
		s.cfg.Tolerated = x.tolerated
		for _, d := range disks[:x.failed] {
			broken(d)
		}
		if err := s.Probe(); (err == nil) != (x.ok == 1) {
			t.Errorf("%d of 3 disks failed, %d are tolerated: %v", x.failed, x.tolerated, err)
		}
	}
}

// TestOpeningWithABrokenDisk: a store opens on the disks that work and says which does not; on none it does not open. Disks of two clusters are a mistake.
func TestOpeningWithABrokenDisk(t *testing.T) {
	d2, b := memdisk.New(), wire.Block{ID: 1, Gen: 1, Len: 100}
	if err := put(openOn(t, d2), b); err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"open", "create", "mkdir", "readdir", "syncdir", "write", "sync", "rename"} {
		d1 := memdisk.New()
		broken(d1, op)
		s, err := tryOpen(d1, d2)
		if err != nil {
			t.Errorf("%s fails on one of two: %v", op, err)
			continue
		}
		if v := s.Volumes(); v[0].Failed == "" || v[1].Failed != "" || check(s, b) != nil {
			t.Errorf("%s fails on one of two: %+v, and the block %v", op, v, check(s, b))
		}
		if err := s.Join("c1"); err != nil {
			t.Errorf("%s fails on one of two: joining says %v", op, err)
		}
		if _, err := tryOpen(d1); err == nil || !strings.Contains(err.Error(), "d0") {
			t.Errorf("%s fails on the only one: %v", op, err)
		}
	}
	d3 := memdisk.New()
	if err := openOn(t, d3).Join("c3"); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(d2, d3); wire.KindOf(err) != wire.Invalid || err == nil {
		t.Errorf("disks of two clusters: %v", err)
	}
}

// TestNewerGenerationStays: of two replicas of a block on two disks the newer is the node's, whichever is found first, and the other goes.
func TestNewerGenerationStays(t *testing.T) {
	for _, newerFirst := range []bool{true, false} {
		older, newer := memdisk.New(), memdisk.New()
		b1, b2 := wire.Block{ID: 9, Gen: 1, Len: 100}, wire.Block{ID: 9, Gen: 2, Len: 100}
		if err := errors.Join(put(openOn(t, older), b1), put(openOn(t, newer), b2)); err != nil {
			t.Fatal(err)
		}
		s := openOn(t, older, newer)
		if newerFirst {
			s = openOn(t, newer, older)
		}
		if list := s.List(); len(list) != 1 || list[0] != b2 || check(s, b2) != nil {
			t.Errorf("newer first %t: %v, %v", newerFirst, list, check(s, b2))
		}
		if names, err := older.ReadDir(dirOf(b1)); err != nil || len(names) != 0 {
			t.Errorf("newer first %t: of the older are left %v, %v", newerFirst, names, err)
		}
	}
}

// TestFilesFoundAtTheStart: what is damaged, or another block than its name says, is put aside and told; what is not ours stays.
func TestFilesFoundAtTheStart(t *testing.T) {
	d := memdisk.New()
	good, cut, other := wire.Block{ID: 1, Gen: 1, Len: 100}, wire.Block{ID: 2, Gen: 1, Len: 100}, wire.Block{ID: 3, Gen: 1, Len: 100}
	s := openOn(t, d)
	if err := errors.Join(put(s, good), put(s, cut), put(s, other)); err != nil {
		t.Fatal(err)
	}
	f, err := d.Edit(dirOf(cut) + "/" + fileName(cut))
	if err == nil {
		err = f.Truncate(50)
	}
	renamed := wire.Block{ID: 3, Gen: 5}
	stray := dirOf(good) + "/" + fileName(other) // not where it belongs
	if err := errors.Join(err, d.Rename(dirOf(other)+"/"+fileName(other), dirOf(other)+"/"+fileName(renamed))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{stray, dirOf(good) + "/notes.txt"} {
		if _, err := d.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	s = openOn(t, d)
	if list := s.List(); len(list) != 1 || list[0] != good || s.Count() != 1 {
		t.Errorf("it has %v", list)
	}
	n := s.changes.take()
	bad := map[wire.BlockID]bool{}
	for _, b := range n.Corrupt {
		bad[b.ID] = true
	}
	if len(n.Corrupt) != 2 || !bad[2] || !bad[3] {
		t.Errorf("told of %+v", n.Corrupt)
	}
	if names, err := d.ReadDir(badDir); err != nil || len(names) != 2 {
		t.Errorf("put aside: %v, %v", names, err)
	}
	if names, err := d.ReadDir(dirOf(good)); err != nil || len(names) != 3 {
		t.Errorf("in the directory of the good one: %v, %v", names, err)
	}
}

// TestQuarantineIsToldAgain: what lies in quarantine is told once more, unless a replica as new is here: then it goes.
func TestQuarantineIsToldAgain(t *testing.T) {
	d := memdisk.New()
	s := openOn(t, d)
	if err := errors.Join(put(s, wire.Block{ID: 1, Gen: 2, Len: 10}), put(s, wire.Block{ID: 2, Gen: 2, Len: 10})); err != nil {
		t.Fatal(err)
	}
	for _, b := range []wire.Block{{ID: 1, Gen: 1}, {ID: 1, Gen: 2}, {ID: 2, Gen: 3}, {ID: 3, Gen: 1}} {
		if _, err := d.Create(badDir + "/" + fileName(b)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Create(badDir + "/notes.txt"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(wire.Block{ID: 3, Gen: 1}, 10); err != nil { // not whole: it supersedes nothing
		t.Fatal(err)
	}
	s.changes.take()
	if err := s.tellQuarantined(); err != nil {
		t.Fatal(err)
	}
	var told []wire.Block
	for _, b := range s.changes.take().Corrupt {
		told = append(told, b.Block)
	}
	slices.SortFunc(told, func(a, b wire.Block) int { return int(a.ID) - int(b.ID) })
	if !slices.Equal(told, []wire.Block{{ID: 2, Gen: 3}, {ID: 3, Gen: 1}}) {
		t.Errorf("told of %v", told)
	}
	if names, err := d.ReadDir(badDir); err != nil || len(names) != 3 {
		t.Errorf("left: %v, %v", names, err)
	}
	broken(d, "readdir")
	if err := s.tellQuarantined(); wire.KindOf(err) != wire.Unavailable || err == nil || s.Volumes()[0].Failed == "" {
		t.Errorf("a disk that does not answer: %v", err)
	}
}

// TestReserveStaysFree: what is reserved for others is not given to blocks, to the last byte.
func TestReserveStaysFree(t *testing.T) {
	d := memdisk.New()
	d.SetLimit(1 << 20)
	s, err := OpenStore(StoreConfig{Node: "n1", Dirs: []Dir{{"d", d}}, Reserve: 600 << 10, NewID: func() string { return "v" }})
	if err != nil {
		t.Fatal(err)
	}
	free := s.Volumes()[0].Free
	if free > 424<<10 || free < 420<<10 {
		t.Errorf("%d bytes are free beside 600 KiB of 1 MiB", free)
	}
	fits := free
	for fileSize(fits) > free {
		fits--
	}
	if _, err := s.Begin(wire.Block{ID: 1, Gen: 1}, fits+1); wire.KindOf(err) != wire.NoSpace {
		t.Errorf("a byte more than is free: %v", err)
	}
	w, err := s.Begin(wire.Block{ID: 2, Gen: 1}, fits)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Volumes()[0].Free; got != 0 {
		t.Errorf("%d bytes are free while all are promised", got)
	}
	w.Discard()
	if got := s.Volumes()[0].Free; got != free {
		t.Errorf("%d bytes are free afterwards, %d were", got, free)
	}
}

// TestBlame: an error is the disk's, and ends the use of the volume, unless it says that the disk is full or that what was asked for cannot be.
func TestBlame(t *testing.T) {
	for _, x := range []struct {
		err    error
		want   wire.Kind
		failed bool
	}{
		{syscall.EIO, wire.Unavailable, true},
		{os.ErrNotExist, wire.Unavailable, true},
		{syscall.ENOSPC, wire.NoSpace, false},
		{syscall.EDQUOT, wire.NoSpace, false},
		{wire.NoSpace, wire.NoSpace, false},
		{wire.Corrupt, wire.Corrupt, false},
		{wire.Stale, wire.Stale, false},
		{wire.Invalid, wire.Invalid, false},
		{wire.Exists, wire.Exists, false},
	} {
		v := &volume{id: "v"}
		if err := v.blame(x.err); wire.KindOf(err) != x.want || (v.failure() != nil) != x.failed {
			t.Errorf("%v: %v, and the volume failed with %v", x.err, err, v.failure())
		}
	}
	v := &volume{id: "v"}
	if v.blame(nil) != nil || v.failure() != nil {
		t.Error("a volume is blamed for nothing")
	}
	v.fail(syscall.EIO)
	if v.fail(syscall.EBADF); !errors.Is(v.failure(), syscall.EIO) {
		t.Errorf("the first failure counts, not %v", v.failure())
	}
}

// TestRequestsThatCannotBe: whoever may write a block may not begin it longer than allowed, before its beginning, or in the middle of nothing. Nothing is left of it.
func TestRequestsThatCannotBe(t *testing.T) {
	n := startNodes(t, 1)[0]
	ann := rpc.Caller{User: "ann"}
	for what, a := range map[string]pipe.WriteArgs{
		"too long":             {Block: wire.Block{ID: 1, Gen: 1, Len: wire.MaxBlock + 1}},
		"shorter than nothing": {Block: wire.Block{ID: 1, Gen: 1, Len: -1}},
		"before its beginning": {Block: wire.Block{ID: 1, Gen: 1, Len: 10}, Start: -1},
		"in the middle":        {Block: wire.Block{ID: 1, Gen: 1, Len: 10}, Start: 1},
	} {
		a.Token = permit(a.Block, token.Write)
		if _, err := n.prepare(t.Context(), ann, a); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if names, err := n.disk.ReadDir(tmpDir); err != nil || len(names) != 0 || n.store.volumes[0].pending.Load() != 0 {
		t.Errorf("left: %v, %v, %d bytes promised", names, err, n.store.volumes[0].pending.Load())
	}
	most := pipe.WriteArgs{Block: wire.Block{ID: 2, Gen: 1, Len: wire.MaxBlock}}
	most.Token = permit(most.Block, token.Write)
	if _, err := n.prepare(t.Context(), ann, most); err != nil {
		t.Errorf("as long as allowed: %v", err)
	}
	b := wire.Block{ID: 3, Gen: 1, Len: 100}
	if err := put(n.store, b); err != nil {
		t.Fatal(err)
	}
	client := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	defer client.Close()
	for off, ok := range map[int64]bool{99: true, 100: false} {
		longer := b
		longer.Len = 200
		in, err := pipe.Fetch(t.Context(), client, n.place, pipe.Range{Block: longer, Off: off, Len: 1, Token: permit(b, token.Read)})
		if err == nil {
			in.Close()
		}
		if (err == nil) != ok || !ok && wire.KindOf(err) != wire.Invalid {
			t.Errorf("byte %d of 100: %v", off, err)
		}
	}
	if err := n.send(t.Context(), wire.CopyWork{Block: b}); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a copy to nobody: %v", err)
	}
}

// TestRecoverGenerations: replicas of an older generation are not what the writer wrote last, and one of a newer than asked for is of a recovery that came
// later; neither counts.
func TestRecoverGenerations(t *testing.T) {
	nodes := startNodes(t, 4)
	data := content(3, 4*pipe.ChunkSize)
	work := wire.RecoverWork{Block: wire.Block{ID: 3, Gen: 2}, NewGen: 5, Token: permit(wire.Block{ID: 3, Gen: 5}, token.Write)}
	for i, x := range []struct {
		gen    uint64
		chunks int
	}{{1, 1}, {2, 3}, {2, 4}, {5, 2}} {
		work.Places = append(work.Places, nodes[i].place)
		w, err := nodes[i].store.Begin(wire.Block{ID: 3, Gen: x.gen}, int64(len(data)))
		if err == nil {
			err = appendAll(w, data[:x.chunks*pipe.ChunkSize], 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	nodes[0].recover(t.Context(), work)
	done := nodes[0].store.changes.take().Done
	if len(done) != 1 || done[0].Block != (wire.Block{ID: 3, Gen: 5, Len: 3 * pipe.ChunkSize}) || !slices.Equal(done[0].Stored, []wire.NodeName{"n2", "n3"}) {
		t.Errorf("recovered %+v", done)
	}
}

// TestWritersThatLeave: who leaves twice, or after the end, changes nothing; a replica goes when it was left before the time that is given, not at it.
func TestWritersThatLeave(t *testing.T) {
	s := openOn(t, memdisk.New())
	w, err := s.Begin(wire.Block{ID: 1, Gen: 1}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if w.abandoned() {
		t.Error("left at once")
	}
	w.Leave(10)
	w.Leave(20)
	if s.sweep(10); !w.abandoned() {
		t.Error("swept at the time that it was left")
	}
	s.sweep(11)
	if _, err := s.Inspect(1); wire.KindOf(err) != wire.NotFound || w.abandoned() {
		t.Errorf("not swept after that: %v", err)
	}
	b := wire.Block{ID: 2, Gen: 1, Len: 3}
	w, err = s.Begin(b, 3)
	if err == nil {
		err = errors.Join(w.Append(content(2, 3), pipe.Checksum(content(2, 3))), w.Finish())
	}
	w.Leave(0)
	s.sweep(100)
	if err := errors.Join(err, check(s, b)); err != nil {
		t.Errorf("finished and left: %v", err)
	}
	for what, chunk := range map[string][]byte{"nothing": {}, "more than a chunk": make([]byte, pipe.ChunkSize+1)} {
		w, err := s.Begin(wire.Block{ID: 3, Gen: 1}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Append(chunk, pipe.Checksum(chunk)); wire.KindOf(err) != wire.Invalid || err == nil {
			t.Errorf("%s was appended: %v", what, err)
		}
		if !w.Discard() || w.Discard() {
			t.Error("discarded twice, or not at all")
		}
	}
	if s.volumes[0].pending.Load() != 0 {
		t.Errorf("%d bytes stay promised", s.volumes[0].pending.Load())
	}
}
