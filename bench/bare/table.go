package bare

import (
	"encoding/binary"
	"math/bits"
)

// shortWord is the longest word that is its own key in the table; the key's last
// byte holds the length.
const shortWord = 15

// table counts words: short ones in an open-addressing table with the words
// inside, long ones, which are rare, in a map.
type table struct {
	entries []entry // a power of two; at most half are used
	shift   int     // 64 - log2(len(entries))
	used    int
	long    map[string]*uint64
}

// entry holds a word padded with zeros; its length is the top byte of hi. An
// entry with hi == 0 is free.
type entry struct {
	lo, hi, count uint64
}

func newTable(bitsOfSize int) *table {
	return &table{entries: make([]entry, 1<<bitsOfSize), shift: 64 - bitsOfSize, long: map[string]*uint64{}}
}

// masks keep the first n bytes of a 16-byte word and add its length.
var masks = func() (m [shortWord + 1]struct{ lo, hi, length uint64 }) {
	for n := range m {
		m[n].length = uint64(n) << 56
		m[n].lo = ^uint64(0)
		if n < 8 {
			m[n].lo = 1<<(8*n) - 1
		} else {
			m[n].hi = 1<<(8*(n-8)) - 1
		}
	}
	return m
}()

// add counts p[start:end] once. 16 bytes must be readable from start on.
func (t *table) add(p []byte, start, end int) {
	n := end - start
	if n > shortWord {
		t.addLong(p[start:end], 1)
		return
	}
	m := &masks[n]
	word := p[start : start+16]
	t.addKey(binary.LittleEndian.Uint64(word)&m.lo, binary.LittleEndian.Uint64(word[8:])&m.hi|m.length, 1)
}

func (t *table) addKey(lo, hi, count uint64) {
	for i := hash(lo, hi) >> t.shift; ; i++ {
		e := &t.entries[i&uint64(len(t.entries)-1)]
		if e.lo == lo && e.hi == hi {
			e.count += count
			return
		}
		if e.hi == 0 {
			*e = entry{lo, hi, count}
			t.grow()
			return
		}
	}
}

func hash(lo, hi uint64) uint64 {
	a, b := bits.Mul64(lo^0x9e3779b97f4a7c15, hi^0xbf58476d1ce4e5b9)
	return a ^ b
}

// grow counts a new entry and doubles the table when it is half full.
func (t *table) grow() {
	if t.used++; 2*t.used <= len(t.entries) {
		return
	}
	old := t.entries
	t.entries = make([]entry, 2*len(old))
	t.shift--
	t.used = 0
	for _, e := range old {
		if e.hi != 0 {
			t.addKey(e.lo, e.hi, e.count)
		}
	}
}

func (t *table) addLong(word []byte, count uint64) {
	if c, ok := t.long[string(word)]; ok {
		*c += count
		return
	}
	t.long[string(word)] = &count
}

// merge adds the counts of other.
func (t *table) merge(other *table) {
	for _, e := range other.entries {
		if e.hi != 0 {
			t.addKey(e.lo, e.hi, e.count)
		}
	}
	for word, count := range other.long {
		t.addLong([]byte(word), *count)
	}
}
