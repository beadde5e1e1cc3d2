package blocks

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/wire"
)

// A Dir is a data directory with the path that users know.
type Dir struct {
	Path string
	FS   disk.FS
}

// StoreConfig configures a Store.
type StoreConfig struct {
	Node wire.NodeName
	Dirs []Dir
	// Reserve is how many bytes stay free on each disk. Larger: more room for other files, such as spills;
	// fewer blocks. The caller chooses the default.
	Reserve int64
	// Tolerated is how many volumes may fail before the whole store fails. 0 means that it works while one volume
	// does.
	Tolerated int
	// NewID returns a name for a new volume.
	NewID func() string
}

// A Store is the replicas of one node. Its methods may be called concurrently.
type Store struct {
	cfg     StoreConfig
	volumes []*volume

	mu       sync.Mutex // guards the fields below
	cluster  string
	replicas map[wire.BlockID]*replica
	next     int // where the search for a volume starts

	reign   reign
	changes changes
}

// replicaState is how far a replica has come.
type replicaState uint8

const (
	writing  replicaState = iota // under its temporary name
	finished                     // under its final name, durable
)

// A replica is one block here. Its fields change under Store.mu only.
type replica struct {
	block  wire.Block
	vol    *volume
	state  replicaState
	writer *Writer // the writer, while there is one
	// old is the finished replica of an older generation, if there is one. It serves readers until this one is
	// finished. Invariant: nil for a finished replica.
	old *replica
}

// whole returns the finished replica: r, or the one that r will replace, or nil. The lock must be held.
func (r *replica) whole() *replica {
	if r == nil || r.state == finished {
		return r
	}
	return r.old
}

// at returns the replica of a generation, or else the newest of another. The lock must be held.
func (s *Store) at(id wire.BlockID, gen uint64) *replica {
	r := s.replicas[id]
	if r != nil && r.old != nil && r.old.block.Gen == gen {
		return r.old
	}
	return r
}

// forget removes a replica from the index and restores the one that it was to replace. It is false if the replica is
// not in the index. The lock must be held.
func (s *Store) forget(r *replica) bool {
	switch at := s.replicas[r.block.ID]; {
	case at == r && r.old != nil:
		s.replicas[r.block.ID], r.old = r.old, nil
	case at == r:
		delete(s.replicas, r.block.ID)
	case at != nil && at.old == r:
		at.old = nil
	default:
		return false
	}
	return true
}

// OpenStore opens data directories, deletes what the last process left unfinished, and indexes the rest. A
// directory that cannot be used becomes a failed volume. If none can be used, OpenStore fails.
func OpenStore(cfg StoreConfig) (*Store, error) {
	s := &Store{cfg: cfg, replicas: map[wire.BlockID]*replica{}}
	var errs []error
	for _, d := range cfg.Dirs {
		v, id, err := openVolume(d.FS, identity{Cluster: s.cluster, Node: string(cfg.Node), Volume: cfg.NewID()}, cfg.Reserve)
		if err == nil {
			if err = s.index(v); err != nil {
				s.drop(v) // what was found before
			}
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", d.Path, err)
			if wire.KindOf(err) == wire.Invalid {
				return nil, err // not a broken disk but a wrong one
			}
			errs = append(errs, err)
			s.volumes = append(s.volumes, &volume{id: d.Path, fs: d.FS, failed: err})
			continue
		}
		s.volumes = append(s.volumes, v)
		if s.reign.last, err = later(s.reign.last, d.FS); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Path, err)
		}
		if s.cluster == "" {
			s.cluster = id.Cluster
		}
	}
	if len(errs) == len(cfg.Dirs) {
		return nil, fmt.Errorf("no data directory can be used: %w", errors.Join(errs...))
	}
	return s, nil
}

// index reads the file names of a volume and the footer of each file.
func (s *Store) index(v *volume) error {
	tmp, err := v.fs.ReadDir(tmpDir)
	if err != nil {
		return err
	}
	for _, name := range tmp {
		if err := v.fs.Remove(tmpDir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	dirs, err := v.fs.ReadDir("blocks")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		names, err := v.fs.ReadDir("blocks/" + dir)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := s.adopt(v, "blocks/"+dir, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// adopt adds a file to the index if it is a replica. It quarantines a damaged one. A file that cannot be read
// is an error, since it may be whole. Of two generations the newer stays.
func (s *Store) adopt(v *volume, dir, name string) error {
	want, ok := parseName(name)
	if !ok || dirOf(want) != dir {
		return nil // not ours
	}
	f, err := v.fs.Open(dir + "/" + name)
	var b wire.Block
	if err == nil {
		b, _, err = readFooter(f)
		_ = f.Close() // only read
	}
	if err == nil && (b.ID != want.ID || b.Gen != want.Gen) {
		err = wire.Errorf(wire.Corrupt, "holds %s generation %d", b.ID, b.Gen)
	}
	if err != nil && wire.KindOf(err) != wire.Corrupt {
		return err
	}
	if err != nil {
		s.changes.corrupt(wire.BadBlock{Block: want, Why: err.Error()})
		_ = v.fs.Rename(dir+"/"+name, badDir+"/"+name) // if this fails, it still is not in the index
		return nil                                     //nolint:nilerr // the damage is reported; the volume is fine
	}
	if old := s.replicas[b.ID]; old != nil {
		lose := &replica{block: b, vol: v, state: finished}
		if b.Gen > old.block.Gen {
			s.replicas[b.ID], lose = lose, old
		}
		_ = lose.vol.fs.Remove(lose.path()) // if it stays, the next start finds it again
		return nil
	}
	s.replicas[b.ID] = &replica{block: b, vol: v, state: finished}
	return nil
}

func (r *replica) path() string {
	if r.state == writing {
		return tmpDir + "/" + fileName(r.block)
	}
	return dirOf(r.block) + "/" + fileName(r.block)
}

// Cluster returns the cluster that the data belongs to, or "".
func (s *Store) Cluster() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster
}

// Join records which cluster the data belongs to. It fails if the data belongs to another.
func (s *Store) Join(cluster string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cluster == cluster {
		return nil
	}
	if s.cluster != "" {
		return wire.Errorf(wire.Invalid, "the data directories belong to cluster %s, not to %s", s.cluster, cluster)
	}
	for _, v := range s.volumes {
		if v.failure() != nil {
			continue
		}
		id := identity{format, cluster, string(s.cfg.Node), v.id}
		if err := writeIdentity(v.fs, id); err != nil {
			return v.blame(err)
		}
	}
	s.cluster = cluster
	return nil
}

// Close closes the files of unfinished replicas. The store must not be used afterwards.
func (s *Store) Close() error {
	var errs []error
	for _, w := range s.writers() {
		errs = append(errs, w.letGo())
	}
	return errors.Join(errs...)
}

// List returns all finished replicas, by id.
func (s *Store) List() []wire.Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]wire.Block, 0, len(s.replicas))
	for _, r := range s.replicas {
		if r = r.whole(); r != nil && r.vol.failure() == nil {
			out = append(out, r.block)
		}
	}
	slices.SortFunc(out, func(a, b wire.Block) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}

// Count returns how many finished replicas there are.
func (s *Store) Count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.replicas {
		if r = r.whole(); r != nil && r.vol.failure() == nil {
			n++
		}
	}
	return n
}

// Volumes describes the data directories.
func (s *Store) Volumes() []wire.Volume {
	out := make([]wire.Volume, len(s.volumes))
	for i, v := range s.volumes {
		out[i] = v.describe()
	}
	return out
}

// Probe tests the disks and drops the replicas of those that fail. An error says why the whole store is
// unusable.
func (s *Store) Probe() error {
	failed := 0
	var last error
	for _, v := range s.volumes {
		if v.failure() == nil {
			v.probe()
		}
		if err := v.failure(); err != nil {
			failed, last = failed+1, err
			s.drop(v)
		}
	}
	if failed == len(s.volumes) || s.cfg.Tolerated > 0 && failed > s.cfg.Tolerated {
		return wire.Errorf(wire.Unavailable, "%d of %d data directories failed: %w", failed, len(s.volumes), last)
	}
	return nil
}

// drop forgets the replicas of a failed volume and reports them as gone.
func (s *Store) drop(v *volume) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.replicas {
		for _, r := range []*replica{r, r.old} {
			if r == nil || r.vol != v {
				continue
			}
			if s.forget(r); r.state == finished {
				s.changes.deleted(r.block)
			}
		}
	}
}

// pick chooses the volume for a new block: in turn, among those with room for it.
func (s *Store) pick(size int64) (*volume, error) {
	s.mu.Lock()
	from := s.next
	s.next++
	s.mu.Unlock()
	for i := range s.volumes {
		v := s.volumes[(from+i)%len(s.volumes)]
		if v.failure() != nil {
			continue
		}
		if _, free := v.room(); free >= size {
			return v, nil
		}
	}
	return nil, wire.Errorf(wire.NoSpace, "no volume of node %s has %d bytes free beyond its reserve", s.cfg.Node, size)
}
