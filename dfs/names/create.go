package names

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/wire"
)

// errNow refuses changes in safe mode.
func (s *Service) errNow() error {
	if s.safe.on && !s.safe.vanished {
		return wire.Errorf(wire.Unavailable, "safe mode: %s", s.safe.why(s))
	}
	return nil
}

// room checks the quotas before something is added below dir for a user. An exceeded quota does not forbid what
// adds nothing.
func (t *tree) room(dir, upTo *inode, user string, add usage) error {
	if a := t.accounts[user]; a != nil {
		if why := a.quota.refuses(a.use, add); why != "" {
			return wire.Errorf(wire.Quota, "user %s: %s", user, why)
		}
	}
	for ; dir != upTo; dir = dir.parent {
		if why := dir.dir.quota.refuses(dir.dir.use, add); why != "" {
			return wire.Errorf(wire.Quota, "directory %s: %s", dir.path(), why)
		}
	}
	return nil
}

// A claim is the place of a new name: the directories to be made for it, and the deepest directory that exists.
type claim struct {
	list  []string // all components of the path
	at    *inode   // the deepest directory that exists
	make  []string
	name  string
	there *inode // what has the name already, or nil
	umask uint16 // of who claims it

	itself bool // the name is a directory, the last of make
}

// claimFor is claim for a client with a umask.
func (s *Service) claimFor(a *actor, path string, parents bool, umask wire.Umask) (claim, error) {
	bits, err := umask.Bits(s.cfg.Umask)
	if err != nil {
		return claim{}, wire.Errorf(wire.Invalid, "%s: %w", path, err)
	}
	c, err := s.claim(a, path, parents)
	c.umask = bits
	return c, err
}

// claim looks up the place of a new name, as far as a may pass.
func (s *Service) claim(a *actor, path string, parents bool) (c claim, err error) {
	list, err := parts(path)
	if err != nil {
		return c, err
	}
	if len(list) == 0 {
		return claim{there: s.root}, nil
	}
	if slices.Contains(list, snapshotDir) {
		return c, wire.Errorf(wire.Invalid, "%s: the name %s is for snapshots, which are read-only (millrace dfs snapshot)", path, snapshotDir)
	}
	at := s.root
	for n, name := range list {
		if err := s.must(a, at, execute); err != nil {
			return c, err
		}
		next := at.dir.kids.get(name)
		last := n == len(list)-1
		if next == nil {
			return s.claimNew(claim{list: list, at: at, make: list[n : len(list)-1], name: list[len(list)-1]}, a, path, parents)
		}
		if last {
			return claim{list: list, at: at, name: name, there: next}, nil
		}
		if next.dir == nil {
			return c, wire.Errorf(wire.Invalid, "%s: /%s is a file, not a directory", path, strings.Join(list[:n+1], "/"))
		}
		at = next
	}
	return c, nil
}

// claimNew is claim for a name that does not exist. Without parents, only standing directories may be missing above
// it.
func (s *Service) claimNew(c claim, a *actor, path string, parents bool) (claim, error) {
	c.umask = s.cfg.Umask
	for n := len(c.list) - len(c.make); n < len(c.list) && !parents; n++ {
		if _, ok := s.standing(c.list[:n], a.user); !ok {
			return c, wire.Errorf(wire.NotFound, "%s: there is no directory /%s", path, strings.Join(c.list[:n], "/"))
		}
	}
	return c, nil
}

// dirs makes edits for the missing directories, with the group of the deepest that exists. It returns the last id
// and the next.
func (s *Service) dirs(c claim, user string, now int64) (edits []edit, parent wire.FileID, next wire.FileID) {
	parent, next = c.at.id, s.nextFile
	for n, name := range c.make {
		d, ok := s.standing(c.list[:len(c.list)-len(c.make)+n], user)
		if !ok {
			d = attributes{user, parentMode(c.umask)}
		}
		if !ok && c.itself && n == len(c.make)-1 {
			d.mode = dirMode(c.umask)
		}
		edits = append(edits, edit{op: opPut, id: next, parent: parent, name: name, user: d.owner, group: s.groups[c.at.group], mode: d.mode, mtime: now, dir: true})
		parent = next
		next++
	}
	return edits, parent, next
}

// Mkdir makes a directory.
func (s *Service) Mkdir(r wire.MkdirRequest) (wire.FileInfo, error) {
	return do(s, func() (none wire.FileInfo, err error) {
		if err := s.errNow(); err != nil {
			return none, err
		}
		a := s.actor(r.User, r.Super)
		c, err := s.claimFor(a, r.Path, r.Parents, r.Umask)
		if err != nil {
			return none, err
		}
		if c.there != nil {
			if c.there.dir != nil && r.Parents {
				return s.info(a, c.there, r.Path), nil
			}
			return none, wire.Errorf(wire.Exists, "%s: exists", r.Path)
		}
		if why := badWord(r.User); why != "" {
			return none, wire.Errorf(wire.Invalid, "user %.40q: %s", r.User, why)
		}
		if err := s.mayAdd(a, c); err != nil {
			return none, err
		}
		if err := s.room(c.at, nil, r.User, usage{dirs: int64(len(c.make)) + 1}); err != nil {
			return none, wire.Errorf(wire.Quota, "%s: %w", r.Path, err)
		}
		c.make, c.list, c.itself = append(c.make[:len(c.make):len(c.make)], c.name), append(c.list[:len(c.list):len(c.list)], ""), true
		edits, id, _ := s.dirs(c, r.User, s.nowMillis())
		if err := s.commit(edits...); err != nil {
			return none, err
		}
		return s.info(a, s.inodes[id], r.Path), nil
	})
}

// checkReplication refuses a replication that the cluster cannot provide. The default is always accepted, since
// nodes may still come.
func (s *Service) checkReplication(path string, n int) error {
	if n < 1 || n > s.cfg.MaxReplication {
		return wire.Errorf(wire.Invalid, "%s: replication %d; allowed are 1 to %d", path, n, s.cfg.MaxReplication)
	}
	nodes := 0
	for _, node := range s.nodes {
		if !node.draining { // a dead node may come back
			nodes++
		}
	}
	if n > s.cfg.Replication && n > nodes {
		return wire.Errorf(wire.Invalid, "%s: replication %d, but there are only %d nodes: ask for at most %d, or add nodes", path, n, nodes, max(nodes, s.cfg.Replication))
	}
	return nil
}

func (s *Service) checkCreate(r *wire.CreateRequest) error {
	if r.Replication == 0 {
		r.Replication = s.cfg.Replication
	}
	if r.BlockSize == 0 {
		r.BlockSize = s.cfg.BlockSize
	}
	if err := s.checkReplication(r.Path, r.Replication); err != nil {
		return err
	}
	switch {
	case r.BlockSize < 1 || r.BlockSize > wire.MaxBlock:
		return wire.Errorf(wire.Invalid, "%s: blocks of %d bytes: allowed are 1 to %d (1 GiB), the most that workers store as one block; give a smaller --block-size", r.Path, r.BlockSize, wire.MaxBlock)
	case r.Holder == "":
		return wire.Errorf(wire.Invalid, "%s: the lease has no holder", r.Path)
	}
	for _, word := range []string{r.User, r.Holder, r.Request} {
		if why := badWord(word); why != "" {
			return wire.Errorf(wire.Invalid, "%s: the word %.40q %s", r.Path, word, why)
		}
	}
	return nil
}

// Create opens a new file for writing. The same holder that repeats a request gets the same file.
func (s *Service) Create(r wire.CreateRequest) (wire.CreateResponse, error) {
	return do(s, func() (none wire.CreateResponse, err error) {
		if err := s.errNow(); err != nil {
			return none, err
		}
		if err := s.checkCreate(&r); err != nil {
			return none, err
		}
		a := s.actor(r.User, r.Super)
		c, err := s.claimFor(a, r.Path, r.Parents, r.Umask)
		if err != nil {
			return none, err
		}
		if i := s.requests[requestKey(r.Holder, r.Request)]; i != nil && r.Request != "" && i.path() == r.Path && i.owner.name == r.User {
			s.renew(r.Holder)
			return wire.CreateResponse{File: s.info(a, i, r.Path)}, nil
		}
		if c.there != nil && c.there.dir != nil {
			return none, wire.Errorf(wire.Exists, "%s: is a directory", r.Path)
		}
		if c.there != nil && !r.Overwrite {
			return none, existsError(r.Path, c.there)
		}
		if err := s.mayCreate(a, c); err != nil {
			return none, err
		}
		i, err := s.create(&r, c)
		if err != nil {
			return none, err
		}
		return wire.CreateResponse{File: s.info(a, i, r.Path)}, nil
	})
}

// mayCreate returns an error unless a may create the file. To replace a file, a must be allowed to write it and
// to take it away.
func (s *Service) mayCreate(a *actor, c claim) error {
	if c.there != nil {
		if err := s.must(a, c.there, write); err != nil {
			return err
		}
	}
	return s.mayAdd(a, c)
}

func existsError(path string, i *inode) error {
	if i.file.writing != nil { // do not name the lease holder: that name is enough to write
		return wire.Errorf(wire.Exists, "%s: exists and is being written by %s", path, i.owner.name)
	}
	return wire.Errorf(wire.Exists, "%s: exists", path)
}

func (s *Service) create(r *wire.CreateRequest, c claim) (*inode, error) {
	if err := s.room(c.at, nil, r.User, usage{files: 1, dirs: int64(len(c.make))}); err != nil {
		return nil, wire.Errorf(wire.Quota, "%s: %w", r.Path, err)
	}
	now := s.nowMillis()
	edits, parent, id := s.dirs(c, r.User, now)
	edits = append(edits, edit{
		op: opPut, id: id, parent: parent, name: c.name, user: r.User, group: s.groups[c.at.group], mode: fileMode(c.umask), mtime: now,
		replicas: uint8(r.Replication), blockSize: r.BlockSize, holder: r.Holder, request: r.Request, shadow: c.there != nil,
	})
	if err := s.commit(edits...); err != nil {
		return nil, err
	}
	return s.inodes[id], nil
}

func requestKey(holder, request string) string { return holder + "\x00" + request }
