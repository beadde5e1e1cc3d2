package mapreduce

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const threeLines = "one\ntwo\nthree\n"

// packed writes the three lines through an encoder.
func packed(t testing.TB, open func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	return packedWith(t, []byte(threeLines), open)
}

func packedWith(t testing.TB, text []byte, open func(io.Writer) io.WriteCloser) []byte {
	t.Helper()
	var b bytes.Buffer
	w := open(&b)
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstdWith(t testing.TB, o ...zstd.EOption) []byte {
	return packed(t, func(w io.Writer) io.WriteCloser {
		z, err := zstd.NewWriter(w, o...)
		if err != nil {
			t.Fatal(err)
		}
		return z
	})
}

func compressedForms(t testing.TB) map[string][]byte {
	bz, err := hex.DecodeString("425a6839314159265359087b7dd7000004c1800010024194802000310c0821a3d4c885473238a8f177245385090087b7dd70")
	if err != nil {
		t.Fatal(err)
	}
	gz := packed(t, func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) })
	zs := zstdWith(t)
	lz := packed(t, func(w io.Writer) io.WriteCloser { return lz4.NewWriter(w) })
	zl := packed(t, func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) })
	skip := append([]byte{0x51, 0x2a, 0x4d, 0x18, 5, 0, 0, 0}, "hello"...)
	return map[string][]byte{
		"gzip": gz, "gzip, padded with zeros": append(slices.Clone(gz), make([]byte, 1000)...),
		"zstd": zs, "zstd behind a skippable frame": append(slices.Clone(skip), zs...), "zstd behind two": slices.Concat(skip, skip, zs),
		"zstd with a window of 128 MiB": zstdWith(t, zstd.WithWindowSize(128<<20), zstd.WithSingleSegment(false)),
		"lz4":                           lz, "lz4 behind a skippable frame": append(slices.Clone(skip), lz...),
		"bzip2": bz, "bzip2 twice": append(slices.Clone(bz), bz...),
		"zlib":                        zl,
		"zlib, quick":                 packed(t, func(w io.Writer) io.WriteCloser { z, _ := zlib.NewWriterLevel(w, 2); return z }),
		"zlib twice":                  append(slices.Clone(zl), zl...),
		"zlib with a window of 4 KiB": slices.Concat([]byte{0x48, 0x89}, zl[2:]),
		"snappy":                      packed(t, func(w io.Writer) io.WriteCloser { return snappy.NewBufferedWriter(w) }),
		"s2":                          packed(t, func(w io.Writer) io.WriteCloser { return s2.NewWriter(w) }),
	}
}

func readAllLines(body []byte) (string, error) {
	head := body[:min(len(body), HeadBytes)]
	r, err := Text.Open(Source{Name: "f", R: bytes.NewReader(body), Size: int64(len(body)), Length: int64(len(body))})
	if err != nil {
		return "", err
	}
	defer r.Close()
	if Text.Splittable(head) {
		return "", errors.New("it could be split")
	}
	var out strings.Builder
	for r.Next() {
		out.Write(r.Record().Value)
		out.WriteByte('\n')
	}
	return out.String(), r.Err()
}

// TestEveryCompressionIsReadOrRefused: a file whose first bytes say how it is compressed is decoded, or refused by name; it is
// never read as text.
func TestEveryCompressionIsReadOrRefused(t *testing.T) {
	for name, body := range compressedForms(t) {
		want := threeLines
		if strings.HasSuffix(name, " twice") {
			want += threeLines
		}
		if got, err := readAllLines(body); err != nil || got != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, begin := range map[string]string{
		"xz": "\xfd7zXZ\x00\x00\x04", "zip": "PK\x03\x04\x14\x00", "7z": "7z\xbc\xaf\x27\x1c\x00", "rar": "Rar!\x1a\x07\x01\x00", "compress": "\x1f\x9d\x90abc",
		"lzma": "]\x00\x00\x80\x00\xff\xff\xff\xff\xff\xff\xff\xff",
		"lzop": "\x89LZO\x00\r\n", "lzip": "LZIP\x01\x0c",
	} {
		_, err := readAllLines([]byte(begin + strings.Repeat("\x00", 30)))
		if !errors.Is(err, ErrCompression) || !strings.Contains(err.Error(), "with "+name+",") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestTextsThatLookCompressed: these begin as compressed files do, but not quite.
func TestTextsThatLookCompressed(t *testing.T) {
	for _, text := range []string{
		"x^2 + y^2 = z^2\n", "BZh9 is what bzip2 begins with\n", "PK is a letter pair\n", "7z is a program\n", "LZIP, a format\n", "Rar!\n", "Q*M\n", "x\n", "", "H\xc7ello, in Latin-1 letters\n", "HK is a place\n", "8\x1d\n",
	} {
		head := []byte(text)[:min(len(text), HeadBytes)]
		if kind, name := sniff(head); kind != plain {
			t.Errorf("%q is taken for %s", text, name)
		}
	}
}

// TestCutCompression: a file that ends early is an error, in every form, unless the cut is between two whole parts of it.
func TestCutCompression(t *testing.T) {
	whole := []string{"", threeLines, threeLines + threeLines}
	for name, body := range compressedForms(t) {
		for i := HeadBytes; i < len(body); i++ {
			if got, err := readAllLines(body[:i]); err == nil && !slices.Contains(whole, got) {
				t.Errorf("%s cut at %d of %d: %q", name, i, len(body), got)
			}
		}
		if got, err := readAllLines(body[:len(body)-1]); err == nil && !strings.Contains(name, "padded") {
			t.Errorf("%s without its last byte: %q", name, got)
		}
	}
}

// FuzzCompressed: no file makes the reader panic or take more memory than its limits.
func FuzzCompressed(f *testing.F) {
	for _, body := range compressedForms(f) {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r, err := Text.Open(Source{Name: "f", R: bytes.NewReader(body), Size: int64(len(body)), Length: int64(len(body)), MaxRecord: 1 << 20})
		if err != nil {
			return
		}
		defer r.Close()
		for n := 0; n < 10_000 && r.Next(); n++ {
			if len(r.Record().Value) > 1<<20 {
				t.Error("a record over the limit")
			}
		}
	})
}

// TestWindows: a file is read with the window or the blocks that its first frame wants, in one segment or not, behind skippable frames or not, as far as
// records may be as large; else it is refused by name. Its room is held once, so that a long line in it waits for nobody.
func TestWindows(t *testing.T) {
	line := strings.Repeat("a line of text ", 100)
	text := []byte(strings.Repeat(line+"\n", 8<<10)) // 12 MB
	pack := func(segment bool, window int, text []byte) []byte {
		t.Helper()
		z, err := zstd.NewWriter(nil, zstd.WithWindowSize(window), zstd.WithSingleSegment(segment))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		return z.EncodeAll(text, nil)
	}
	block := func(size lz4.BlockSize, text []byte) []byte {
		return packedWith(t, text, func(w io.Writer) io.WriteCloser {
			z := lz4.NewWriter(w)
			option := lz4.BlockSizeOption(size)
			if size == 0 {
				option = lz4.LegacyOption(true)
			}
			if err := z.Apply(option); err != nil {
				t.Fatal(err)
			}
			return z
		})
	}
	skip := append([]byte{0x51, 0x2a, 0x4d, 0x18, 5, 0, 0, 0}, "hello"...)
	long := bytes.Repeat([]byte("x"), 14<<20)
	small := pack(true, 1<<20, []byte("one\n"))
	for name, c := range map[string]struct {
		body []byte
		max  int
		want string // of the error
		held int64  // what was asked for
	}{
		"one segment":           {pack(true, 64<<20, text), 32 << 20, "", 32 << 20},
		"a window":              {pack(false, 16<<20, text), 32 << 20, "", 32 << 20},
		"usual":                 {pack(false, 2<<20, text), 32 << 20, "", 0},
		"behind skippable":      {slices.Concat(skip, skip, pack(false, 16<<20, text)), 32 << 20, "", 32 << 20},
		"too large":             {pack(true, 64<<20, text), 8 << 20, "f: its zstd window of 11 MiB is more than a record may have here (8 MiB): --memory 47MiB would do", 0},
		"too large, no segment": {pack(false, 16<<20, text), 8 << 20, "f: its zstd window of 16 MiB", 0},
		"larger later":          {slices.Concat(small, pack(false, 16<<20, text)), 32 << 20, "a larger window than its first one", 0},
		"a long line":           {pack(false, 16<<20, long), 32 << 20, "", 32 << 20},
		"a line too long":       {pack(false, 16<<20, long), 20 << 20, "zstd window of 16 MiB takes room from its records: with --memory 144MiB they may have 20 MiB", 20 << 20},
		"what would do":         {pack(false, 16<<20, long), 36 << 20, "", 36 << 20}, // a quarter of it
		"lz4":                   {block(lz4.Block1Mb, text), 32 << 20, "", 0},
		"lz4, large blocks":     {block(lz4.Block4Mb, text), 32 << 20, "", 32 << 20},
		"lz4 behind skippable":  {slices.Concat(skip, block(lz4.Block4Mb, text)), 32 << 20, "", 32 << 20},
		"lz4, legacy":           {block(0, text), 32 << 20, "", 32 << 20},
		"lz4, too large":        {block(0, text), 8 << 20, "f: its room for blocks of lz4 of 16 MiB is more than a record may have here (8 MiB): --memory 64MiB would do", 0},
		"lz4, a line too long":  {block(lz4.Block4Mb, long), 20 << 20, "room for blocks of lz4 of 8 MiB takes room from its records: with --memory 112MiB they may have 20 MiB", 20 << 20},
	} {
		var held, free int64
		r, err := Text.Open(Source{
			Name: "f", R: bytes.NewReader(c.body), Size: int64(len(c.body)), Length: int64(len(c.body)), MaxRecord: c.max,
			Giant: func(n int64) (func(), error) { held += n; return func() { free += n }, nil },
		})
		n := 0
		if err == nil {
			for r.Next() {
				n += len(r.Record().Value) + 1
			}
			err = errors.Join(r.Err(), r.Close())
		}
		if c.want == "" && (err != nil || n < len(text)) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %d bytes, %v; want the error %q", name, n, err, c.want)
		}
		if held != c.held || free != held {
			t.Errorf("%s: %d bytes were held and %d given back, want %d", name, held, free, c.held)
		}
	}
}
