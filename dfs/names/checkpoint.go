package names

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/millrace/millrace/internal/wire"
)

var (
	inodeBucket = []byte("inodes")
	metaBucket  = []byte("meta")
	stateKey    = []byte("state")
)

// A state is what the checkpoint holds beside inodes. It is stored as JSON, since it is small and rarely read.
type state struct {
	Version   int                 `json:"version"`
	Cluster   string              `json:"cluster"`
	Epoch     uint64              `json:"epoch"`
	Applied   uint64              `json:"applied"` // the last journal record included
	NextFile  wire.FileID         `json:"next_file"`
	NextBlock wire.BlockID        `json:"next_block"`
	Gen       uint64              `json:"gen"`
	Users     map[string][2]int64 `json:"users,omitempty"` // quotas: files, bytes
	Draining  []wire.NodeName     `json:"draining,omitempty"`
	// Inodes is the number of entries. Each has its own checksum, but that does not show that one is missing. 0
	// means that an older version wrote the state, or that nothing was saved yet.
	Inodes int `json:"inodes,omitempty"`
	// Reigns are the starts on this directory, the newest last. Over is up to which epoch nodes may have obeyed others:
	// an older version, or one that was taken over.
	Reigns []wire.Reign `json:"reigns,omitempty"`
	Over   uint64       `json:"over,omitempty"`
	// Seal is the secret by which the names of reigns are known to come from this directory, or a copy of it.
	Seal []byte `json:"seal,omitempty"`
}

// stateVersion is that of the whole checkpoint. Version 1, without rights, can still be read.
const stateVersion = 2

// state describes the service. The caller holds the lock for reading.
func (s *Service) state() state {
	st := state{
		Version: stateVersion, Cluster: s.cluster, Epoch: s.self.Epoch, Reigns: s.line(), Over: s.over, Seal: s.seal, Applied: s.applied,
		NextFile: s.nextFile, NextBlock: s.nextID, Gen: s.gen, Users: map[string][2]int64{}, Inodes: len(s.inodes),
	}
	for name, a := range s.accounts {
		if a.quota != (quota{noLimit, noLimit}) {
			st.Users[name] = [2]int64{a.quota.files, a.quota.bytes}
		}
	}
	st.Draining = slices.Sorted(maps.Keys(s.draining))
	return st
}

// A change is one entry to be written; a nil value removes it.
type change struct{ key, value []byte }

// Checkpoint brings the checkpoint up to date and drops old journal files. The service calls it every
// Config.CheckpointEvery records.
func (s *Service) Checkpoint() error {
	s.saving.Lock()
	defer s.saving.Unlock()
	if s.closed {
		return wire.Errorf(wire.Unavailable, "the namespace is closed")
	}
	s.saveErr = s.save()
	return s.saveErr
}

// save writes what changed since the last checkpoint in one transaction.
func (s *Service) save() error {
	s.mu.RLock()
	st, dirty := s.state(), s.dirty
	s.dirty = map[wire.FileID]struct{}{} // only writers and savers touch it
	dirty[rootID] = struct{}{}           // the root counts, too
	changes := s.changes(dirty)
	s.mu.RUnlock()
	// A checkpoint must not be ahead of the journal.
	err := s.journal.Wait(st.Applied)
	if err == nil {
		err = s.fence.check()
	}
	if err == nil {
		err = s.db.Update(func(tx *bolt.Tx) error { return writeAll(tx, st, changes) })
	}
	s.mu.Lock()
	every := uint64(s.cfg.CheckpointEvery)
	if s.saveAt = st.Applied + every; err != nil {
		maps.Copy(s.dirty, dirty)
		s.saveAt = s.applied + every/10 + 1
	}
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", s.cfg.Checkpoint, err)
	}
	if err := s.fence.check(); err != nil {
		return err
	}
	return s.journal.DropBefore(st.Applied + 1)
}

func (t *tree) changes(dirty map[wire.FileID]struct{}) []change {
	list := make([]change, 0, len(dirty))
	for _, id := range slices.Sorted(maps.Keys(dirty)) {
		c := change{key: inodeKey(id)}
		if i := t.inodes[id]; i != nil {
			c.value = encodeImage(c.key, t.imageOf(i))
		}
		list = append(list, c)
	}
	return list
}

func writeAll(tx *bolt.Tx, st state, changes []change) error {
	b := tx.Bucket(inodeBucket)
	b.FillPercent = 0.9 // keys come in order
	for _, c := range changes {
		var err error
		if c.value == nil {
			err = b.Delete(c.key)
		} else {
			err = b.Put(c.key, c.value)
		}
		if err != nil {
			return err
		}
	}
	return writeState(tx, st)
}

func writeState(tx *bolt.Tx, st state) error {
	text, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return tx.Bucket(metaBucket).Put(stateKey, seal(stateKey, text))
}

// readState returns the stored state; a new file has none, and no inodes.
func readState(tx *bolt.Tx) (st state, err error) {
	value := tx.Bucket(metaBucket).Get(stateKey)
	if value != nil {
		return decodeState(value)
	}
	if k, _ := tx.Bucket(inodeBucket).Cursor().First(); k != nil {
		return st, errNoState
	}
	return state{Version: stateVersion, NextFile: rootID + 1, NextBlock: 1}, nil
}

var errNoState = wire.Errorf(wire.Corrupt, "entry %q is lost (millrace dfs repair says what can be saved)", stateKey)

// missing returns an error if fewer entries were read than the state counts.
func (st *state) missing(read int) error {
	if st.Inodes > 0 && read != st.Inodes {
		return wire.Errorf(wire.Corrupt, "it has %d entries of %d", read, st.Inodes)
	}
	return nil
}

func decodeState(value []byte) (st state, err error) {
	text, err := unseal(stateKey, value)
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err != nil {
		return st, wire.Errorf(wire.Corrupt, "entry %q: %w", stateKey, err)
	}
	if st.Version < 1 || st.Version > stateVersion {
		return st, wire.Errorf(wire.Invalid, "is of version %d; this program knows up to version %d", st.Version, stateVersion)
	}
	return st, nil
}

// eachImage calls fn for all inodes of a checkpoint.
func eachImage(tx *bolt.Tx, fn func(id wire.FileID, m *image) error) error {
	return tx.Bucket(inodeBucket).ForEach(func(k, v []byte) error {
		id, m, err := entry(k, v)
		if err != nil {
			return err
		}
		return fn(id, m)
	})
}

// entry decodes one entry.
func entry(k, v []byte) (wire.FileID, *image, error) {
	if len(k) != 8 {
		return 0, nil, wire.Errorf(wire.Corrupt, "entry %x: not a key", k)
	}
	m, err := decodeImage(k, v)
	return wire.FileID(binary.BigEndian.Uint64(k)), m, err
}
