package names

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// dump writes down all that must survive a restart.
func (s *Service) dump() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var b strings.Builder
	s.dumpInode(&b, s.root)
	for _, name := range []string{"u0", "u1"} {
		q := quota{noLimit, noLimit} // of a user who has nothing, too: nothing is kept of such
		if a := s.accounts[name]; a != nil {
			q = a.quota
		}
		fmt.Fprintf(&b, "user %s %+v\n", name, q)
	}
	for i := range 4 {
		fmt.Fprintf(&b, "%v ", s.draining[wire.NodeName(fmt.Sprintf("n%d", i))])
	}
	return b.String()
}

func (s *Service) dumpInode(b *strings.Builder, i *inode) {
	m := s.imageOf(i)
	fmt.Fprintf(b, "%s %d %+v\n", i.path(), i.id, *m)
	if i.dir == nil {
		return
	}
	for k := range i.dir.kids.all() {
		s.dumpInode(b, k)
	}
	for _, k := range i.snapshots() {
		s.dumpInode(b, k)
	}
	for id := range wire.FileID(1000) { // few, and in order
		if k := i.dir.shadows[id]; k != nil {
			s.dumpInode(b, k)
		}
	}
}

// audit checks what the service keeps beside the tree against the tree.
func (s *Service) audit(t testing.TB) {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	a := &auditor{t: t, s: s, users: map[string]usage{}, inodes: 1}
	a.walk(s.root)
	if a.inodes != len(s.inodes) || a.blocks != len(s.blocks) || a.finished != s.finished {
		t.Fatalf("%d inodes of %d, %d blocks of %d, %d finished of %d", a.inodes, len(s.inodes), a.blocks, len(s.blocks), a.finished, s.finished)
	}
	leased := 0
	for _, l := range s.holders {
		leased += len(l.files)
	}
	if leased != a.open {
		t.Fatalf("%d files are open, %d leased", a.open, leased)
	}
	for name, acc := range s.accounts {
		if acc.use != a.users[name] {
			t.Fatalf("user %s: uses %+v, counted %+v", name, a.users[name], acc.use)
		}
	}
}

// An auditor counts while it walks through the tree.
type auditor struct {
	t                              testing.TB
	s                              *Service
	users                          map[string]usage
	inodes, blocks, finished, open int
}

// walk returns what is below a directory.
func (a *auditor) walk(dir *inode) (u usage) {
	a.t.Helper()
	last := ""
	for k := range dir.dir.kids.all() {
		if k.name <= last {
			a.t.Fatalf("%q comes after %q", k.name, last)
		}
		last = k.name
		u.add(a.visit(dir, k), 1)
	}
	for _, k := range dir.dir.shadows {
		u.add(a.visit(dir, k), 1)
	}
	for _, k := range dir.snapshots() {
		u.add(a.visit(dir, k), 1)
	}
	if u != dir.dir.use {
		a.t.Fatalf("%s: uses %+v, counted %+v", dir.path(), u, dir.dir.use)
	}
	return u
}

// visit returns what an entry of a directory counts with all below it.
func (a *auditor) visit(dir, i *inode) usage {
	a.t.Helper()
	a.inodes++
	if i.parent != dir || a.s.inodes[i.id] != i {
		a.t.Fatalf("%s is not linked as it should be", i.path())
	}
	u, of := i.own(), a.users[i.owner.name]
	switch {
	case i.snapshot():
		of.add(i.total(), 1)
	case !i.frozen():
		of.add(u, 1)
	}
	a.users[i.owner.name] = of
	if i.dir != nil {
		u.add(a.walk(i), 1)
	} else {
		a.file(i)
	}
	return u
}

// file checks the blocks of a file.
func (a *auditor) file(i *inode) {
	a.t.Helper()
	if i.file.writing != nil {
		a.open++
	}
	var size int64
	for n, b := range i.file.blocks {
		first := b.owner == i
		if a.s.blocks[b.ID] != b || !first && !slices.Contains(a.s.shared[b.ID], i) || b.building != nil && n != len(i.file.blocks)-1 {
			a.t.Fatalf("%s: block %d is not as it should be", i.path(), n)
		}
		if first {
			a.blocks++
		}
		if b.building == nil {
			size += b.Len
		}
		if b.building == nil && first {
			a.finished++
		}
	}
	if size != i.file.size {
		a.t.Fatalf("%s: size %d, blocks have %d", i.path(), i.file.size, size)
	}
}
