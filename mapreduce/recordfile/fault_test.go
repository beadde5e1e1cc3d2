package recordfile

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/pages"
)

// failingReader fails from the nth read on, after half of what was asked for.
type failingReader struct {
	file  []byte
	reads int
	n     int
}

func (r *failingReader) ReadAt(p []byte, off int64) (int, error) {
	if r.reads++; r.reads > r.n {
		return copy(p[:len(p)/2], r.file[off:]), errDisk
	}
	return bytes.NewReader(r.file).ReadAt(p, off)
}

// readFailing reads a range of a file whose reads fail from the nth on, and says how many there were.
func readFailing(file []byte, off int64, n int) (records []record, reads int, err error) {
	from := &failingReader{file: file, n: n}
	r, err := NewReader(from, int64(len(file)), off, int64(len(file)), Limits{})
	if err != nil {
		return nil, from.reads, err
	}
	for r.Next() {
		records = append(records, record{string(r.Key()), string(r.Value())})
	}
	return records, from.reads, r.Err()
}

// TestEveryFailingRead: whichever read of a range fails, of its beginning, of the search for its first block or of blocks, the error is the disk's and not
// damage to the file, and nothing is given but records that were read.
func TestEveryFailingRead(t *testing.T) {
	inner := string(write(t, Options{BlockBytes: 300, Marker: strings.NewReader("the same marker.")}, sample(10)))
	file := write(t, Options{BlockBytes: 300, Marker: strings.NewReader("the same marker.")}, append(sample(10), record{"a file in it", inner}, record{"b", "x"}))
	for off := range int64(len(file)) {
		whole, reads, err := readFailing(file, off, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		for n := range reads {
			got, _, err := readFailing(file, off, n)
			if !errors.Is(err, errDisk) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "read at offset ") {
				t.Fatalf("from %d, read %d: %v", off, n, err)
			}
			if len(got) >= len(whole) && len(whole) > 0 && n < reads-1 || !slices.Equal(got, whole[:len(got)]) {
				t.Fatalf("from %d, read %d: %d records of %d", off, n, len(got), len(whole))
			}
		}
	}
}

// TestRoomForLargeBlocks: the reader asks before it reads a block that takes a megabyte or more, with what it will take, and gives that back when it goes on
// or is closed; where there is no room it ends with the reason.
func TestRoomForLargeBlocks(t *testing.T) {
	const overhead = 5 // of a record: lengths of a key of 1 byte and of a value of a megabyte
	plain := []record{{"s", "small"}, {"b", strings.Repeat("x", pages.Large-overhead)}, {"c", strings.Repeat("y", pages.Large-overhead-1)}, {"d", strings.Repeat("z", 2*pages.Large)}, {"e", "small"}}
	for codec, want := range map[Codec][]int64{None: {pages.Large, 2*pages.Large + overhead + 1}, S2: nil} {
		file := write(t, Options{Codec: codec, BlockBytes: pages.Large}, plain)
		var asked []int64
		held := 0
		limits := Limits{Room: func(bytes int64) (func(), error) {
			if held != 0 {
				t.Errorf("%v: the block before holds %d rooms still", codec, held)
			}
			asked, held = append(asked, bytes), held+1
			return func() { held-- }, nil
		}}
		got, err := readRange(file, 0, int64(len(file)), limits)
		if err != nil || !slices.Equal(got, plain) || held != 0 {
			t.Errorf("%v: %d records, %v; %d rooms are held", codec, len(got), err, held)
		}
		if want != nil && !slices.Equal(asked, want) || want == nil && (len(asked) < 2 || slices.Min(asked) < pages.Large) {
			t.Errorf("%v: asked for %d, want %d", codec, asked, want)
		}
		full := errors.New("no room")
		limits.Room = func(int64) (func(), error) { return nil, full }
		if got, err := readRange(file, 0, int64(len(file)), limits); !errors.Is(err, full) || len(got) != 1 {
			t.Errorf("%v: without room %d records, %v", codec, len(got), err)
		}
		limits.Room = func(int64) (func(), error) { held++; return func() { held-- }, nil }
		r, err := NewReader(bytes.NewReader(file), int64(len(file)), 0, int64(len(file)), limits)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if !r.Next() {
				t.Fatal(r.Err())
			}
		}
		if held != 1 || len(r.Value()) != pages.Large-overhead {
			t.Errorf("%v: %d rooms at a large record of %d bytes", codec, held, len(r.Value()))
		}
		r.Close()
		r.Close()
		if held != 0 || len(r.Key())+len(r.Value())+len(r.Pair()) != 0 {
			t.Errorf("%v: closed, and it has %d rooms and a record of %d bytes", codec, held, len(r.Pair()))
		}
	}
}

// TestBlocksAreFilled: a block takes records until another would could make it larger than it may be: of each record it counts ten bytes for lengths, beside those of the others.
func TestBlocksAreFilled(t *testing.T) {
	records := slices.Repeat([]record{{"key", "value"}}, 6) // of ten bytes each
	for most, want := range map[int]int{1: 6, 27: 6, 28: 3, 37: 3, 38: 2, 67: 2, 68: 1} {
		file := write(t, Options{BlockBytes: most, Marker: strings.NewReader("the marker of it")}, records)
		if got := bytes.Count(file, []byte("the marker of it")) - 2; got != want { // in the head and in the end mark, too
			t.Errorf("blocks of %d bytes: %d, want %d", most, got, want)
		}
	}
}
