package recordfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// forge returns a file of one block and an end mark, whose checksums are all right, whatever the block says.
func forge(file, block Codec, raw, records uint32, stored string, end blockHeader) []byte {
	head := (&fileHeader{codec: file}).encode()
	out := slices.Clone(head)
	var p [blockHeaderBytes]byte
	h := blockHeader{offset: fileHeaderBytes, stored: uint32(len(stored)), raw: raw, records: records, codec: block, sum: checksum([]byte(stored))}
	h.encode(&p)
	out = append(append(out, p[:]...), stored...)
	end.offset, end.codec = int64(len(out)), endOfFile
	end.encode(&p)
	return append(out, p[:]...)
}

// TestForgedBlocks: a file whose checksums are right and which still makes no sense is corrupt, and the error says in what.
func TestForgedBlocks(t *testing.T) {
	past, contradict := "record reaches past its block", "block lengths contradict each other"
	for _, tt := range []struct {
		stored      string
		raw         uint32
		records     uint32
		file, block Codec
		end         blockHeader
		want        string // "" for a file that is right
	}{
		{stored: "\x01\x02kvv", raw: 5, records: 1},
		{stored: "\x00\x00", raw: 2, records: 1},
		{stored: "\x01\x02kvv", raw: 5, records: 2, want: past},
		{stored: "\x01\x03kvv", raw: 5, records: 1, want: past},
		{stored: "\x04\x00kvv", raw: 5, records: 1, want: past},
		{stored: "\x80\x80\x80\x80\x80", raw: 5, records: 1, want: past},
		{stored: "\x01\x80\x80\x80\x80", raw: 5, records: 1, want: past},
		{stored: "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00", raw: 11, records: 1, want: past},
		{stored: "\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", raw: 11, records: 1, want: past},
		{stored: "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01k", raw: 12, records: 1, want: past},
		{stored: "\x01\x01kvv", raw: 5, records: 1, want: "block has 1 bytes after its last record"},
		{stored: "\x01\x02kvv", raw: 5, want: contradict},
		{stored: "\x01\x02kvv", raw: 4, records: 1, want: contradict},
		{stored: "\x01\x02kvv", raw: 6, records: 1, want: contradict},
		{stored: "\x01\x02kvv", raw: 5, records: 1, file: Zstd, block: S2, want: "block is s2 in a file that is zstd"},
		{stored: "\x01\x02kvv", raw: 5, records: 1, file: S2, block: S2, want: "block does not decompress"},
		{stored: "\x80\x80\x80\x80\x02x", raw: 100, records: 1, file: S2, block: S2, want: "holds 536870912 bytes, not 100"},
		{stored: "\x01\x02kvv", raw: 5, records: 1, file: Zstd, block: Zstd, want: "block does not decompress"},
		{stored: "\x00\x00", raw: 2, records: 1, end: blockHeader{records: 1}, want: "end mark is not empty"},
		{stored: "\x00\x00", raw: 2, records: 1, end: blockHeader{raw: 1}, want: "end mark is not empty"},
	} {
		file := forge(tt.file, tt.block, tt.raw, tt.records, tt.stored, tt.end)
		_, err := readSplit(file, int64(len(file)))
		if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q as %d bytes of %d records: %v, want %q", tt.stored, tt.raw, tt.records, err, tt.want)
		}
	}
}

// TestFilesOfTheFuture are not corrupt: a newer program reads them.
func TestFilesOfTheFuture(t *testing.T) {
	for at, want := range map[int]string{8: "version 3", 9: "unknown codec 3"} {
		file := write(t, Options{}, nil)
		file[at] = 3
		copy(file[28:], sumOf(file[:28]))
		if _, err := readSplit(file, 1000); err == nil || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), want) {
			t.Errorf("byte %d: %v, want %q", at, err, want)
		}
	}
}

func sumOf(p []byte) []byte {
	s := checksum(p)
	return []byte{byte(s), byte(s >> 8), byte(s >> 16), byte(s >> 24)}
}

// TestLargestSettings: what an error names as the most is taken, one more is not, and a block as large as the reader's limit is read.
func TestLargestSettings(t *testing.T) {
	for _, o := range []Options{{BlockBytes: maxBlock / 2}, {MaxRecordBytes: maxBlock - recordOverhead}, {BlockBytes: 1, MaxRecordBytes: 1}} {
		if _, err := NewWriter(io.Discard, o); err != nil {
			t.Error(err)
		}
	}
	for _, o := range []Options{{BlockBytes: maxBlock/2 + 1}, {MaxRecordBytes: maxBlock - recordOverhead + 1}} {
		if _, err := NewWriter(io.Discard, o); err == nil {
			t.Errorf("NewWriter with %+v succeeded", o)
		}
	}
	if _, err := NewWriter(io.Discard, Options{Codec: 3}); err == nil || !strings.HasSuffix(err.Error(), "unknown codec 3") {
		t.Errorf("codec 3: %v", err)
	}
	w, err := NewWriter(io.Discard, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const most = 256<<20 - 10 // the lengths of a record take so many at most
	if err := w.Append(nil, make([]byte, most+1)); err == nil || !strings.Contains(err.Error(), fmt.Sprint("over the limit of ", most)) {
		t.Errorf("a record that no reader takes by itself: %v", err)
	}
	if o := DefaultOptions(); o.Codec != S2 || o.BlockBytes != 256<<10 || o.MaxRecordBytes != most {
		t.Errorf("by themselves writers have %+v", o)
	}
	file := write(t, Options{}, []record{{"key", "value"}}) // two lengths and eight bytes
	for most, ok := range map[int]bool{9: false, 10: true, maxBlock: true} {
		if _, err := readRange(file, 0, 1000, Limits{MaxBlockBytes: most}); (err == nil) != ok {
			t.Errorf("blocks of up to %d bytes: %v", most, err)
		}
	}
}

// TestMarkerBetweenTwoReads: wherever in the bytes that are searched together a block begins, it is found.
func TestMarkerBetweenTwoReads(t *testing.T) {
	records := []record{{"first", strings.Repeat("x", 2*scanBytes)}, {"second", "y"}}
	file := write(t, Options{BlockBytes: 1000}, records)
	second := int64(bytes.LastIndex(file, []byte("\x06\x01secondy")) - blockHeaderBytes)
	for before := int64(scanBytes - 3*markerBytes); before < scanBytes+markerBytes; before++ {
		for _, end := range []int64{second + 1, second + 2, int64(len(file))} {
			got, err := readRange(file, second-before, end-second+before, Limits{})
			if err != nil || !slices.Equal(got, records[1:]) {
				t.Fatalf("from %d bytes before up to %d: %d records, %v", before, end-second, len(got), err)
			}
		}
	}
}

// shortWriter takes a byte less than it is given and does not say so.
type shortWriter struct{}

func (shortWriter) Write(p []byte) (int, error) { return len(p) - 1, nil }

func TestShortWriteIsAnError(t *testing.T) {
	w, err := NewWriter(shortWriter{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("Close: %v", err)
	}
}

// TestNoRecordAfterTheLast: behind the end and behind an error there is none, however often one asks.
func TestNoRecordAfterTheLast(t *testing.T) {
	right := write(t, Options{}, sample(3))
	wrong := forge(None, None, 5, 2, "\x01\x02kvv", blockHeader{})
	for _, file := range [][]byte{right, wrong} {
		r, err := NewReader(bytes.NewReader(file), int64(len(file)), 0, int64(len(file)), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		for r.Next() {
		}
		for range 2 {
			if r.Next() || len(r.Key())+len(r.Value())+len(r.Pair()) > 0 {
				t.Errorf("after the last: %q, %q", r.Key(), r.Value())
			}
		}
	}
}
