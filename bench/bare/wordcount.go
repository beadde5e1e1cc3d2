package bare

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
)

// WordCount counts the words of the file in, as bytes.Fields splits ASCII text,
// and writes lines of word, tab and count, in byte order of the words.
func WordCount(in, out string, procs int) error {
	f, size, err := openInput(in)
	if err != nil {
		return err
	}
	defer f.Close()
	counts, err := countWords(&chunker{file: f, size: size, isBreak: isSpace}, procs)
	if err != nil {
		return fmt.Errorf("count words: %w", err)
	}
	return writeOutput(out, func(f *os.File) error { return writeCounts(f, counts) })
}

// countWords counts chunk by chunk in procs tables and merges them.
func countWords(c *chunker, procs int) (*table, error) {
	const initialBits = 16
	var next atomic.Int64
	var group errgroup.Group
	tables := make([]*table, max(1, procs))
	for i := range tables {
		tables[i] = newTable(initialBits)
		group.Go(func() error { return countChunks(c, &next, tables[i]) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, t := range tables[1:] {
		tables[0].merge(t)
	}
	return tables[0], nil
}

func countChunks(c *chunker, next *atomic.Int64, t *table) error {
	var memory, text []byte
	var err error
	for {
		i := next.Add(1) - 1
		if i >= c.chunks() {
			return nil
		}
		if text, memory, err = c.read(i, memory); err != nil {
			return err
		}
		t.addWords(text)
	}
}

// addWords counts the words of p, which padBytes of blanks follow. Each round
// turns 64 bytes into a bit mask and walks along its edges.
func (t *table) addWords(p []byte) {
	n := len(p)
	if n == 0 {
		return
	}
	p = p[:n+padBytes]
	start, inWord := 0, uint64(0) // inWord: 1 if the byte before the round is in a word
	for base := 0; base < n; base += 64 {
		word := ^spaces64((*[64]byte)(p[base:]))
		shifted := word<<1 | inWord
		starts, ends := word&^shifted, shifted&^word
		if inWord == 0 {
			start, starts = firstBit(base, starts)
		}
		for ends != 0 {
			var end int
			end, ends = firstBit(base, ends)
			t.add(p, start, end)
			start, starts = firstBit(base, starts)
		}
		inWord = word >> 63
	}
	if inWord == 1 {
		t.add(p, start, n)
	}
}

type output struct {
	prefix uint64 // the first eight bytes, to compare without following word
	word   string
	count  uint64
}

// sorted returns the counts in byte order of the words.
func (t *table) sorted() []output {
	all := make([]output, 0, t.used+len(t.long))
	var text strings.Builder // one piece of memory for all words
	text.Grow(16 * t.used)
	var buf [16]byte
	for _, e := range t.entries {
		if e.hi != 0 {
			binary.LittleEndian.PutUint64(buf[:], e.lo)
			binary.LittleEndian.PutUint64(buf[8:], e.hi)
			from := text.Len()
			text.Write(buf[:e.hi>>56])
			all = append(all, output{binary.BigEndian.Uint64(buf[:]), text.String()[from:], e.count})
		}
	}
	for word, count := range t.long {
		all = append(all, output{binary.BigEndian.Uint64([]byte(word)), word, *count})
	}
	slices.SortFunc(all, func(a, b output) int {
		return cmp.Or(cmp.Compare(a.prefix, b.prefix), strings.Compare(a.word, b.word))
	})
	return all
}

func writeCounts(f *os.File, counts *table) error {
	w := bufio.NewWriterSize(f, 1<<16)
	var line []byte
	for _, o := range counts.sorted() {
		line = append(append(line[:0], o.word...), '\t')
		line = append(strconv.AppendUint(line, o.count, 10), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return w.Flush()
}
