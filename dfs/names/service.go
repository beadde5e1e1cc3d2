package names

import (
	"cmp"
	"errors"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// A Service is the name service. All methods may be called by several goroutines.
type Service struct {
	cfg     Config
	journal *journal.Journal
	db      *bolt.DB
	cluster string
	epoch   uint64
	version int // of the checkpoint that was opened
	fence   *fence
	mint    *mint

	wake, done chan struct{}
	wg         sync.WaitGroup
	saving     sync.Mutex // one checkpoint at a time; taken before mu
	saveErr    error      // of the last checkpoint; guarded by saving
	closed     bool       // guarded by saving

	mu       sync.RWMutex  // guards all that follows
	log                    // what of the journal is in memory, and what of memory is in the checkpoint
	tree                   // files and blocks: changed by journal records only
	leases                 // who writes
	fleet                  // who stores
	repairs                // what has too few replicas, and what is done about it
	began    time.Duration // this service, by its own clock
	lastTick time.Duration
	swept    time.Duration // the trash
}

// log is how far memory is ahead of the checkpoint. A change is made in memory and given to the journal in one step under the
// lock, so that memory is always the records up to applied.
type log struct {
	applied uint64 // the last journal record made in memory
	saveAt  uint64 // the one with which the next checkpoint is due
	broken  error  // memory and journal differ: a fault of ours
	fenced  error  // another service has the directory
	dirty   map[wire.FileID]struct{}
	scratch []byte
}

// tree is the files, and the blocks they have. Every block belongs to the one inode that it names as its owner; shared lists the
// others. An account has what the files below it add up to.
type tree struct {
	root     *inode
	inodes   map[wire.FileID]*inode
	blocks   map[wire.BlockID]*block
	shared   map[wire.BlockID][]*inode // files that have a block beside its owner
	accounts map[string]*account
	groups   []string // by number, as inodes have them
	groupIDs map[string]uint32
	nextFile wire.FileID
	nextID   wire.BlockID
	gen      uint64 // the last generation given out
}

// leases are the writers. A file that is open has the lease of its holder, and is among the holder's files.
type leases struct {
	holders  map[string]*lease
	requests map[string]*inode // open files by holder and request
}

// fleet is the block stores. A node keeps its number for as long as the service runs, and byName has each once.
type fleet struct {
	nodes    []*node // by topology.NodeID
	byName   map[wire.NodeName]*node
	draining map[wire.NodeName]bool // from the journal
	topo     *topology.Topology
	policy   placement.Policy
	session  uint64
}

// repairs is what is known of replicas, as the stores have reported it: nothing here is in the journal.
type repairs struct {
	finished int // blocks that are not being written
	counted  int // of these, with a good replica
	safe     safety
	queue    [4][]*block // repairs, most urgent first
	copies   map[wire.BlockID][]*copying
	stale    map[wire.BlockID][]staleReplica
	balance  balancer
}

// do runs a change under the lock and answers when all it saw and did is durable.
func do[T any](s *Service, fn func() (T, error)) (T, error) {
	s.mu.Lock()
	v, err := fn()
	seq, fenced := s.applied, s.fenced
	s.mu.Unlock()
	if fenced != nil {
		var zero T
		return zero, fenced
	}
	if e := s.journal.Wait(seq); e != nil {
		var zero T
		return zero, e
	}
	return v, err
}

// A view collects the newest journal record among what a reader looked at.
type view struct{ seq uint64 }

func (v *view) saw(seq uint64) { v.seq = max(v.seq, seq) }

// look runs a reader under the lock and answers when what it saw is durable.
func look[T any](s *Service, fn func(v *view) (T, error)) (T, error) {
	var v view
	s.mu.RLock()
	got, err := fn(&v)
	fenced := s.fenced
	s.mu.RUnlock()
	if fenced != nil {
		var zero T
		return zero, fenced
	}
	if e := s.journal.Wait(v.seq); e != nil {
		var zero T
		return zero, e
	}
	return got, err
}

// commit makes checked edits: one journal record, then memory. The lock is held.
func (s *Service) commit(edits ...edit) error {
	if err := cmp.Or(s.fenced, s.broken); err != nil {
		return err
	}
	s.scratch = encode(s.scratch[:0], edits)
	seq, err := s.journal.Append(s.scratch)
	if err != nil {
		return err
	}
	s.applied = seq
	for i := range edits {
		if err := s.apply(seq, &edits[i]); err != nil {
			s.broken = wire.Errorf(wire.Internal, "the namespace must be opened again: %w", err)
			return s.broken
		}
	}
	if s.applied >= s.saveAt {
		s.wakeSaver()
	}
	return nil
}

func (s *Service) wakeSaver() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// saver writes checkpoints until the service is closed. A failed one is tried again
// after some more records.
func (s *Service) saver() {
	for {
		select {
		case <-s.done:
			return
		case <-s.wake:
			if err := s.Checkpoint(); err != nil {
				continue // kept in saveErr
			}
		}
	}
}

// CheckpointError returns what went wrong with the last checkpoint, if anything. The
// journal then grows until one succeeds.
func (s *Service) CheckpointError() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	return s.saveErr
}

// Epoch returns the number of this opening of the namespace; it only grows.
func (s *Service) Epoch() uint64 { return s.epoch }

// Cluster returns the name the cluster got at its first start.
func (s *Service) Cluster() string { return s.cluster }

// Close writes a last checkpoint and gives the files back. It may be called twice.
func (s *Service) Close() error {
	s.saving.Lock()
	closed := s.closed
	s.closed = true
	s.saving.Unlock()
	if closed {
		return nil
	}
	close(s.done)
	s.wg.Wait()
	err := s.save()
	return errors.Join(err, s.journal.Close(), s.fence.file.Close(), s.db.Close())
}

// nowMillis is the wall clock, for modification times.
func (s *Service) nowMillis() int64 { return s.cfg.Wall().UnixMilli() }
