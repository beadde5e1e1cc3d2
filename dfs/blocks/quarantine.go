package blocks

import (
	"errors"
	"io/fs"

	"github.com/millrace/millrace/internal/wire"
)

// tellQuarantined reports again what is in quarantine, because a new name service may not know it. The name
// service has each deleted once enough good copies exist. If a good replica of the block is here again, the bad
// one is removed.
func (s *Store) tellQuarantined() error {
	var errs []error
	for _, v := range s.volumes {
		if v.failure() != nil {
			continue
		}
		names, err := v.fs.ReadDir(badDir)
		if err != nil {
			errs = append(errs, v.blame(err))
			continue
		}
		for _, name := range names {
			b, ok := parseName(name)
			if !ok {
				continue // not ours
			}
			if !s.superseded(b) {
				s.changes.corrupt(wire.BadBlock{Block: b, Why: "in quarantine"})
			} else if err := v.fs.Remove(badDir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, v.blame(err))
			}
		}
	}
	return errors.Join(errs...)
}

// superseded reports whether this store has a finished replica of the block, of this generation or a newer one.
func (s *Store) superseded(b wire.Block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.replicas[b.ID].whole()
	return r != nil && r.block.Gen >= b.Gen
}
