package names

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
)

// A Loss says what is damaged in a checkpoint and what a repair would give up.
type Loss struct {
	Bad     []string // entries that cannot be read, and why
	Missing string   // how many entries are gone without a trace, if any
	Orphans int      // directories whose own entry is lost: what is in them goes to /lost+found-ID
	Stray   int      // entries that are linked nowhere
	Skipped int      // journal changes that concern lost entries
	Records uint64   // of a journal that begins with the first record: the namespace is built from it alone
}

// String explains the loss to whoever must decide about a repair.
func (l *Loss) String() string {
	if l.Records > 0 {
		return fmt.Sprintf("the checkpoint is damaged:\n  %s\nThe journal has all changes since the namespace was made. A repair makes it anew from these %s; no file is lost.",
			strings.Join(l.Bad[:min(len(l.Bad), 20)], "\n  "), human.Many(int64(l.Records), "record"))
	}
	bad := slices.Clone(l.Bad[:min(len(l.Bad), 20)])
	if l.Missing != "" {
		bad = append(bad, l.Missing)
	}
	many := func(n int, what string) string { return human.Many(int64(n), what) }
	text := fmt.Sprintf("the checkpoint is damaged in %s:\n  %s\nA repair gives up what was there", many(len(l.Bad), "place"), strings.Join(bad, "\n  "))
	if l.Orphans > 0 {
		text += fmt.Sprintf("; it moves what is in %s to /lost+found-ID", many(l.Orphans, "lost directory"))
	}
	if l.Stray > 0 {
		text += fmt.Sprintf("; it drops %s without a directory", many(l.Stray, "entry"))
	}
	if l.Skipped > 0 {
		text += fmt.Sprintf("; it passes over %s of what is lost", many(l.Skipped, "change"))
	}
	return text + "."
}

// Salvage looks for damaged entries in the checkpoint of a service that does not run. It returns nil if there are
// none. With repair it writes a new checkpoint from everything that is whole, including the journal, and keeps the old
// file beside it as .damaged. It skips pages that are damaged or cut off. If the state entry is lost, the other entries
// mean nothing, and only a journal that still begins with the first record helps. Of cfg it uses only Disk, Journal and
// Checkpoint.
func Salvage(cfg Config, repair bool) (*Loss, error) {
	c := DefaultConfig()
	c.Disk, c.Journal, c.Checkpoint = cfg.Disk, cfg.Journal, cfg.Checkpoint
	c.Now = func() time.Duration { return 0 } // no time passes here
	s, l := newService(c), &Loss{}
	switch err := s.salvageFile(l); {
	case errors.Is(err, wire.Corrupt):
		if s, l, err = fromJournal(c, err); err != nil {
			return nil, err
		}
	case err != nil:
		return nil, wire.Errorf(wire.KindOf(err), "checkpoint %s: %w; only a backup helps", cfg.Checkpoint, err)
	case len(l.Bad)+l.Stray+l.Orphans == 0 && l.Missing == "":
		return nil, nil
	default:
		if err := s.salvageJournal(l); err != nil {
			return nil, err
		}
	}
	if !repair {
		return l, nil
	}
	return l, s.rewrite()
}

// salvageJournal applies the changes after the checkpoint, except those that concern lost entries.
func (s *Service) salvageJournal(l *Loss) error {
	j, err := journal.Open(s.cfg.Disk, "journal", s.cfg.Journal, s.applied+1, func(seq uint64, payload []byte) error {
		edits, err := decode(payload)
		for i := range edits {
			if s.apply(seq, &edits[i]) != nil {
				l.Skipped++
			}
		}
		s.applied = seq
		return err
	})
	if err != nil {
		return err
	}
	return j.Close()
}

// fromJournal builds a namespace from the journal alone, to replace a checkpoint that is damaged beyond use. No
// record has the cluster's name and epoch, so they come from the owner file.
func fromJournal(cfg Config, damage error) (*Service, *Loss, error) {
	beyond := func(why string, args ...any) error {
		return wire.Errorf(wire.Corrupt, "checkpoint %s: %w, and %s; only a backup helps", cfg.Checkpoint, damage, fmt.Sprintf(why, args...))
	}
	switch first, err := journal.First(cfg.Disk, "journal"); {
	case err != nil:
		return nil, nil, err
	case first != 1:
		return nil, nil, beyond("the journal does not have its first record")
	}
	epoch, cluster := lastOwner(cfg.Disk)
	if cluster == "" {
		return nil, nil, beyond("the file %q does not have the cluster's name", ownerFile)
	}
	s := newService(cfg)
	s.resumeFrom(&state{Version: stateVersion, Cluster: cluster, Epoch: epoch, Over: epoch, NextFile: rootID + 1, NextBlock: 1})
	j, err := journal.Open(cfg.Disk, "journal", cfg.Journal, 1, s.replay)
	if err != nil {
		return nil, nil, err
	}
	if s.applied == 0 {
		return nil, nil, errors.Join(beyond("the journal is empty"), j.Close())
	}
	return s, &Loss{Bad: []string{damage.Error()}, Records: s.applied}, j.Close()
}

// salvageFile reads what is whole, page by page, because bbolt trusts its pages.
func (s *Service) salvageFile(l *Loss) error {
	f, err := os.Open(s.cfg.Checkpoint)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var st *state
	parents, read := map[wire.FileID][]*inode{}, 0
	p := &pages{file: f, size: info.Size(), bad: func(err error) error { l.Bad = append(l.Bad, err.Error()); return nil }}
	p.entry = func(bucket string, k, v []byte) error {
		switch {
		case bucket == string(inodeBucket):
			read++
			return s.salvageInode(k, v, parents, l)
		case bucket == string(metaBucket) && string(k) == string(stateKey):
			written, err := decodeState(v)
			if err == nil {
				st = &written
				s.resumeFrom(st)
			}
			return err
		}
		return nil
	}
	if err := p.walk(); err != nil {
		return err
	}
	if st == nil {
		why := strings.Join(l.Bad[:min(len(l.Bad), 3)], "; ")
		return wire.Errorf(wire.Corrupt, "the entry %q is lost (%s)", stateKey, cmp.Or(why, "all pages are whole and it is in none: was the file empty?"))
	}
	if err := st.missing(read); err != nil {
		l.Missing = err.Error()
	}
	return s.salvageTree(parents, l)
}

// salvageInode takes in one entry if it is whole.
func (s *Service) salvageInode(k, v []byte, parents map[wire.FileID][]*inode, l *Loss) error {
	id, m, err := entry(k, v)
	if err == nil && slices.ContainsFunc(m.blocks, func(b wire.Block) bool { return s.blocks[b.ID] != nil && s.blocks[b.ID].Block != b }) {
		err = fmt.Errorf("entry %x: one of its blocks belongs to another file", k)
	}
	if err != nil {
		l.Bad = append(l.Bad, err.Error())
		return nil
	}
	i, err := s.inodeOf(id, m)
	if err == nil && id != rootID {
		parents[m.parent] = append(parents[m.parent], i)
	}
	return err
}

// salvageTree links what was saved below the root.
func (s *Service) salvageTree(parents map[wire.FileID][]*inode, l *Loss) error {
	s.adopt(parents, l)
	if err := s.linkChildren(s.root, parents, map[wire.FileID]bool{}); err != nil {
		return err
	}
	for id, i := range s.inodes {
		if i != s.root && i.parent == nil {
			l.Stray++
			s.forgetStray(id, i)
		}
	}
	for id := range s.inodes {
		s.dirty[id] = struct{}{}
	}
	return nil
}

// adopt makes a directory below the root for each lost one that had entries. It keeps the id, so that changes
// of the journal still find it.
func (s *Service) adopt(parents map[wire.FileID][]*inode, l *Loss) {
	for _, id := range slices.Sorted(maps.Keys(parents)) {
		p := s.inodes[id]
		if p != nil && p.dir == nil { // p is a file, so its children are wrong
			for _, i := range parents[id] {
				l.Stray++
				s.forgetStray(i.id, i)
			}
		}
		if p != nil {
			continue
		}
		l.Orphans++
		name := fmt.Sprintf("lost+found-%d", id)
		for slices.ContainsFunc(parents[rootID], func(i *inode) bool { return i.name == name }) {
			name += "-again"
		}
		p = &inode{id: id, name: name, owner: s.account("root"), group: s.group(s.cfg.Supergroup), mode: 0o700, dir: &directory{quota: quota{noLimit, noLimit}}}
		s.inodes[id] = p
		parents[rootID] = append(parents[rootID], p)
	}
}

func (s *Service) forgetStray(id wire.FileID, i *inode) {
	delete(s.inodes, id)
	if i.file != nil {
		for _, b := range i.file.blocks {
			if !s.unshare(b, i) {
				delete(s.blocks, b.ID)
			}
		}
	}
}

// rewrite replaces the damaged checkpoint by one of all that is in memory.
func (s *Service) rewrite() error {
	name := s.cfg.Checkpoint
	if err := os.Remove(name + ".new"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	db, err := bolt.Open(name+".new", 0o600, &bolt.Options{Timeout: lockWait})
	if err != nil {
		return err
	}
	s.dirty[rootID] = struct{}{} // the root counts, even if nothing was ever made in it
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range [][]byte{inodeBucket, metaBucket} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		return writeAll(tx, s.state(), s.changes(s.dirty))
	})
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := os.Rename(name, name+".damaged"); err != nil {
		return err
	}
	if err := os.Rename(name+".new", name); err != nil {
		return err
	}
	return s.cfg.Disk.SyncDir(".")
}
