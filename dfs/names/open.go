package names

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
)

// lockWait is how long Open waits for another service to give the checkpoint back.
const lockWait = time.Second

// Open loads the checkpoint and replays the journal. Damage in either is an error of kind Corrupt that names
// the place. A checkpoint that another service holds is Unavailable.
func Open(cfg Config) (*Service, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := newService(cfg)
	db, err := openCheckpoint(cfg.Checkpoint)
	switch {
	case errors.Is(err, bolterr.ErrTimeout):
		return nil, wire.Errorf(wire.Unavailable, "checkpoint %s: another service has it open", cfg.Checkpoint)
	case err != nil:
		return nil, wire.Errorf(wire.Corrupt, "checkpoint %s: %w", cfg.Checkpoint, err)
	}
	s.db = db
	if err := s.load(); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.start()
	if err := s.upgrade(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// upgrade gives /tmp and millrace's directory in it their standing rights, if the namespace is of a version
// without rights.
func (s *Service) upgrade() error {
	if s.version >= stateVersion {
		return nil
	}
	_, err := do(s, func() (none struct{}, err error) {
		for _, path := range []string{"/tmp", "/tmp/.millrace"} {
			i, err := s.walk(&view{}, s.actor("", true), path)
			if err != nil || i.dir == nil {
				return none, nil //nolint:nilerr // it will be made
			}
			if err := s.commit(edit{op: opRights, id: i.id, user: i.owner.name, group: s.groups[i.group], mode: allModes}); err != nil {
				return none, err
			}
		}
		return none, nil
	})
	return err
}

// openCheckpoint opens the file after it has checked that bbolt can read its pages.
func openCheckpoint(name string) (db *bolt.DB, err error) {
	if err := checkFile(name); err != nil {
		return nil, fmt.Errorf("%w (millrace dfs repair says what can be saved)", err)
	}
	defer func() {
		if v := recover(); v != nil { // say, a damaged list of free pages
			err = fmt.Errorf("its pages are damaged: %v (millrace dfs repair says what can be saved)", v)
		}
	}()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	return bolt.Open(name, 0o600, &bolt.Options{Timeout: lockWait, FreelistType: bolt.FreelistMapType})
}

// checkFile checks the pages of a checkpoint that nobody has open. It accepts a missing or empty one.
func checkFile(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if free, _ := disk.TryLock(f, true); !free {
		return nil // its owner is writing it, as opening will report
	}
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	return checkPages(f, info.Size())
}

func newService(cfg Config) *Service {
	s := &Service{
		cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{}),
		log: log{dirty: map[wire.FileID]struct{}{}},
		tree: tree{
			inodes: map[wire.FileID]*inode{}, blocks: map[wire.BlockID]*block{}, shared: map[wire.BlockID][]*inode{},
			accounts: map[string]*account{}, groupIDs: map[string]uint32{},
		},
		leases:  leases{holders: map[string]*lease{}, requests: map[string]*inode{}},
		fleet:   fleet{byName: map[wire.NodeName]*node{}, draining: map[wire.NodeName]bool{}},
		reigns:  reigns{followers: map[wire.NodeName]bool{}, rivals: map[wire.NodeName]wire.Reign{}},
		repairs: repairs{copies: map[wire.BlockID][]*copying{}, stale: map[wire.BlockID][]staleReplica{}},
	}
	s.root = &inode{id: rootID, owner: s.account(cfg.Superuser), group: s.group(cfg.Supergroup), mode: dirMode(cfg.Umask), dir: &directory{quota: quota{noLimit, noLimit}}}
	s.inodes[rootID] = s.root
	return s
}

// load reads the checkpoint, takes the next epoch, and replays the journal.
func (s *Service) load() error {
	var st state
	err := s.db.Update(func(tx *bolt.Tx) (err error) {
		for _, name := range [][]byte{inodeBucket, metaBucket} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		if st, err = readState(tx); err != nil {
			return err
		}
		if _, cluster := lastOwner(s.cfg.Disk); st.Cluster == "" && cluster != "" { // the owner file says that a state existed
			return errNoState
		}
		s.resumeFrom(&st)
		s.leaveGap()
		return writeState(tx, st)
	})
	if err == nil {
		err = s.db.View(func(tx *bolt.Tx) error { return s.loadInodes(tx, &st) })
	}
	if err != nil {
		return wire.Errorf(wire.KindOf(err), "checkpoint %s: %w", s.cfg.Checkpoint, err)
	}
	if s.fence, err = takeDirectory(s.cfg.Disk, s.self, s.cluster); err != nil {
		return fmt.Errorf("directory of %s: %w", s.cfg.Checkpoint, err)
	}
	jc := s.cfg.Journal
	jc.Fence = s.fence.check
	if s.journal, err = journal.Open(s.cfg.Disk, "journal", jc, s.applied+1, s.replay); err != nil {
		return errors.Join(err, s.fence.file.Close())
	}
	return nil
}

// resumeFrom sets the service to a stored state, in the next epoch.
func (s *Service) resumeFrom(st *state) {
	if st.Cluster == "" {
		st.Cluster = fmt.Sprintf("cluster-%016x", s.cfg.Rand.Uint64())
	}
	s.beginReign(st)
	s.cluster, s.version = st.Cluster, st.Version
	s.applied, s.saveAt = st.Applied, st.Applied+uint64(s.cfg.CheckpointEvery)
	s.nextFile, s.nextID, s.gen = st.NextFile, st.NextBlock, st.Gen
	for name, q := range st.Users {
		s.account(name).quota = quota{q[0], q[1]}
	}
	for _, n := range st.Draining {
		s.draining[n] = true
	}
}

func (s *Service) replay(seq uint64, payload []byte) error {
	edits, err := decode(payload)
	if err != nil {
		return err
	}
	for i := range edits {
		if err := s.apply(seq, &edits[i]); err != nil {
			return wire.Errorf(wire.Corrupt, "%w", err)
		}
	}
	s.applied = seq
	return nil
}

// loadInodes builds the tree from the checkpoint.
func (s *Service) loadInodes(tx *bolt.Tx, st *state) error {
	n := tx.Bucket(inodeBucket).Stats().KeyN
	s.inodes = make(map[wire.FileID]*inode, n+1)
	s.inodes[rootID] = s.root
	s.blocks = make(map[wire.BlockID]*block, n)
	parents, read := make(map[wire.FileID][]*inode), 0
	err := eachImage(tx, func(id wire.FileID, m *image) error {
		read++
		i, err := s.inodeOf(id, m)
		if err == nil && id != rootID {
			parents[m.parent] = append(parents[m.parent], i)
		}
		return err
	})
	if err == nil {
		err = st.missing(read)
		if err != nil {
			err = fmt.Errorf("%w (millrace dfs repair says what can be saved)", err)
		}
	}
	if err != nil {
		return err
	}
	if err := s.linkChildren(s.root, parents, map[wire.FileID]bool{}); err != nil {
		return err
	}
	if err := s.checkShared(); err != nil {
		return err
	}
	if u := s.root.dir.use; int(u.files+u.dirs)+1 != len(s.inodes) {
		return wire.Errorf(wire.Corrupt, "%d entries, but only %d hang below the root", len(s.inodes), u.files+u.dirs)
	}
	return nil
}

// inodeOf makes an inode from its image. It has no parent yet.
func (s *Service) inodeOf(id wire.FileID, m *image) (*inode, error) {
	if id == rootID {
		s.root.dir.quota, s.root.mtime = m.quota, m.mtime
		if m.group != "" { // else a version without rights wrote it
			s.root.owner, s.root.group, s.root.mode = s.account(m.user), s.group(m.group), m.mode
		}
		return s.root, nil
	}
	i := &inode{id: id, name: m.name, owner: s.account(m.user), mtime: m.mtime, group: s.group(cmp.Or(m.group, s.cfg.Supergroup)), mode: m.mode}
	s.inodes[id] = i
	if m.dir {
		i.dir = &directory{quota: m.quota}
		return i, nil
	}
	f := &content{blockSize: m.blockSize, crc: m.crc, hasCRC: m.hasCRC, replicas: m.replicas}
	i.file = f
	if m.open {
		f.writing = &writing{holder: m.holder, request: m.request, shadow: m.shadow, recovering: m.recovering}
	}
	f.blocks = make([]*block, 0, len(m.blocks))
	for n, at := range m.blocks {
		last := m.unread && n == len(m.blocks)-1
		if b := s.blocks[at.ID]; b != nil {
			if b.Block != at || b.building != nil || last {
				return nil, wire.Errorf(wire.Corrupt, "entry %x: block %v belongs to another file too", inodeKey(id), at.ID)
			}
			s.shared[at.ID] = append(s.shared[at.ID], i) // one of them is in a snapshot, or checkShared complains
			f.blocks = append(f.blocks, b)
			f.size += b.Len
			continue
		}
		b := &block{Block: at, owner: i}
		f.blocks = append(f.blocks, b)
		s.blocks[b.ID] = b
		if last {
			b.building = &building{pipeline: m.pipeline}
			continue
		}
		s.finished++
		f.size += b.Len
	}
	return i, nil
}

// linkChildren links and counts the children of a directory and, recursively, theirs.
func (s *Service) linkChildren(dir *inode, parents map[wire.FileID][]*inode, done map[wire.FileID]bool) error {
	if done[dir.id] || dir.dir == nil {
		return wire.Errorf(wire.Corrupt, "entry %x: is not a directory with a parent", inodeKey(dir.id))
	}
	done[dir.id] = true
	var linked []*inode
	for _, i := range parents[dir.id] {
		i.parent = dir
		if i.file != nil && i.file.writing != nil {
			if s.lease(i); i.file.writing.shadow {
				s.link(i)
				s.countIn(dir, i)
				continue
			}
		}
		if i.dir != nil {
			if err := s.linkChildren(i, parents, done); err != nil {
				return err
			}
		}
		if s.countIn(dir, i); i.snapshot() {
			s.link(i)
			continue
		}
		linked = append(linked, i)
	}
	dir.dir.kids.build(linked)
	return nil
}

// countIn adds the usage of a child and all below it to its directory, and its own to its owner; of a snapshot, all
// to the owner.
func (t *tree) countIn(dir, i *inode) {
	switch {
	case i.snapshot():
		i.owner.use.add(i.total(), 1)
	case !dir.frozen():
		i.owner.use.add(i.own(), 1)
	}
	dir.dir.use.add(i.total(), 1)
}

// start starts a loaded service.
func (s *Service) start() {
	now := s.cfg.Now()
	s.mint = newMint(&s.cfg, s.self.Epoch)
	s.began, s.lastTick = now, now
	for _, l := range s.holders {
		l.renewed = now
	}
	s.safe = safety{on: true, startup: true, since: now}
	s.rebuild()
	s.tickSafeMode(now) // an empty store need not wait
	s.wg.Go(s.saver)
}
