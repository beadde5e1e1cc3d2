package mapreduce_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/pages"
	"github.com/millrace/millrace/mapreduce"
)

// packed is text as a gzip file has it.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGiantLines: room is asked for once before a giant line, and given back when the line has gone. The lines are right, and
// between two giants there is no giant buffer.
func TestGiantLines(t *testing.T) {
	giant := strings.Repeat("0123456789", 850_000)
	want := []string{"a", giant + "1", "b", giant + "2", giant + "3", "c"}
	text := strings.Join(want, "\n")
	for name, data := range map[string][]byte{"plain": []byte(text), "gzip": packed(t, text)} {
		t.Run(name, func(t *testing.T) {
			asked, held := 0, 0
			r, err := mapreduce.Text.Open(mapreduce.Source{
				Name: "in", R: bytes.NewReader(data), Size: int64(len(data)), Length: int64(len(data)), MaxRecord: 20 << 20,
				Giant: func(n int64) (func(), error) {
					if asked++; n < int64(len(giant)) || held > 0 {
						t.Errorf("asked for %d bytes while %d are held", n, held)
					}
					held++
					return func() { held-- }, nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := 0; r.Next(); i++ {
				got := string(r.Record().Value)
				if got != want[i] {
					t.Fatalf("line %d has %d bytes, want %d", i, len(got), len(want[i]))
				}
				if len(got) > 8<<20 && held != 1 {
					t.Errorf("line %d is in memory without leave", i)
				}
			}
			if err := errors.Join(r.Err(), r.Close()); err != nil {
				t.Fatal(err)
			}
			if held != 0 || asked < 1 {
				t.Errorf("asked %d times, and %d are not given back", asked, held)
			}
		})
	}
}

// TestGiantRefused: who may not have the room says why.
func TestGiantRefused(t *testing.T) {
	no := errors.New("not now")
	data := []byte("a\n" + strings.Repeat("x", 9<<20))
	r, err := mapreduce.Text.Open(mapreduce.Source{
		Name: "in", R: bytes.NewReader(data), Size: int64(len(data)), Length: int64(len(data)),
		Giant: func(int64) (func(), error) { return nil, no },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	lines := 0
	for r.Next() {
		lines++
	}
	if lines != 1 || !errors.Is(r.Err(), no) {
		t.Errorf("%d lines, %v", lines, r.Err())
	}
	whole, err := mapreduce.WholeFile.Open(mapreduce.Source{
		Name: "in", R: bytes.NewReader(data), Size: int64(len(data)), Length: int64(len(data)),
		Giant: func(int64) (func(), error) { return nil, no },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if whole.Next() || !errors.Is(whole.Err(), no) {
		t.Errorf("a file: %v", whole.Err())
	}
}

// TestGiantFiles: a large file that is one record has leave to be in memory, until it has gone; small ones need none.
func TestGiantFiles(t *testing.T) {
	for size, want := range map[int]int{1000: 0, pages.Large - 1: 0, pages.Large: 1, 2 << 20: 1} {
		asked, held := 0, 0
		r, err := mapreduce.WholeFile.Open(mapreduce.Source{
			Name: "in", R: bytes.NewReader(make([]byte, size)), Size: int64(size), Length: int64(size),
			Giant: func(n int64) (func(), error) {
				if asked++; n != int64(size) {
					t.Errorf("asked for %d bytes of %d", n, size)
				}
				held++
				return func() { held-- }, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() || len(r.Record().Value) != size || asked != want || held != want {
			t.Errorf("%d bytes: asked %d times, %d held, %v", size, asked, held, r.Err())
		}
		if r.Next() || held != 0 {
			t.Errorf("%d bytes: %d held behind the record", size, held)
		}
		if err := r.Close(); err != nil || held != 0 {
			t.Errorf("%d bytes: %d held at the end, %v", size, held, err)
		}
	}
}

// TestGiantPairs: the same of pairs in a record file, each in a block of its own.
func TestGiantPairs(t *testing.T) {
	var file bytes.Buffer
	w, err := mapreduce.RecordOutput.Open(&file, mapreduce.Bytes, mapreduce.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sizes := []int{10, 3 << 20, 2 << 20, 20, 4 << 20}
	for _, n := range sizes {
		if err := w.Write([]byte("k"), make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	asked, held := 0, 0
	r, err := mapreduce.RecordFile.Open(mapreduce.Source{
		Name: "in", R: bytes.NewReader(file.Bytes()), Size: int64(file.Len()), Length: int64(file.Len()),
		Giant: func(n int64) (func(), error) {
			if asked++; n < 2<<20 || held > 0 {
				t.Errorf("asked for %d bytes while %d are held", n, held)
			}
			held++
			return func() { held-- }, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range sizes {
		if !r.Next() || len(r.Record().Value) != n || n > 1<<20 && held != 1 || n < 1<<20 && held != 0 {
			t.Fatalf("pair of %d bytes: %d are held, %v", n, held, r.Err())
		}
	}
	if err := r.Close(); err != nil || held != 0 || asked != 3 {
		t.Errorf("asked %d times, %d held at the end, %v", asked, held, err)
	}
}
