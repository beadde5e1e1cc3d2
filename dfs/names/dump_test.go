package names

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// dump writes down all that must survive a restart.
func (s *Service) dump() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var b strings.Builder
	dumpInode(&b, s.root)
	for _, name := range []string{"u0", "u1"} {
		if a := s.accounts[name]; a != nil {
			fmt.Fprintf(&b, "user %s %+v\n", name, a.quota)
		}
	}
	for i := range 4 {
		fmt.Fprintf(&b, "%v ", s.draining[wire.NodeName(fmt.Sprintf("n%d", i))])
	}
	return b.String()
}

func dumpInode(b *strings.Builder, i *inode) {
	m := imageOf(i)
	fmt.Fprintf(b, "%s %d %+v\n", i.path(), i.id, *m)
	if i.dir == nil {
		return
	}
	for k := range i.dir.kids.all() {
		dumpInode(b, k)
	}
	for id := range wire.FileID(1000) { // few, and in order
		if k := i.dir.shadows[id]; k != nil {
			dumpInode(b, k)
		}
	}
}

// audit checks what the service keeps beside the tree against the tree.
func (s *Service) audit(t testing.TB) {
	t.Helper()
	s.mu.RLock()
	defer s.mu.RUnlock()
	users := map[string]usage{}
	inodes, blocks, finished, open := 1, 0, 0, 0
	var walk func(dir *inode) usage
	walk = func(dir *inode) (u usage) {
		visit := func(i *inode) {
			inodes++
			if i.parent != dir || s.inodes[i.id] != i {
				t.Fatalf("%s is not linked as it should be", i.path())
			}
			own := users[i.owner.name]
			own.add(i.own(), 1)
			users[i.owner.name] = own
			u.add(i.own(), 1)
			if i.dir != nil {
				u.add(walk(i), 1)
				return
			}
			if i.file.writing != nil {
				open++
			}
			var size int64
			for n, b := range i.file.blocks {
				blocks++
				if s.blocks[b.ID] != b || b.owner != i || b.building != nil && n != len(i.file.blocks)-1 {
					t.Fatalf("%s: block %d is not as it should be", i.path(), n)
				}
				if b.building == nil {
					finished++
					size += b.Len
				}
			}
			if size != i.file.size {
				t.Fatalf("%s: size %d, blocks have %d", i.path(), i.file.size, size)
			}
		}
		last := ""
		for k := range dir.dir.kids.all() {
			if k.name <= last {
				t.Fatalf("%q comes after %q", k.name, last)
			}
			last = k.name
			visit(k)
		}
		for _, k := range dir.dir.shadows {
			visit(k)
		}
		if u != dir.dir.use {
			t.Fatalf("%s: uses %+v, counted %+v", dir.path(), u, dir.dir.use)
		}
		return u
	}
	walk(s.root)
	if inodes != len(s.inodes) || blocks != len(s.blocks) || finished != s.finished {
		t.Fatalf("%d inodes of %d, %d blocks of %d, %d finished of %d", inodes, len(s.inodes), blocks, len(s.blocks), finished, s.finished)
	}
	leased := 0
	for _, l := range s.holders {
		leased += len(l.files)
	}
	if leased != open {
		t.Fatalf("%d files are open, %d leased", open, leased)
	}
	for name, a := range s.accounts {
		if a.use != users[name] {
			t.Fatalf("user %s: uses %+v, counted %+v", name, users[name], a.use)
		}
	}
}
