package storagetest

import (
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/storage"
)

// Pattern returns n bytes, different from those at any other offset.
func Pattern(n int) string {
	var b strings.Builder
	for x := uint32(1); b.Len() < n; x = x*1664525 + 1013904223 {
		b.WriteByte(byte(x >> 24))
	}
	return b.String()
}

// CheckReads reads ranges of a file, drawn at random and around its edges, and compares them with its content. edges are
// offsets worth a look.
func CheckReads(t *testing.T, f storage.File, content string, edges ...int) {
	t.Helper()
	buf := make([]byte, len(content)+10)
	check := func(off, n int) error {
		got, err := f.ReadAt(buf[:n], int64(off))
		want := content[min(off, len(content)):min(off+n, len(content))]
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case (err != nil) != (got < n) && got != n: // at the very end a reader may say so at once
			return errors.New("the end is not told, or where there is none")
		case string(buf[:got]) != want:
			return errors.New("other bytes")
		}
		return nil
	}
	for _, edge := range append(edges, 0, len(content)) {
		for off := max(0, edge-2); off <= edge+2; off++ {
			for _, n := range []int{1, 2, 5, len(content)} {
				if err := check(off, n); err != nil {
					t.Fatalf("%d bytes at %d of %d: %v", n, off, len(content), err)
				}
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		off := rapid.IntRange(0, len(content)+5).Draw(rt, "offset")
		n := rapid.IntRange(0, len(content)).Draw(rt, "length")
		if err := check(off, n); err != nil {
			rt.Fatal(err)
		}
	})
}

func readsAnyRange(t *testing.T, s *scene) {
	content := Pattern(70_000)
	s.put("f", content)
	s.put("empty", "")
	for name, content := range map[string]string{"f": content, "empty": ""} {
		f, err := s.Open(s.at(name))
		s.must(err)
		if f.Size() != int64(len(content)) {
			t.Errorf("%s has %d bytes", name, f.Size())
		}
		CheckReads(t, f, content)
		if _, err := f.ReadAt(make([]byte, 1), -1); err == nil {
			t.Error("a negative offset is read")
		}
		s.must(f.Close())
	}
}

// readsAtOnce: several goroutines read one file, each from its beginning to its end.
func readsAtOnce(t *testing.T, s *scene) {
	content := Pattern(100_000)
	s.put("f", content)
	f, err := s.Open(s.at("f"))
	s.must(err)
	defer f.Close()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size())); err != nil || string(got) != content {
				t.Errorf("read %d bytes, %v", len(got), err)
			}
		})
	}
	all.Wait()
}
