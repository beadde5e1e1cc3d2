package names

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// checkpointOf makes a namespace of several pages and returns its checkpoint.
func checkpointOf(t testing.TB) (*rig, []byte) {
	r := newRig(t)
	r.open()
	for i := range 3 {
		r.addNode(wire.NodeName(fmt.Sprint("n", i)), "r", 1<<40)
	}
	for i := range 300 {
		must(t, r.put(wire.CreateRequest{Path: fmt.Sprintf("/d%d/f%d", i%7, i), Parents: true, Holder: fmt.Sprint(i)}, 1, "n0"))
	}
	must(t, r.s.Close())
	r.s = nil
	b, err := os.ReadFile(r.cfg.Checkpoint)
	must(t, err)
	must(t, checkPages(bytes.NewReader(b), int64(len(b))))
	return r, b
}

// TestDamagedPages is F6: the checkpoint is cut anywhere, or overwritten anywhere. The service opens it or refuses with the
// file and, where pages are damaged, the offset; a repair saves what it can or says why not. Nothing panics.
func TestDamagedPages(t *testing.T) {
	r, whole := checkpointOf(t)
	r.open()
	all := r.s.dump()
	must(t, r.s.Close())
	r.s = nil
	try := func(what string, b []byte) (opened, saved bool) {
		must(t, os.WriteFile(r.cfg.Checkpoint, b, 0o600))
		s, err := Open(r.cfg)
		if opened = err == nil; opened {
			if got := s.dump(); got != all {
				t.Errorf("%s: it opens, and is another namespace than was saved", what)
			}
			must(t, s.Close())
		} else if !strings.Contains(err.Error(), r.cfg.Checkpoint) || wire.KindOf(err) != wire.Corrupt && wire.KindOf(err) != wire.Invalid {
			t.Errorf("%s: the refusal does not say enough: %v", what, err)
		}
		must(t, os.WriteFile(r.cfg.Checkpoint, b, 0o600))
		_, err = Salvage(r.cfg, false)
		return opened, err == nil
	}
	opened, saved := 0, 0
	for n := len(whole) - 512; n > 0; n -= len(whole)/20 | 1 {
		if o, s := try(fmt.Sprint("cut to ", n), whole[:n]); o {
			opened++
		} else if s {
			saved++
		}
	}
	for off := 0; off < len(whole); off += len(whole)/60 | 1 {
		b := bytes.Clone(whole)
		copy(b[off:], bytes.Repeat([]byte{0xA5}, 40))
		if o, s := try(fmt.Sprint("overwritten at ", off), b); o {
			opened++
		} else if s {
			saved++
		}
	}
	t.Logf("%d opened, %d of the others could be saved", opened, saved)
	if saved < 5 || opened > 60 {
		t.Errorf("%d opened, %d of the others could be saved", opened, saved)
	}
	if err := checkPages(bytes.NewReader(whole[:len(whole)/2]), int64(len(whole)/2)); err == nil || !strings.Contains(err.Error(), "at offset") {
		t.Errorf("half of it: %v", err)
	}
}

// TestPagesOfFewerElements: the count of a page says less than the page has. What it had is gone and every checksum holds: the service
// refuses, and a repair names the loss.
func TestPagesOfFewerElements(t *testing.T) {
	r, whole := checkpointOf(t)
	p := &pages{file: bytes.NewReader(whole), size: int64(len(whole)), entry: func(string, []byte, []byte) error { return nil }, bad: func(err error) error { return err }}
	must(t, p.walk())
	if len(p.seen) < 5 {
		t.Fatalf("a tree of %d pages", len(p.seen))
	}
	for _, id := range slices.Sorted(maps.Keys(p.seen)) {
		at := int64(id)*p.page + 10
		had := binary.LittleEndian.Uint16(whole[at:])
		for _, count := range []uint16{0, 1, had - 1} {
			b := bytes.Clone(whole)
			if binary.LittleEndian.PutUint16(b[at:], count); count >= had {
				continue
			}
			must(t, os.WriteFile(r.cfg.Checkpoint, b, 0o600))
			if s, err := Open(r.cfg); err == nil {
				t.Errorf("page %d with %d of its %d elements is opened", id, count, had)
				must(t, s.Close())
			} else if wire.KindOf(err) != wire.Corrupt || !strings.Contains(err.Error(), r.cfg.Checkpoint) {
				t.Errorf("page %d with %d of its %d elements: %v", id, count, had, err)
			}
			must(t, os.WriteFile(r.cfg.Checkpoint, b, 0o600))
			if loss, err := Salvage(r.cfg, false); loss == nil && err == nil {
				t.Errorf("page %d with %d of its %d elements is whole to dfs repair", id, count, had)
			}
		}
	}
}

// TestRepairOfPages: one page of files is lost; the others are there after a repair.
func TestRepairOfPages(t *testing.T) {
	r, b := checkpointOf(t)
	p := &pages{file: bytes.NewReader(b), size: int64(len(b)), bad: func(err error) error { return err }}
	p.entry = func(string, []byte, []byte) error { return nil }
	must(t, p.walk())
	hit := int64(0)
	for id := range p.seen { // a leaf with files, not the one with the state
		off := int64(id) * p.page
		if head := b[off:]; head[8] == leafFlag && bytes.Contains(head[:p.page], []byte("f1")) && !bytes.Contains(head[:p.page], []byte("cluster")) {
			hit = off
		}
	}
	if hit == 0 {
		t.Fatal("no such page")
	}
	copy(b[hit:], "damaged")
	must(t, os.WriteFile(r.cfg.Checkpoint, b, 0o600))
	if _, err := Open(r.cfg); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("at offset %d", hit)) {
		t.Fatalf("opened: %v", err)
	}
	loss, err := Salvage(r.cfg, true)
	if err != nil || loss == nil || len(loss.Bad) != 1 {
		t.Fatalf("%+v, %v", loss, err)
	}
	r.open()
	r.s.audit(t)
	u, err := r.s.Usage(wire.QuotaRequest{Path: "/"})
	if err != nil || u.Files < 100 || u.Files >= 300 {
		t.Errorf("after the repair there are %d files, %v", u.Files, err)
	}
}

// FuzzPages: no bytes make the reader of pages panic or run for ever.
func FuzzPages(f *testing.F) {
	_, b := checkpointOf(f)
	f.Add(b[:16<<10])
	f.Add([]byte{})
	f.Fuzz(func(_ *testing.T, b []byte) {
		_ = checkPages(bytes.NewReader(b), int64(len(b))) // whatever it says
	})
}

// TestPagesThatCannotBe: the two meta pages, those behind the end, one met before and one too deep are no pages of the tree.
func TestPagesThatCannotBe(t *testing.T) {
	for what, x := range map[string]struct {
		id    uint64
		depth int
	}{"a meta page": {0, 0}, "the other meta page": {1, 0}, "behind the end": {4, 0}, "met before": {3, 0}, "too deep": {2, maxPageDepth + 1}} {
		p := &pages{file: bytes.NewReader(make([]byte, 4<<12)), page: 1 << 12, size: 4 << 12, high: 4, seen: map[uint64]bool{3: true}, bad: func(err error) error { return err }}
		if err := p.visit(x.id, "", x.depth); err == nil || !strings.Contains(err.Error(), "is none of the 4, or is met twice") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestListsOfFreePages: a list has its count in the head, or behind it where there are too many for the head. A count that cannot be, a page that
// is none, one in use and one out of order are refused.
func TestListsOfFreePages(t *testing.T) {
	le := binary.LittleEndian
	for what, x := range map[string]struct {
		head  uint16
		list  []uint64
		high  uint64
		wrong bool
	}{
		"none": {0, nil, 8, false}, "two": {2, []uint64{4, 6}, 8, false}, "many": {0xFFFF, []uint64{2, 4, 6}, 8, false}, "more than pages": {9, []uint64{4}, 8, true},
		"many, more than pages": {0xFFFF, []uint64{9, 4}, 8, true}, "behind the file": {8, []uint64{4}, 0xFFFFFF, true}, "in use": {2, []uint64{4, 5}, 8, true},
		"not a page": {2, []uint64{4, 8}, 8, true}, "out of order": {2, []uint64{6, 4}, 8, true}, "a meta page": {1, []uint64{1}, 8, true},
	} {
		b := make([]byte, 4*128)
		page := b[3*128:]
		le.PutUint64(page, 3)
		le.PutUint16(page[8:], freeFlag)
		le.PutUint16(page[10:], x.head)
		for i, id := range x.list {
			le.PutUint64(page[pageHeader+8*i:], id)
		}
		p := &pages{file: bytes.NewReader(b), page: 128, size: int64(len(b)), free: 3, high: x.high, seen: map[uint64]bool{5: true}, bad: func(err error) error { return err }}
		if err := p.checkFree(); (err != nil) != x.wrong {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestMetaPagesOfAnother: a meta page of another kind of file, another version, or with another checksum is none, however whole it is.
func TestMetaPagesOfAnother(t *testing.T) {
	le := binary.LittleEndian
	_, whole := checkpointOf(t)
	for what, change := range map[string]func(page, meta []byte){
		"flags":    func(page, _ []byte) { le.PutUint16(page[8:], 0) },
		"magic":    func(_, meta []byte) { meta[0]++ },
		"version":  func(_, meta []byte) { meta[4]++ },
		"nothing":  func(_, _ []byte) {},
		"checksum": nil,
	} {
		b := bytes.Clone(whole)
		for _, off := range []int{0, os.Getpagesize()} {
			meta := b[off+pageHeader : off+pageHeader+metaBytes]
			if change == nil {
				meta[metaBytes-1]++
				continue
			}
			change(b[off:], meta)
			h := fnv.New64a()
			h.Write(meta[:metaBytes-8])
			le.PutUint64(meta[metaBytes-8:], h.Sum64())
		}
		if err := checkPages(bytes.NewReader(b), int64(len(b))); (err == nil) != (what == "nothing") {
			t.Errorf("other %s: %v", what, err)
		}
	}
}
