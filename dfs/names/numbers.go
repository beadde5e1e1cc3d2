package names

import (
	"math/rand/v2"

	"github.com/millrace/millrace/internal/wire"
)

// Ids of blocks and generations of an opening begin where no other opening gives any out: neither an earlier one
// whose last records are lost (cut, repaired, or newer than the copy that was put back) nor one of another copy of the
// directory. A replica from there, of the same id, generation and length, could not be told from the right one.

const (
	// numberBits is how many numbers there are for each millisecond since 1970: more than can be given out in one, so
	// that a later opening begins behind all that an earlier one has used. The lowest ones are drawn, for two
	// openings in one millisecond.
	numberBits = 20
	// jumpBits is how far at most an opening jumps whose clock is behind the numbers in use.
	jumpBits = 40
)

// firstNumber is the default of Config.First.
func firstNumber(wall int64, least uint64) uint64 {
	first := uint64(max(0, wall))<<numberBits | rand.Uint64N(1<<numberBits)
	if first < least {
		first = least + rand.Uint64N(1<<jumpBits)
	}
	return first
}

// leaveGap moves the next id and generation to where this opening begins. The journal may raise them further.
func (s *Service) leaveGap() {
	first := s.cfg.First(s.nowMillis(), max(uint64(s.nextID), s.gen))
	s.nextID, s.gen = max(s.nextID, wire.BlockID(first)), max(s.gen, first)
}
