package shuffle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// seedSegments gives a fuzzer real segment files.
func seedSegments(f *testing.F) {
	f.Helper()
	for _, name := range []string{"golden-none.seg", "golden-s2.seg", "golden-zstd.seg"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzSegment reads arbitrary bytes as a segment file: it may fail, but only as
// corrupt, and what it accepts must be in frames that pass their checksums.
func FuzzSegment(f *testing.F) {
	seedSegments(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := OpenOutputIn(memFS(b), "segment")
		if err == nil {
			_, err = readOutput(o)
		}
		if err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("error without a mark: %v", err)
		}
	})
}

// memFS has one file, to be read.
type memFS []byte

type memFile struct {
	io.Writer
	*bytes.Reader
}

func (m memFS) Create(string) (File, error) { return nil, errors.ErrUnsupported }
func (m memFS) Open(string) (File, error)   { return memFile{Reader: bytes.NewReader(m)}, nil }
func (m memFS) Rename(_, _ string) error    { return errors.ErrUnsupported }
func (m memFS) Remove(string) error         { return nil }
func (f memFile) Close() error              { return nil }
func (f memFile) Size() (int64, error)      { return f.Reader.Size(), nil }

// FuzzFrames reads arbitrary bytes as the frames of one partition, with their
// checksums put right, so that the code behind the checksum is reached.
func FuzzFrames(f *testing.F) {
	for _, codec := range []Compression{None, S2, Zstd} {
		var fr frame
		raw := []byte("\x03\x05keyvalue\x00\x00\x01\x01ab")
		p := packer{codec: codec, buf: make([]byte, 100)}
		stored, used := p.pack(bytes.Repeat(raw, 20))
		fr = frame{stored: uint32(len(stored)), raw: uint32(20 * len(raw)), records: 60, codec: used, last: true}
		b := append(make([]byte, frameHeader), stored...)
		fr.seal(b)
		f.Add(b, int64(60))
	}
	f.Fuzz(func(t *testing.T, b []byte, records int64) {
		if len(b) >= frameHeader {
			fr := parseFrame(b)
			if int64(fr.stored) <= int64(len(b)-frameHeader) {
				fr.tag, fr.partition, fr.seq = 0, 0, 0
				fr.seal(b)
			}
		}
		r := &frameReader{src: bytes.NewReader(b), end: int64(len(b)), left: records, buf: make([]byte, 4<<10), mem: &carver{}}
		s := &stream{feed: r, plain: true}
		n := int64(0)
		for s.Next() {
			n++
		}
		if err := s.Err(); err != nil && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("error without a mark: %v", err)
		}
	})
}

// FuzzSegmentStream takes arbitrary bytes off the network.
func FuzzSegmentStream(f *testing.F) {
	seedSegments(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, inBlocks := range []bool{false, true} {
			seg := &Segment{Name: "map-00007-0", Info: PartitionInfo{Records: 20, RawBytes: 500, StoredBytes: int64(len(b))}}
			seg.Fetch = func(context.Context) (io.ReadCloser, error) { return nil, nil }
			s := newSegmentStream(seg, bytes.NewReader(b))
			if _, err := s.readAll(&room{acct: &account{pool: NewPool(minBudget)}, inBlocks: inBlocks}); err == nil && len(b) > 0 {
				if s.recs != 20 || s.raw != 500 {
					t.Fatalf("accepted %d records of %d bytes", s.recs, s.raw)
				}
			} else if err != nil && !errors.Is(err, ErrCorrupt) {
				t.Fatalf("error without a mark: %v", err)
			}
		}
	})
}
