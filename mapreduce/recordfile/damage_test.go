package recordfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Whatever byte is changed and however the file is split, some range fails.
func TestEveryFlippedByteIsFound(t *testing.T) {
	for _, o := range []Options{{Codec: None}, {Codec: S2}, {Codec: Zstd}, {Codec: S2, Types: typed}} {
		t.Run(fmt.Sprint(o.Codec, o.Types), func(t *testing.T) {
			o.BlockBytes = 200
			file := write(t, o, sample(30))
			for i := range file {
				damaged := bytes.Clone(file)
				damaged[i] ^= 1 << (i % 8)
				for _, size := range []int64{int64(len(file)), 1 + int64(len(file))/2, 97, 200} {
					if _, err := readSplit(damaged, size); !errors.Is(err, ErrCorrupt) {
						t.Fatalf("byte %d flipped, split size %d: error %v", i, size, err)
					}
				}
			}
		})
	}
}

func TestErrorNamesTheBlock(t *testing.T) {
	file := write(t, Options{BlockBytes: 200}, sample(30))
	second := bytes.Index(file[fileHeaderBytes+1:], file[12:28]) + fileHeaderBytes + 1
	file[second+blockHeaderBytes+5]++
	_, err := readSplit(file, int64(len(file)))
	if want := fmt.Sprintf("offset %d: block has a wrong checksum", second); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

func TestEveryTruncationIsFound(t *testing.T) {
	for _, types := range []Types{{}, typed} {
		checkTruncations(t, write(t, Options{Codec: S2, BlockBytes: 200, Types: types}, sample(30)))
	}
	if _, err := NewReader(bytes.NewReader(nil), 0, 0, 0, Limits{}); !errors.Is(err, ErrCorrupt) {
		t.Errorf("file of no bytes: error %v", err)
	}
}

func checkTruncations(t *testing.T, file []byte) {
	t.Helper()
	for n := range file {
		if _, err := readSplit(file[:n], max(1, int64(n))); n > 0 && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: error %v", n, len(file), err)
		}
	}
	if _, err := readSplit(append(file, 'x'), 1<<20); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a byte too many: error %v", err)
	}
}

// The file is shorter than the caller says.
func TestShortReaderAt(t *testing.T) {
	file := write(t, Options{}, sample(30))
	r, err := NewReader(bytes.NewReader(file[:100]), int64(len(file)), 0, int64(len(file)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for r.Next() {
	}
	if !errors.Is(r.Err(), ErrCorrupt) {
		t.Errorf("error %v", r.Err())
	}
}

type failingReaderAt struct{}

var errDisk = errors.New("disk is on fire")

func (failingReaderAt) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestReadErrorIsNotCorruption(t *testing.T) {
	_, err := NewReader(failingReaderAt{}, 1000, 0, 1000, Limits{})
	if !errors.Is(err, errDisk) || errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// failingWriter takes n bytes and then no more.
type failingWriter struct{ n int }

func (f *failingWriter) Write(p []byte) (int, error) {
	if len(p) > f.n {
		return f.n, errDisk
	}
	f.n -= len(p)
	return len(p), nil
}

func TestWriteErrorSticks(t *testing.T) {
	whole := len(write(t, Options{BlockBytes: 200}, sample(30)))
	for n := range whole {
		w, err := NewWriter(&failingWriter{n}, Options{BlockBytes: 200})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range sample(30) {
			if err := w.Append([]byte(r.Key), []byte(r.Value)); err != nil && !errors.Is(err, errDisk) {
				t.Fatalf("after %d bytes: Append: %v", n, err)
			}
		}
		if first, second := w.Close(), w.Close(); !errors.Is(first, errDisk) || !errors.Is(second, errDisk) {
			t.Fatalf("after %d bytes: Close: %v, then %v", n, first, second)
		}
	}
}

func TestShortMarker(t *testing.T) {
	for _, marker := range []io.Reader{strings.NewReader("short"), iotest.ErrReader(errDisk)} {
		w, err := NewWriter(io.Discard, Options{Marker: marker})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err == nil {
			t.Error("Close succeeded without a marker")
		}
	}
}

func TestAppendRefuses(t *testing.T) {
	var file bytes.Buffer
	w, err := NewWriter(&file, Options{MaxRecordBytes: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append([]byte("123456"), []byte("78901")); err == nil {
		t.Error("a record of 11 bytes was taken")
	}
	if err := w.Append([]byte("123456"), []byte("7890")); err != nil {
		t.Errorf("a record of 10 bytes: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Append(nil, nil); err == nil {
		t.Error("Append after Close succeeded")
	}
	if got, err := readSplit(file.Bytes(), 1000); err != nil || len(got) != 1 {
		t.Errorf("read %v, error %v", got, err)
	}
}

func TestSettingsRefused(t *testing.T) {
	for _, o := range []Options{{Codec: 3}, {BlockBytes: -1}, {BlockBytes: maxBlock}, {MaxRecordBytes: -1}, {MaxRecordBytes: maxBlock}} {
		if _, err := NewWriter(io.Discard, o); err == nil {
			t.Errorf("NewWriter with %+v succeeded", o)
		}
	}
	file := write(t, Options{}, nil)
	for _, tt := range []struct {
		off, length int64
		limits      Limits
	}{{-1, 5, Limits{}}, {0, -5, Limits{}}, {0, 5, Limits{MaxBlockBytes: -1}}} {
		if _, err := NewReader(bytes.NewReader(file), int64(len(file)), tt.off, tt.length, tt.limits); err == nil {
			t.Errorf("NewReader with %+v succeeded", tt)
		}
	}
}

func TestRangesBeyondTheFile(t *testing.T) {
	file := write(t, Options{}, sample(5))
	const far = 1 << 62
	if got, err := readRange(file, 0, far, Limits{}); err != nil || len(got) != 5 {
		t.Errorf("range past the end: %d records, error %v", len(got), err)
	}
	if got, err := readRange(file, far, far-1, Limits{}); err != nil || len(got) != 0 {
		t.Errorf("range after the end: %d records, error %v", len(got), err)
	}
}

func TestCodecNames(t *testing.T) {
	for _, c := range codecs {
		if got, err := ParseCodec(c.String()); err != nil || got != c {
			t.Errorf("ParseCodec(%q) = %v, %v", c, got, err)
		}
	}
	if _, err := ParseCodec("lzma"); err == nil || !strings.Contains(err.Error(), "zstd") {
		t.Errorf("ParseCodec(lzma): error %v, want the known names", err)
	}
}
