package mapreduce

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var errDisk = errors.New("the disk has gone")

// failingAt fails from the nth read on.
type failingAt struct {
	data  []byte
	n     int
	reads int
}

func (f *failingAt) ReadAt(p []byte, off int64) (int, error) {
	if f.reads++; f.reads > f.n {
		return 0, errDisk
	}
	return bytes.NewReader(f.data).ReadAt(p, off)
}

// readUntil reads a range whose reads fail from the nth on, record by record or by chunks.
func readUntil(format InputFormat, data []byte, off int64, n int, chunks bool) (out []string, reads int, err error) {
	at := &failingAt{data: data, n: n}
	r, err := format.Open(Source{Name: "a file", R: at, Size: int64(len(data)), Offset: off, Length: int64(len(data)) * 2 / 3})
	if err != nil {
		return nil, at.reads, err
	}
	if c, ok := r.(ChunkReader); ok && chunks {
		for {
			chunk, from, ok := c.NextChunk()
			if !ok {
				break
			}
			out = append(out, fmt.Sprintf("%d:%s", from, chunk))
		}
	} else {
		for r.Next() {
			rec := r.Record()
			out = append(out, fmt.Sprintf("%d:%s:%s", rec.Offset, rec.Key, rec.Value))
		}
	}
	err = r.Err()
	if r.Next() && err != nil {
		return nil, at.reads, errors.New("it goes on after an error")
	}
	return out, at.reads, errors.Join(err, r.Close())
}

// TestFailingReads: whichever read of an input fails, in whatever form it is, the error names the file and the reason, and all that was given until then is
// right.
func TestFailingReads(t *testing.T) {
	text := bytes.Repeat([]byte("a line\tof text that is read, and some more\n"), 20_000)
	packed := func(w io.WriteCloser, into *bytes.Buffer) []byte {
		t.Helper()
		for i, line := range bytes.SplitAfter(text, []byte("\n")) {
			if _, err := fmt.Fprintf(w, "%x%s", i*i*7919, line); err != nil { // so that it stays long
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return into.Bytes()
	}
	var gz, zl, zs, lz, records bytes.Buffer
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	rw, err := RecordOutput.Open(&records, Bytes, Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		if err := rw.Write(fmt.Appendf(nil, "%x", i*i*7919), fmt.Appendf(nil, "%x-%x", i, i*i*i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := rw.Close(); err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		format InputFormat
		data   []byte
		offs   []int64
		chunks bool
	}{
		"text":          {Text, text, []int64{0, 7, 300_000}, false},
		"text, chunks":  {Text, text, []int64{0, 7, 300_000}, true},
		"key tab value": {KeyTabValue, text, []int64{0, 7}, false},
		"gzip":          {Text, packed(gzip.NewWriter(&gz), &gz), []int64{0}, false},
		"zlib":          {Text, packed(zlib.NewWriter(&zl), &zl), []int64{0}, false},
		"zstd":          {Text, packed(z, &zs), []int64{0}, false},
		"lz4":           {Text, packed(lz4.NewWriter(&lz), &lz), []int64{0}, false},
		"fixed":         {FixedSize(43), text[:43*20_000], []int64{0, 7, 300_000}, false},
		"fixed, chunks": {FixedSize(43), text[:43*20_000], []int64{0, 7}, true},
		"whole":         {WholeFile, text, []int64{0}, false},
		"records":       {RecordFile, records.Bytes(), []int64{0, 1000}, false},
	} {
		for _, off := range x.offs {
			whole, reads, err := readUntil(x.format, x.data, off, 1<<30, x.chunks)
			if err != nil || len(whole) == 0 || reads == 0 {
				t.Fatalf("%s from %d: %d records in %d reads, %v", name, off, len(whole), reads, err)
			}
			for n := range reads {
				got, _, err := readUntil(x.format, x.data, off, n, x.chunks)
				if !errors.Is(err, errDisk) || !strings.Contains(err.Error(), "a file") {
					t.Fatalf("%s from %d, read %d of %d: %v", name, off, n, reads, err)
				}
				if len(got) > len(whole) || !slices.Equal(got, whole[:len(got)]) {
					t.Fatalf("%s from %d, read %d: %d records, and others", name, off, n, len(got))
				}
			}
		}
	}
}

// TestFilesThatShrink: of a file that is shorter than it was when it was listed, whoever wants all of it says so.
func TestFilesThatShrink(t *testing.T) {
	for name, format := range map[string]InputFormat{"text": Text, "whole": WholeFile} {
		r, err := format.Open(Source{Name: "a file", R: strings.NewReader("a line\n"), Size: 1000, Length: 1000})
		if err == nil {
			for r.Next() {
			}
			err = errors.Join(r.Err(), r.Close())
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fullWriter takes n bytes.
type fullWriter struct{ n int }

func (w *fullWriter) Write(p []byte) (int, error) {
	k := min(len(p), w.n)
	if w.n -= k; k < len(p) {
		return k, errDisk
	}
	return k, nil
}

// TestFailingWrites: a writer of any form tells at the latest when it is closed that something was not written, and writes what it is given: small pairs,
// pairs larger than its buffer, values in parts.
func TestFailingWrites(t *testing.T) {
	large := strings.Repeat("x", outputBuffer)
	pairs := [][2]string{{"a", "1"}, {"", ""}, {large, "2"}, {"b", large}, {"c", "3"}}
	for name, x := range map[string]struct {
		format     OutputFormat
		key, value Type
		want       string // "": it is not looked at
	}{
		"text":      {TextOutput, Bytes, String, "a\t1\n\t\n" + large + "\t2\nb\t" + large + "\nc\t3\n"},
		"keys only": {TextOutput, Bytes, CodecFor[None](), "a\n\n" + large + "\nb\nc\n"},
		"raw":       {RawOutput, Bytes, Bytes, "a1" + large + "2b" + large + "c3"},
		"records":   {RecordOutput, Bytes, Bytes, ""},
	} {
		write := func(w io.Writer) error {
			rw, err := x.format.Open(w, x.key, x.value)
			if err != nil {
				t.Fatal(err)
			}
			var errs []error
			for _, p := range pairs {
				errs = append(errs, rw.Write([]byte(p[0]), []byte(p[1])))
			}
			return errors.Join(append(errs, rw.Close())...)
		}
		var whole bytes.Buffer
		if err := write(&whole); err != nil || x.want != "" && whole.String() != x.want {
			t.Errorf("%s: %d bytes, want %d, %v", name, whole.Len(), len(x.want), err)
		}
		for _, n := range []int{0, 1, 5, outputBuffer - 1, outputBuffer, outputBuffer + 3, whole.Len() - 1} {
			if n < 0 || n >= whole.Len() {
				continue
			}
			if err := write(&fullWriter{n}); !errors.Is(err, errDisk) {
				t.Errorf("%s, %d of %d bytes: %v", name, n, whole.Len(), err)
			}
		}
		if err := write(&fullWriter{whole.Len()}); err != nil {
			t.Errorf("%s, just enough: %v", name, err)
		}
	}
	for _, typ := range [][2]Type{{Bytes, Bytes}, {Bytes, Int64}, {CodecFor[None](), Bytes}} {
		var parts, together bytes.Buffer
		for into, join := range map[*bytes.Buffer]bool{&parts: false, &together: true} {
			w, err := TextOutput.Open(into, typ[0], typ[1])
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"k", large} {
				value := Int64.Append(nil, 77)
				if join {
					err = w.Write([]byte(key), value)
				} else {
					err = w.(interface {
						WriteParts(key []byte, parts ...[]byte) error
					}).WriteParts([]byte(key), value[:3], nil, value[3:])
				}
				if err != nil {
					t.Error(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		if !bytes.Equal(parts.Bytes(), together.Bytes()) || typ[0] == Bytes && parts.Len() < outputBuffer {
			t.Errorf("in parts %d bytes, together %d", parts.Len(), together.Len())
		}
	}
}
