package dfs

import (
	"sync"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// A wholeSum adds up the checksum of a file that is read from its beginning to its end, in order. Reads of other
// ranges do not disturb it.
type wholeSum struct {
	mu  sync.Mutex // guards the fields below
	at  int64      // end of what is added up
	crc uint32
}

// read takes bytes that were read at off. At the end of the file it returns an error if they are not what the writer
// wrote: then some replica holds another block under the name of the right one.
func (s *wholeSum) read(info *wire.FileInfo, p []byte, off int64) error {
	if !info.HasCRC || info.Open {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	end := off + int64(len(p))
	if off > s.at || end <= s.at {
		return nil
	}
	s.crc = pipe.Combine(s.crc, pipe.Checksum(p[s.at-off:]), end-s.at)
	if s.at = end; end < info.Len || s.crc == info.CRC {
		return nil
	}
	got := s.crc
	s.at, s.crc = 0, 0 // a second read from the beginning may find other replicas
	return wire.Errorf(wire.Corrupt, "the file has checksum %08x, its writer sent %08x: a replica holds other bytes (millrace dfs stat --blocks names them; dfs fsck)", got, info.CRC)
}
