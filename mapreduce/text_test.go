package mapreduce

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// readRange collects the records of one range, one by one.
func readRange(t *testing.T, format InputFormat, data []byte, off, length int64) []string {
	t.Helper()
	r, err := format.Open(Source{Name: "test", R: bytes.NewReader(data), Size: int64(len(data)), Offset: off, Length: length})
	if err != nil {
		t.Fatalf("open %d+%d: %v", off, length, err)
	}
	defer r.Close()
	var out []string
	for r.Next() {
		rec := r.Record()
		out = append(out, fmt.Sprintf("%d:%s", rec.Offset, rec.Value))
	}
	if err := r.Err(); err != nil {
		t.Fatalf("read %d+%d: %v", off, length, err)
	}
	return out
}

// readChunks collects the same records from chunks.
func readChunks(t *testing.T, data []byte, off, length int64) []string {
	t.Helper()
	r, err := openLines(Source{Name: "test", R: bytes.NewReader(data), Size: int64(len(data)), Offset: off, Length: length})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for {
		chunk, at, ok := r.NextChunk()
		if !ok {
			break
		}
		before := len(out)
		for line := range bytes.Lines(chunk) {
			out = append(out, fmt.Sprintf("%d:%s", at, bytes.TrimSuffix(line, []byte("\n"))))
			at += int64(len(line))
		}
		if n := r.RecordsIn(chunk); n != int64(len(out)-before) {
			t.Fatalf("RecordsIn says %d, chunk has %d", n, len(out)-before)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// oddText is 4 KiB with everything that a line can hold: CRLF, NUL, invalid UTF-8,
// empty lines, long lines, no newline at the end.
func oddText() []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for b.Len() < 4096 {
		switch rng.IntN(6) {
		case 0:
			b.WriteString("crlf line\r\n")
		case 1:
			b.WriteString("nul\x00byte\n")
		case 2:
			b.WriteString("bad utf8 \xff\xfe\x80\n")
		case 3:
			b.WriteString("\n")
		case 4:
			b.WriteString(strings.Repeat("long ", rng.IntN(60)) + "\n")
		default:
			b.WriteString("\r\n\t tab\n")
		}
	}
	data := b.Bytes()[:4096]
	data[4095] = 'x' // no final newline
	return data
}

// A text record is read exactly once whatever the split offsets.
func TestTextEverySplitSize(t *testing.T) {
	data := oddText()
	want := readRange(t, Text, data, 0, int64(len(data)))
	if len(want) < 50 || !strings.HasSuffix(want[len(want)-1], "x") {
		t.Fatalf("the test text is not as odd as it should be: %d lines", len(want))
	}
	for size := int64(1); size <= 4096; size++ {
		var records, chunks []string
		for off := int64(0); off < int64(len(data)); off += size {
			records = append(records, readRange(t, Text, data, off, size)...)
			if size >= 32 || size == 1 { // the chunk form is the same code below 32
				chunks = append(chunks, readChunks(t, data, off, size)...)
			}
		}
		if d := cmp.Diff(want, records); d != "" {
			t.Fatalf("split size %d: %s", size, d)
		}
		if chunks != nil {
			if d := cmp.Diff(want, chunks); d != "" {
				t.Fatalf("chunks at split size %d: %s", size, d)
			}
		}
	}
}

func TestTextSmallFiles(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", ""},
		{"\n", "0:"},
		{"a", "0:a"},
		{"a\n", "0:a"},
		{"\n\n", "0:|1:"},
		{"a\r\nb", "0:a\r|3:b"},
	} {
		got := strings.Join(readRange(t, Text, []byte(c.data), 0, int64(len(c.data))), "|")
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.data, got, c.want)
		}
	}
}

func TestKeyTabValue(t *testing.T) {
	data := []byte("k1\tv1\tmore\nonlykey\n\tonlyvalue\n")
	r, err := KeyTabValue.Open(Source{R: bytes.NewReader(data), Size: int64(len(data)), Length: int64(len(data))})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r.Next() {
		rec := r.Record()
		_ = append(rec.Key, "xyz"...) // as a mapper may that makes another key of it
		got = append(got, fmt.Sprintf("%s=%s", rec.Key, rec.Value))
	}
	if d := cmp.Diff([]string{"k1=v1\tmore", "onlykey=", "=onlyvalue"}, got); d != "" {
		t.Error(d)
	}
}

// A line longer than the buffer is read whole, once, in memory of its own size.
func TestTextLongLines(t *testing.T) {
	long := strings.Repeat("x", 3*textBuffer+17)
	data := []byte("short\n" + long + "\nend\n")
	for _, split := range []int64{int64(len(data)), 1000, textBuffer, 2*textBuffer + 3} {
		var n, bytesSeen int
		for off := int64(0); off < int64(len(data)); off += split {
			for _, rec := range readRange(t, Text, data, off, split) {
				n++
				bytesSeen += len(rec[strings.Index(rec, ":")+1:])
			}
		}
		if n != 3 || bytesSeen != len(long)+8 {
			t.Errorf("split %d: %d records, %d bytes", split, n, bytesSeen)
		}
	}
}

// TestTextManyRangesOfOneLine: who reads a range looks for lines in that range, not to the end of a long line.
func TestTextManyRangesOfOneLine(t *testing.T) {
	const size, step = 2 << 20, 4 << 10
	data := append(bytes.Repeat([]byte("x"), size-1), '\n')
	r := &countingReader{r: bytes.NewReader(data)}
	lines := 0
	for off := int64(0); off < size; off += step {
		lr, err := Text.Open(Source{Name: "long", R: r, Size: size, Offset: off, Length: step, Plain: off > 0})
		if err != nil {
			t.Fatal(err)
		}
		for lr.Next() {
			lines++
		}
		lr.Close()
	}
	if lines != 1 || r.n > 5*size {
		t.Errorf("%d lines, %d bytes read of a file of %d", lines, r.n, size)
	}
}

type countingReader struct {
	r io.ReaderAt
	n int64
}

func (c *countingReader) ReadAt(b []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(b, off)
	c.n += int64(n)
	return n, err
}

func TestTextRecordLimit(t *testing.T) {
	data := []byte("ok\n" + strings.Repeat("y", 700<<10) + "\n")
	for name, body := range map[string][]byte{"plain": data, "gzip": gzipped2(t, data)} {
		r, err := Text.Open(Source{Name: "f", R: bytes.NewReader(body), Size: int64(len(body)), Length: int64(len(body)), MaxRecord: 600 << 10})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for r.Next() {
			n++
		}
		if err := r.Err(); n != 1 || err == nil || !strings.Contains(err.Error(), "offset 3") || !strings.Contains(err.Error(), "614400") {
			t.Errorf("%s: %d records, error %v; want 1 and an error with offset and limit", name, n, err)
		}
		r.Close()
	}
}

func gzipped2(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstded2(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTextCompressed(t *testing.T) {
	data := oddText()
	want := readRange(t, Text, data, 0, int64(len(data)))
	two := append(gzipped2(t, data[:100]), gzipped2(t, data[100:])...)
	for name, body := range map[string][]byte{"gzip": gzipped2(t, data), "two members": two, "zstd": zstded2(t, data)} {
		t.Run(name, func(t *testing.T) {
			if Text.Splittable(body[:HeadBytes]) {
				t.Error("compressed text is not splittable")
			}
			got := readRange(t, Text, body, 0, int64(len(body)))
			got = append(got, readRange(t, Text, body, 10, int64(len(body))-10)...) // must be empty
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Damage is an error that names the file; it never yields other records in silence.
func TestTextDamagedCompression(t *testing.T) {
	data := bytes.Repeat([]byte("some line of text\n"), 2000)
	for name, body := range map[string][]byte{"gzip": gzipped2(t, data), "zstd": zstded2(t, data)} {
		for _, cut := range []int{len(body) - 1, len(body) / 2, 20} {
			expectReadError(t, name+" truncated", body[:cut])
		}
		for i := 10; i < len(body); i += 7 {
			bad := bytes.Clone(body)
			bad[i] ^= 0x10
			if out, err := readAll(bad); err == nil && !bytes.Equal(out, data) {
				t.Errorf("%s: flip at %d gave other data without an error", name, i)
			}
		}
	}
}

func expectReadError(t *testing.T, what string, body []byte) {
	t.Helper()
	_, err := readAll(body)
	if err == nil || !strings.Contains(err.Error(), "name-of-file") {
		t.Errorf("%s: error %v, want one that names the file", what, err)
	}
}

func readAll(body []byte) ([]byte, error) {
	r, err := Text.Open(Source{Name: "name-of-file", R: bytes.NewReader(body), Size: int64(len(body)), Length: int64(len(body))})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []byte
	for r.Next() {
		out = append(append(out, r.Record().Value...), '\n')
	}
	return out, r.Err()
}

func TestFixedEverySplitSize(t *testing.T) {
	data := make([]byte, 7*100)
	for i := range data {
		data[i] = byte(i)
	}
	format := FixedSize(7)
	want := readRange(t, format, data, 0, int64(len(data)))
	if len(want) != 100 {
		t.Fatalf("%d records", len(want))
	}
	for size := int64(1); size <= int64(len(data)); size++ {
		var got []string
		for off := int64(0); off < int64(len(data)); off += size {
			got = append(got, readRange(t, format, data, off, size)...)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("split size %d: %s", size, d)
		}
	}
	if _, err := format.Open(Source{Name: "odd", R: bytes.NewReader(data[:699]), Size: 699, Length: 699}); err == nil || !strings.Contains(err.Error(), "odd") {
		t.Errorf("a partial record gave %v", err)
	}
}

func TestWholeFile(t *testing.T) {
	r, err := WholeFile.Open(Source{Name: "f", R: strings.NewReader("content"), Size: 7, Length: 7})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Next() || string(r.Record().Key) != "f" || string(r.Record().Value) != "content" || r.Next() {
		t.Errorf("got %+v", r.Record())
	}
	if _, err := WholeFile.Open(Source{Name: "big", Size: 100, Length: 100, MaxRecord: 99, R: strings.NewReader("")}); err == nil {
		t.Error("a file over the limit was opened")
	}
}

// FuzzText checks that any bytes, plain or compressed, are read without a panic, in
// bounded memory, and alike whether split or not.
func FuzzText(f *testing.F) {
	f.Add([]byte("a\nb\n"), int64(2))
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0}, int64(1))
	f.Add([]byte{0x28, 0xb5, 0x2f, 0xfd, 4, 0}, int64(3))
	f.Fuzz(func(t *testing.T, data []byte, at int64) {
		if at < 0 || at > int64(len(data)) {
			return
		}
		whole, err := readSome(data, 0, int64(len(data)))
		a, err1 := readSome(data, 0, at)
		b, err2 := readSome(data, at, int64(len(data))-at)
		if err == nil && err1 == nil && err2 == nil && !bytes.Equal(whole, append(a, b...)) {
			t.Errorf("split at %d changes the records", at)
		}
	})
}

func readSome(data []byte, off, length int64) ([]byte, error) {
	r, err := Text.Open(Source{R: bytes.NewReader(data), Size: int64(len(data)), Offset: off, Length: length, MaxRecord: 1 << 20})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var out []byte
	for r.Next() && len(out) < 4<<20 {
		out = append(append(out, r.Record().Value...), '\n')
	}
	return out, r.Err()
}

// TestRangeBehindTheEnd: a file that has become shorter than where a task is to begin has changed, and the error says so.
func TestRangeBehindTheEnd(t *testing.T) {
	for name, f := range map[string]InputFormat{"text": Text, "records": RecordFile} {
		_, err := f.Open(Source{Name: "in", R: strings.NewReader("short\n"), Size: 6, Offset: 20, Length: 10})
		if err == nil || !strings.Contains(err.Error(), "in: changed while it was read") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
