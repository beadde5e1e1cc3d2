package names

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// TestSalvage: a checkpoint loses the entries of a directory and of a file. What was in the directory is
// kept, changes that followed in the journal too, unless they are about the lost file.
func TestSalvage(t *testing.T) {
	r := newRig(t)
	r.open()
	for i := range 3 {
		r.addNode(wire.NodeName(fmt.Sprintf("n%d", i)), "r", 1<<39)
	}
	for _, path := range []string{"/d/a", "/d/b", "/e/lost", "/e/kept"} {
		must(t, r.put(wire.CreateRequest{Path: path, Parents: true}, 2, "n0"))
	}
	must(t, r.s.Checkpoint())
	old, err := os.ReadFile(r.cfg.Checkpoint)
	must(t, err)
	must(t, r.put(wire.CreateRequest{Path: "/d/later"}, 1, "n0"))
	must(t, r.s.SetQuota(wire.QuotaRequest{Of: "u", Files: 7, Bytes: -1}))
	must(t, r.s.Delete(wire.DeleteRequest{Path: "/e/lost"}))
	id := func(path string) wire.FileID {
		i, err := r.s.Stat(wire.PathRequest{Path: path})
		must(t, err)
		return i.ID
	}
	dir, kept := id("/d"), id("/e/kept")
	must(t, r.s.Close())
	must(t, os.WriteFile(r.cfg.Checkpoint, old, 0o600)) // as if it had been killed
	if loss, err := Salvage(r.cfg, false); loss != nil || err != nil {
		t.Fatalf("nothing is damaged yet: %v, %v", loss, err)
	}
	damage(t, r.cfg.Checkpoint, dir, kept-1) // the lost file came before
	if _, err := Open(r.cfg); !errors.Is(err, wire.Corrupt) {
		t.Fatalf("opened: %v", err)
	}
	for _, repair := range []bool{false, true} {
		loss, err := Salvage(r.cfg, repair)
		must(t, err)
		if loss == nil || len(loss.Bad) != 2 || loss.Orphans != 1 || loss.Stray != 0 || loss.Skipped != 1 {
			t.Fatalf("repair %v: %+v", repair, loss)
		}
		if text := loss.String(); !strings.Contains(text, "2 places") || !strings.Contains(text, "lost+found") {
			t.Errorf("told as %q", text)
		}
	}
	r.open()
	r.s.audit(t)
	for path, want := range map[string]bool{
		fmt.Sprintf("/lost+found-%d/a", dir): true, fmt.Sprintf("/lost+found-%d/b", dir): true,
		fmt.Sprintf("/lost+found-%d/later", dir): true, "/e/kept": true, "/e/lost": false, "/d": false,
	} {
		if _, err := r.s.Stat(wire.PathRequest{Path: path}); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if u, err := r.s.Usage(wire.QuotaRequest{Of: "u"}); err != nil || u.QuotaFiles != 7 {
		t.Errorf("the quota is %+v, %v", u, err)
	}
	kid, err := os.ReadFile(r.cfg.Checkpoint + ".damaged")
	if err != nil || len(kid) == 0 {
		t.Errorf("the damaged checkpoint was not kept: %v", err)
	}
}

// damage changes a byte of some entries.
func damage(t *testing.T, name string, ids ...wire.FileID) {
	t.Helper()
	db, err := bolt.Open(name, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		for _, id := range ids {
			b := tx.Bucket(inodeBucket)
			v := bytes.Clone(b.Get(inodeKey(id)))
			v[len(v)/2] ^= 1
			if err := b.Put(inodeKey(id), v); err != nil {
				return err
			}
		}
		return nil
	}))
	must(t, db.Close())
}

// TestSalvageOfContradictions: entries that are whole each for itself, but cannot be so together, are refused at the start; those that hang nowhere, or whose
// block is another file's, are counted and left out by a repair, and the others stay.
func TestSalvageOfContradictions(t *testing.T) {
	for what, x := range map[string]struct {
		path       string
		change     func(m *image, id, other wire.FileID, s wire.Block)
		stray, bad int
		gone       []string
	}{
		"below a file":    {"/d/b", func(m *image, _, a wire.FileID, _ wire.Block) { m.parent = a }, 1, 0, []string{"/d/b"}},
		"below itself":    {"/e", func(m *image, e, _ wire.FileID, _ wire.Block) { m.parent = e }, 2, 0, []string{"/e", "/e/f"}},
		"another's block": {"/d/b", func(m *image, _, _ wire.FileID, b wire.Block) { b.Len++; m.blocks[0] = b }, 0, 1, []string{"/d/b"}},
		"below nothing":   {"/d", func(m *image, _, _ wire.FileID, _ wire.Block) { m.parent = 77 }, 0, 0, []string{"/d", "/d/a", "/d/b"}},
	} {
		r := newRig(t)
		r.open()
		r.addNode("n0", "r", 1<<39)
		for _, path := range []string{"/d/a", "/d/b", "/e/f"} {
			must(t, r.put(wire.CreateRequest{Path: path, Parents: true, Replication: 1}, 1, "n0"))
		}
		ids := map[string]wire.FileID{}
		for _, path := range []string{"/d", "/d/a", "/d/b", "/e", "/e/f"} {
			i, err := r.s.Stat(wire.PathRequest{Path: path})
			must(t, err)
			ids[path] = i.ID
		}
		block := r.s.inodes[ids["/d/a"]].file.blocks[0].Block
		must(t, r.s.Close())
		r.s = nil
		reimage(t, r.cfg.Checkpoint, ids[x.path], func(m *image) { x.change(m, ids[x.path], ids["/d/a"], block) })
		if _, err := Open(r.cfg); !errors.Is(err, wire.Corrupt) || x.bad > 0 && !strings.Contains(err.Error(), "belongs to another file") {
			t.Fatalf("%s: opened: %v", what, err)
		}
		for _, repair := range []bool{false, true} {
			if loss, err := Salvage(r.cfg, repair); err != nil || loss == nil || loss.Stray != x.stray || len(loss.Bad) != x.bad {
				t.Fatalf("%s, repair %v: %+v, %v", what, repair, loss, err)
			}
		}
		r.open()
		r.s.audit(t)
		for path := range ids {
			if _, err := r.s.Stat(wire.PathRequest{Path: path}); (err != nil) != slices.Contains(x.gone, path) {
				t.Errorf("%s: %s: %v", what, path, err)
			}
		}
		must(t, r.s.Close())
		r.s = nil
	}
}

// reimage changes what an entry says.
func reimage(t *testing.T, name string, id wire.FileID, change func(m *image)) {
	t.Helper()
	db, err := bolt.Open(name, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(inodeBucket)
		m, err := decodeImage(inodeKey(id), b.Get(inodeKey(id)))
		if err != nil {
			return err
		}
		change(m)
		return b.Put(inodeKey(id), encodeImage(inodeKey(id), m))
	}))
	must(t, db.Close())
}

// TestSalvageBeyondRepair: without its state a checkpoint means nothing.
func TestSalvageBeyondRepair(t *testing.T) {
	r := newRig(t)
	r.open()
	must(t, r.s.Close())
	db, err := bolt.Open(r.cfg.Checkpoint, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(stateKey, []byte("{}")) }))
	must(t, db.Close())
	for _, content := range []string{"", strings.Repeat("not a database ", 1000)} {
		if content != "" {
			must(t, os.WriteFile(r.cfg.Checkpoint, []byte(content), 0o600))
		}
		if _, err := Salvage(r.cfg, true); !errors.Is(err, wire.Corrupt) || !strings.Contains(err.Error(), "backup") {
			t.Errorf("salvaged: %v", err)
		}
	}
	r.s = nil
}

// TestSalvageThatCannotWrite: what stands in the way of a new checkpoint is an error, and the damaged one stays as it was.
func TestSalvageThatCannotWrite(t *testing.T) {
	r := newRig(t)
	r.open()
	must(t, r.s.SetQuota(wire.QuotaRequest{Of: "u0", Files: 7, Bytes: -1}))
	must(t, r.s.Close())
	r.s = nil
	damageFile(t, r.cfg.Checkpoint, func(b []byte) { spoilAll(t, b, `"cluster":`) })
	before, err := os.ReadFile(r.cfg.Checkpoint)
	must(t, err)
	must(t, os.MkdirAll(r.cfg.Checkpoint+".new/in", 0o700))
	if _, err := Salvage(r.cfg, true); err == nil || !strings.Contains(err.Error(), ".new") {
		t.Errorf("salvaged: %v", err)
	}
	if after, err := os.ReadFile(r.cfg.Checkpoint); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the checkpoint has changed (%v)", err)
	}
	must(t, os.RemoveAll(r.cfg.Checkpoint+".new"))
	if _, err := Salvage(r.cfg, true); err != nil {
		t.Error(err)
	}
	r.open()
}

// TestSalvageFromJournal is F6: the checkpoint loses its state, or its beginning. While the journal has its first record the
// namespace is made of it, under the name that workers know; later only a backup helps.
func TestSalvageFromJournal(t *testing.T) {
	for what, spoil := range map[string]func(b []byte){
		"no state": func(b []byte) { spoilAll(t, b, `"cluster":`) },
		"no meta":  func(b []byte) { clear(b[:32<<10]) },
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			r.open()
			r.addNode("n0", "r", 1<<39)
			must(t, r.put(wire.CreateRequest{Path: "/d/a", Parents: true}, 2, "n0"))
			must(t, r.s.SetQuota(wire.QuotaRequest{Of: "u0", Files: 7, Bytes: -1}))
			cluster, epoch := r.s.Cluster(), r.s.Epoch()
			was := r.s.dump()
			must(t, r.s.Close())
			damageFile(t, r.cfg.Checkpoint, spoil)
			if _, err := Open(r.cfg); !errors.Is(err, wire.Corrupt) {
				t.Fatalf("opened: %v", err)
			}
			for _, repair := range []bool{false, true} {
				loss, err := Salvage(r.cfg, repair)
				must(t, err)
				if loss == nil || loss.Records < 5 || !strings.Contains(loss.String(), "no file is lost") {
					t.Fatalf("repair %v: %v", repair, loss)
				}
			}
			r.open()
			r.s.audit(t)
			if got := r.s.dump(); got != was {
				t.Errorf("was\n%s\nis\n%s", was, got)
			}
			if r.s.Cluster() != cluster || r.s.Epoch() <= epoch {
				t.Errorf("cluster %s in epoch %d, was %s in %d", r.s.Cluster(), r.s.Epoch(), cluster, epoch)
			}
			must(t, r.s.Checkpoint()) // the journal of the first opening goes
			must(t, r.s.Close())
			r.s = nil
			damageFile(t, r.cfg.Checkpoint, spoil)
			if _, err := Salvage(r.cfg, true); !errors.Is(err, wire.Corrupt) || !strings.Contains(err.Error(), "first record; only a backup") {
				t.Errorf("salvaged without the first records: %v", err)
			}
		})
	}
}

// TestSalvageOfNothing: an empty checkpoint, which a master that starts turns into one of whole pages, is called that.
func TestSalvageOfNothing(t *testing.T) {
	r := newRig(t)
	r.open()
	_, err := r.s.Mkdir(wire.MkdirRequest{Path: "/d"})
	must(t, err)
	must(t, r.s.Close())
	r.s = nil
	must(t, os.Truncate(r.cfg.Checkpoint, 0))
	if _, err := Open(r.cfg); !errors.Is(err, wire.Corrupt) {
		t.Fatalf("opened: %v", err)
	}
	loss, err := Salvage(r.cfg, false)
	must(t, err)
	if loss == nil || !strings.Contains(loss.Bad[0], "is lost (all pages are whole") {
		t.Errorf("%+v", loss)
	}
}

func damageFile(t *testing.T, name string, spoil func([]byte)) {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	spoil(b)
	must(t, os.WriteFile(name, b, 0o600))
}

// spoilAll overwrites each place that has a text.
func spoilAll(t *testing.T, b []byte, text string) {
	t.Helper()
	n := 0
	for at := bytes.Index(b, []byte(text)); at >= 0; at = bytes.Index(b, []byte(text)) {
		copy(b[at:], strings.Repeat("#", len(text)))
		n++
	}
	if n == 0 {
		t.Fatalf("the checkpoint has no %s", text)
	}
}

// noList is a disk whose directories cannot be listed.
type noList struct{ disk.FS }

func (noList) ReadDir(string) ([]string, error) { return nil, errors.New("the disk is on fire") }

// TestSalvageWithoutAJournal: where the checkpoint is beyond use and the journal cannot be read, that is said, and nothing is written.
func TestSalvageWithoutAJournal(t *testing.T) {
	r := newRig(t)
	r.open()
	must(t, r.s.Close())
	r.s = nil
	damageFile(t, r.cfg.Checkpoint, func(b []byte) { spoilAll(t, b, `"cluster":`) })
	r.cfg.Disk = noList{r.cfg.Disk}
	if loss, err := Salvage(r.cfg, true); loss != nil || err == nil || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("salvaged: %v, %v", loss, err)
	}
}

// TestDamagedFreePages: a list of free pages that is none, which bbolt takes for a reason to panic, is an error that names the way out.
func TestDamagedFreePages(t *testing.T) {
	r := newRig(t)
	r.open()
	must(t, r.s.Close())
	r.s = nil
	found := 0
	damageFile(t, r.cfg.Checkpoint, func(b []byte) {
		for at := 2 * os.Getpagesize(); at+pageHeader <= len(b); at += os.Getpagesize() {
			if flags := binary.LittleEndian.Uint16(b[at+8:]); flags == 0x10 {
				binary.LittleEndian.PutUint16(b[at+8:], 0x40)
				found++
			}
		}
	})
	if s, err := Open(r.cfg); found == 0 || err == nil || !strings.Contains(err.Error(), "dfs repair") {
		t.Errorf("%d pages: opened: %v, %v", found, s, err)
	}
}

// TestLossIsToldInWords: each kind of loss has its sentence, and what was not lost has none.
func TestLossIsToldInWords(t *testing.T) {
	for _, x := range []struct {
		loss Loss
		want string
	}{
		{Loss{Bad: []string{"page 3"}}, "the checkpoint is damaged in 1 place:\n  page 3\nA repair gives up what was there."},
		{
			Loss{Bad: []string{"page 3", "page 5"}, Missing: "2 of 9 entries", Orphans: 1, Stray: 2, Skipped: 1},
			"the checkpoint is damaged in 2 places:\n  page 3\n  page 5\n  2 of 9 entries\nA repair gives up what was there; it moves what is in 1 lost directory to /lost+found-ID; it drops 2 entries without a directory; it passes over 1 change of what is lost.",
		},
		{
			Loss{Bad: []string{"page 3"}, Records: 7},
			"the checkpoint is damaged:\n  page 3\nThe journal has all changes since the namespace was made. A repair makes it anew from these 7 records; no file is lost.",
		},
	} {
		if got := x.loss.String(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
