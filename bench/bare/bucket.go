package bare

import (
	"cmp"
	"slices"
)

const (
	digitBits  = 8
	digits     = 1 << digitBits
	digitShift = 64 - bucketBits - digitBits
	// fewRows are sorted faster by comparing than by counting digits.
	fewRows = 48
)

// bucketSorter sorts rows that agree in the first 16 bits of their keys: by the
// next eight bits in a counting pass, and what these leave together by comparing.
type bucketSorter struct {
	scratch []row
	ends    [digits]uint32
}

func (s *bucketSorter) sort(rows []row) {
	if len(rows) <= fewRows {
		slices.SortFunc(rows, compareRows)
		return
	}
	s.byDigit(rows)
	start := uint32(0)
	for _, end := range s.ends {
		if end-start > 1 {
			slices.SortFunc(rows[start:end], compareRows)
		}
		start = end
	}
}

// byDigit orders rows by their digit and leaves in ends where each digit's end.
func (s *bucketSorter) byDigit(rows []row) {
	clear(s.ends[:])
	for i := range rows {
		s.ends[uint8(rows[i].prefix>>digitShift)]++
	}
	place := uint32(0)
	for d, n := range s.ends {
		s.ends[d] = place // first its start, which moves to its end
		place += n
	}
	s.scratch = append(s.scratch[:0], rows...)
	for i := range s.scratch {
		next := &s.ends[uint8(s.scratch[i].prefix>>digitShift)]
		rows[*next] = s.scratch[i]
		*next++
	}
}

func compareRows(a, b row) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	return cmp.Or(cmp.Compare(a.suffix, b.suffix), cmp.Compare(a.index, b.index))
}
