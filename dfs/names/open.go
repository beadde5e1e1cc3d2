package names

import (
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterr "go.etcd.io/bbolt/errors"

	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
)

// lockWait is how long Open waits for another service to give the checkpoint back.
const lockWait = time.Second

// Open loads the checkpoint and replays the journal. Damage in either is refused with
// kind Corrupt and the place; a checkpoint that another service holds, with Unavailable.
func Open(cfg Config) (*Service, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := newService(cfg)
	db, err := bolt.Open(cfg.Checkpoint, 0o600, &bolt.Options{Timeout: lockWait, FreelistType: bolt.FreelistMapType})
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
	return s, nil
}

func newService(cfg Config) *Service {
	s := &Service{
		cfg: cfg, wake: make(chan struct{}, 1), done: make(chan struct{}),
		inodes: map[wire.FileID]*inode{}, blocks: map[wire.BlockID]*block{},
		accounts: map[string]*account{}, holders: map[string]*lease{}, requests: map[string]*inode{},
		draining: map[wire.NodeName]bool{}, dirty: map[wire.FileID]struct{}{},
		byName: map[wire.NodeName]*node{}, copies: map[wire.BlockID][]*copying{},
		stale: map[wire.BlockID][]staleReplica{},
	}
	s.root = &inode{id: rootID, owner: s.account("root"), dir: &directory{quota: quota{noLimit, noLimit}}}
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
		s.take(&st)
		return writeState(tx, st)
	})
	if err == nil {
		err = s.db.View(s.loadInodes)
	}
	if err != nil {
		return wire.Errorf(wire.KindOf(err), "checkpoint %s: %w", s.cfg.Checkpoint, err)
	}
	if s.fence, err = takeDirectory(s.cfg.Disk, s.epoch); err != nil {
		return fmt.Errorf("directory of %s: %w", s.cfg.Checkpoint, err)
	}
	jc := s.cfg.Journal
	jc.Fence = s.fence.check
	if s.journal, err = journal.Open(s.cfg.Disk, "journal", jc, s.applied+1, s.replay); err != nil {
		return errors.Join(err, s.fence.file.Close())
	}
	return nil
}

// take brings the service to a stored state, in the next epoch.
func (s *Service) take(st *state) {
	if st.Cluster == "" {
		st.Cluster = fmt.Sprintf("cluster-%016x", s.cfg.Rand.Uint64())
	}
	st.Epoch = max(st.Epoch+1, s.cfg.Epoch)
	s.cluster, s.epoch = st.Cluster, st.Epoch
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

// loadInodes makes the tree of the checkpoint.
func (s *Service) loadInodes(tx *bolt.Tx) error {
	n := tx.Bucket(inodeBucket).Stats().KeyN
	s.inodes = make(map[wire.FileID]*inode, n+1)
	s.inodes[rootID] = s.root
	s.blocks = make(map[wire.BlockID]*block, n)
	parents := make(map[wire.FileID][]*inode)
	err := eachImage(tx, func(id wire.FileID, m *image) error {
		i, err := s.revive(id, m)
		if err == nil && id != rootID {
			parents[m.parent] = append(parents[m.parent], i)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := s.hang(s.root, parents, map[wire.FileID]bool{}); err != nil {
		return err
	}
	if u := s.root.dir.use; int(u.files+u.dirs)+1 != len(s.inodes) {
		return wire.Errorf(wire.Corrupt, "%d entries, but only %d hang below the root", len(s.inodes), u.files+u.dirs)
	}
	return nil
}

// revive makes an inode of its image; it has no parent yet.
func (s *Service) revive(id wire.FileID, m *image) (*inode, error) {
	if id == rootID {
		s.root.dir.quota, s.root.mtime = m.quota, m.mtime
		return s.root, nil
	}
	i := &inode{id: id, name: m.name, owner: s.account(m.user), mtime: m.mtime}
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
		if s.blocks[at.ID] != nil {
			return nil, wire.Errorf(wire.Corrupt, "entry %x: block %v belongs to another file too", inodeKey(id), at.ID)
		}
		b := &block{Block: at, owner: i}
		f.blocks = append(f.blocks, b)
		s.blocks[b.ID] = b
		if m.unread && n == len(m.blocks)-1 {
			b.building = &building{pipeline: m.pipeline}
			continue
		}
		s.finished++
		f.size += b.Len
	}
	return i, nil
}

// hang links the children of a directory, and theirs, and counts them.
func (s *Service) hang(dir *inode, parents map[wire.FileID][]*inode, done map[wire.FileID]bool) error {
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
		linked = append(linked, i)
		if i.dir != nil {
			if err := s.hang(i, parents, done); err != nil {
				return err
			}
		}
		s.countIn(dir, i)
	}
	dir.dir.kids.build(linked)
	return nil
}

// countIn counts a child with all below it in its directory, and itself for its owner.
func (s *Service) countIn(dir, i *inode) {
	i.owner.use.add(i.own(), 1)
	dir.dir.use.add(i.total(), 1)
}

// start begins the life of a loaded service.
func (s *Service) start() {
	now := s.cfg.Now()
	s.began, s.lastTick = now, now
	for _, l := range s.holders {
		l.renewed = now
	}
	s.safe = safety{on: true, startup: true, since: now}
	s.rebuild()
	s.tickSafeMode(now) // an empty store need not wait
	s.wg.Go(s.saver)
}
