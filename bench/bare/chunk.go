package bare

import (
	"errors"
	"fmt"
	"io"
	"os"
)

const (
	// chunkBytes is what a goroutine takes at a time: large against the cost of a
	// read, small against the last-level cache.
	chunkBytes = 1 << 20
	// padBytes of blanks follow every chunk, so that loops may read past its end.
	padBytes = 64
)

// chunker reads a file in pieces that end where a unit (a word, a line) ends.
// A unit belongs to the chunk it starts in.
type chunker struct {
	file    *os.File
	size    int64
	isBreak func(byte) bool // true for the bytes after which a file may be cut
}

func (c *chunker) chunks() int64 { return (c.size + chunkBytes - 1) / chunkBytes }

// read returns the units that start in chunk i, followed by padding in the
// slice's capacity, and the memory to be used for the next call.
func (c *chunker) read(i int64, buf []byte) (units, memory []byte, err error) {
	begin := i * chunkBytes
	end := min(begin+chunkBytes, c.size)
	from := max(0, begin-1) // the byte before tells whether a unit starts at begin
	if buf, err = c.fill(buf[:0], from, end); err != nil {
		return nil, buf, err
	}
	skip := 0
	if begin > 0 {
		if skip = c.afterBreak(buf, 0); skip < 0 || skip == len(buf) {
			return nil, buf, nil // no unit starts here
		}
	}
	cut := c.afterBreak(buf, len(buf)-1)
	for cut < 0 && end < c.size {
		next := min(end+padBytes*16, c.size)
		searched := len(buf)
		if buf, err = c.fill(buf, end, next); err != nil {
			return nil, buf, err
		}
		cut, end = c.afterBreak(buf, searched), next
	}
	if cut < 0 {
		cut = len(buf)
	}
	return pad(buf[:cut])[skip:cut], buf, nil
}

// afterBreak returns the index behind the first break at or after from; -1 if
// there is none.
func (c *chunker) afterBreak(p []byte, from int) int {
	for i := from; i < len(p); i++ {
		if c.isBreak(p[i]) {
			return i + 1
		}
	}
	return -1
}

// fill appends bytes [from, end) of the file to buf, leaving room for padding.
func (c *chunker) fill(buf []byte, from, end int64) ([]byte, error) {
	have, want := len(buf), len(buf)+int(end-from)
	if cap(buf) < want+padBytes {
		buf = append(make([]byte, 0, 2*want+padBytes), buf...)
	}
	buf = buf[:want]
	n, err := c.file.ReadAt(buf[have:], from)
	if n == want-have {
		return buf, nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return buf, fmt.Errorf("read %s at offset %d: %w", c.file.Name(), from, err)
}

// pad writes blanks behind p, in its capacity.
func pad(p []byte) []byte {
	const blanks = "                                                                "
	copy(p[len(p):len(p)+padBytes], blanks)
	return p
}

// openInput opens a regular file and returns its size.
func openInput(name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// writeOutput creates the file and hands it to write.
func writeOutput(name string, write func(*os.File) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
