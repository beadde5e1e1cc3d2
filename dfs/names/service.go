package names

import (
	"cmp"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/topology"
)

// A Service is the name service. Its methods may be called concurrently.
type Service struct {
	cfg     Config
	journal *journal.Journal
	db      *bolt.DB
	cluster string
	version int          // of the opened checkpoint
	heard   atomic.Int64 // when a node was last heard of, by the service's clock; 0: never
	fence   *fence
	mint    *mint

	wake, done chan struct{}
	wg         sync.WaitGroup
	saving     sync.Mutex // one checkpoint at a time; taken before mu
	saveErr    error      // of the last checkpoint; guarded by saving
	closed     bool       // guarded by saving

	mu       sync.RWMutex  // guards all that follows
	log                    // how far memory is ahead of the checkpoint
	tree                   // files and blocks: changed by journal records only
	leases                 // who writes
	fleet                  // who stores
	reigns                 // who ruled before, and who obeys
	repairs                // what has too few replicas, and what is done about it
	began    time.Duration // when this service began, by its own clock
	lastTick time.Duration
	swept    time.Duration // when the trash was last swept
}

// log says how far memory is ahead of the checkpoint. A change is applied and given to the journal in one step
// under the lock, so memory always matches the records up to applied.
type log struct {
	applied uint64 // the last journal record applied
	saveAt  uint64 // the record at which the next checkpoint is due
	broken  error  // memory and journal differ, which is a bug
	fenced  error  // another service has the directory
	dirty   map[wire.FileID]struct{}
	scratch []byte
}

// tree is the files and their blocks. Every block names one inode as its owner; shared lists the others that
// have it. An account's usage is the sum of what it owns.
type tree struct {
	root     *inode
	inodes   map[wire.FileID]*inode
	blocks   map[wire.BlockID]*block
	shared   map[wire.BlockID][]*inode // the other inodes that have a block, beside its owner
	accounts map[string]*account
	groups   []string // by number, as inodes have them
	groupIDs map[string]uint32
	nextFile wire.FileID
	nextID   wire.BlockID
	gen      uint64 // the last generation given out
}

// leases are the writers. An open file is listed under its holder.
type leases struct {
	holders  map[string]*lease
	requests map[string]*inode // open files by holder and request
}

// fleet is the block services. A node keeps its number while the service runs. byName has each node once.
type fleet struct {
	nodes    []*node // by topology.NodeID
	byName   map[wire.NodeName]*node
	draining map[wire.NodeName]bool // from the journal
	topo     *topology.Topology
	policy   placement.Policy
	session  uint64
}

// repairs is what nodes have reported of replicas. None of it is in the journal.
type repairs struct {
	finished int // blocks that are not being written
	counted  int // of these, with a good replica
	safe     safety
	queue    [4][]*block // repairs, most urgent first
	copies   map[wire.BlockID][]*copying
	stale    map[wire.BlockID][]staleReplica
	balance  balancer
}

// do runs a change under the lock and returns when all it saw and did is durable.
func do[T any](s *Service, fn func() (T, error)) (T, error) {
	s.mu.Lock()
	before := s.applied
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
	if err == nil && seq != before { // this process may have been stopped meanwhile
		err = s.deserted()
	}
	return v, err
}

// A view collects the newest journal record among what a reader looked at.
type view struct{ seq uint64 }

func (v *view) saw(seq uint64) { v.seq = max(v.seq, seq) }

// look runs a reader under the lock and returns when what it saw is durable.
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

// commit writes checked edits as one journal record, then applies them. The lock must be held.
func (s *Service) commit(edits ...edit) error {
	if err := cmp.Or(s.fenced, s.broken, s.notInCharge(), s.deserted()); err != nil {
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

// saver writes checkpoints until the service is closed. It retries a failed one after some more records.
func (s *Service) saver() {
	for {
		select {
		case <-s.done:
			return
		case <-s.wake:
			if err := s.Checkpoint(); err != nil {
				continue // saveErr has the error
			}
		}
	}
}

// Room returns an error of kind NoSpace while the disk is full, or almost full.
func (s *Service) Room() error { return s.journal.Room() }

// CheckpointError returns the error of the last checkpoint, if any. The journal then grows until one succeeds.
func (s *Service) CheckpointError() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	return s.saveErr
}

// Cut says what was missing at the end of the journal; "" if nothing was.
func (s *Service) Cut() string { return s.journal.Cut() }

// Epoch returns the number of this opening of the namespace; it only grows.
func (s *Service) Epoch() uint64 { return s.self.Epoch }

// Cluster returns the name that the cluster got at its first start.
func (s *Service) Cluster() string { return s.cluster }

// Close writes a last checkpoint and closes the files. It may be called twice.
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

// nowMillis returns the wall clock, for modification times.
func (s *Service) nowMillis() int64 { return s.cfg.Wall().UnixMilli() }
