package history

import (
	"encoding/binary"

	"github.com/millrace/millrace/internal/wire"
)

// UserBytes returns how many bytes the ended jobs of a user take.
func (s *Store) UserBytes(user string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used[user]
}

// charge adds the bytes of a job to those of its user, or subtracts them.
func (s *Store) charge(j *wire.PastJob, sign int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used[j.User] += sign * j.Bytes; s.used[j.User] <= 0 {
		delete(s.used, j.User)
	}
}

// measure sets the bytes that the jobs take that end with these rows; added is what is being written of each job.
func (s *Store) measure(rows map[uint64]*wire.PastJob, added map[uint64]int64) error {
	for n, j := range rows {
		if !j.Over() {
			continue
		}
		bytes := added[n]
		err := s.eachKey(eventsOf(n), eventsOf(n+1), func(key, value []byte) (bool, error) {
			bytes += int64(len(key) + len(value))
			return true, nil
		})
		if err != nil {
			return err
		}
		s.charge(j, -1)
		j.Bytes = bytes
		s.charge(j, 1)
	}
	return nil
}

// tooMuch returns how many bytes of each user have to be deleted.
func (s *Store) tooMuch() map[string]int64 {
	if s.cfg.UserBytes == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	over := map[string]int64{}
	for user, used := range s.used {
		if most := s.cfg.UserBytes(user); most > 0 && used > most {
			over[user] = used - most
		}
	}
	return over
}

// retainUsers removes the oldest ended jobs of users whose history is above their limit.
func (s *Store) retainUsers() error {
	over := s.tooMuch()
	if len(over) == 0 {
		return nil
	}
	var gone []uint64
	err := s.eachKey([]byte{jobKey}, []byte{jobKey + 1}, func(key, value []byte) (bool, error) {
		j, err := parseJob(value)
		if err == nil && j.Over() && over[j.User] > 0 {
			over[j.User] -= j.Bytes
			gone = append(gone, binary.BigEndian.Uint64(key[1:]))
		}
		return len(gone) < maxGone, err
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return s.remove(gone)
}
