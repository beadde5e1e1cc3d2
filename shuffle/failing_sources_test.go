package shuffle

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// endingRun is a source of so many records that ends with an error.
type endingRun struct {
	endlessRun
	left   int
	err    error
	closed int
}

func (r *endingRun) Open() (Run, error) { return r, nil }
func (r *endingRun) Next() bool         { r.left--; return r.left >= 0 }
func (r *endingRun) Value() []byte      { return encodeInt(nil, 1) }
func (r *endingRun) Err() error         { return r.err }
func (r *endingRun) Close() error       { r.closed++; return nil }

// notOpen is a source that cannot be opened.
type notOpen struct{ error }

func (s notOpen) Open() (Run, error) { return nil, s.error }

// TestSourcesThatFail: whatever a merge does with its records, it ends with the error of a source, at its first record or behind, and closes all of them.
func TestSourcesThatFail(t *testing.T) {
	bad := errors.New("bad source")
	for what, cfg := range map[string]MergeConfig{"plain": {}, "fold": {Fold: &Fold{Op: SumInt}}, "fold of bytes": {Fold: &Fold{Bytes: func(a, _ []byte) []byte { return a }}}} {
		for _, factor := range []int{2, 10} {
			for _, left := range []int{0, 1, 5} {
				cfg.Dir, cfg.Name, cfg.Pool, cfg.MergeFactor = t.TempDir(), "reduce", NewPool(1<<20), factor
				runs := []*endingRun{{left: 3}, {left: left, err: bad}, {left: 3}}
				run, err := Merge(t.Context(), cfg, []Source{runs[0], runs[1], runs[2]})
				if err == nil {
					for run.Next() {
					}
					err = errors.Join(run.Err(), run.Close())
				}
				if !errors.Is(err, bad) {
					t.Errorf("%s of %d at once: after %d records: %v", what, factor, left, err)
				}
				for i, r := range runs[:2] {
					if r.closed == 0 {
						t.Errorf("%s: source %d is open still", what, i)
					}
				}
				wantIdle(t, cfg.Pool)
				wantEmptyDir(t, cfg.Dir)
			}
		}
		first := &endingRun{left: 3}
		if _, err := Merge(t.Context(), cfg, []Source{first, notOpen{bad}}); !errors.Is(err, bad) || first.closed != 1 {
			t.Errorf("%s: a source that does not open: %v, and the one before was closed %d times", what, err, first.closed)
		}
		wantIdle(t, cfg.Pool)
	}
}

// TestFoldOfNoIntegers: a merge that is to add up finds a value that is no integer, first of its key or later, and says which.
func TestFoldOfNoIntegers(t *testing.T) {
	one := string(encodeInt(nil, 1))
	for _, values := range [][]string{{"odd"}, {"odd", one}, {one, "odd"}, {one, one, "odd", one}} {
		dir, pool := t.TempDir(), NewPool(1<<20)
		in := []pair{{"a", one}}
		for _, v := range values {
			in = append(in, pair{"b", v})
		}
		out := collect(t, Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1}, append(in, pair{"c", one}))
		run, err := Merge(t.Context(), MergeConfig{Dir: dir, Name: "reduce", Pool: pool, Fold: &Fold{Op: SumInt}}, []Source{out.Source(0)})
		if err != nil {
			t.Fatal(err)
		}
		if !run.Next() || string(run.Key()) != "a" || run.Next() || run.Next() {
			t.Errorf("%q: it gives %q", values, run.Key())
		}
		if err := run.Err(); err == nil || !strings.Contains(err.Error(), `"b" has 3 bytes`) {
			t.Errorf("%q: %v", values, err)
		}
		if err := errors.Join(run.Close(), out.Release()); err != nil {
			t.Error(err)
		}
		wantIdle(t, pool)
	}
}

// TestFoldHasEachKeyOnce: a collector that folds gives a key once, without help of a merge, however its table has grown; of short keys and long ones.
func TestFoldHasEachKeyOnce(t *testing.T) {
	const keys, times = 6000, 3
	for what, fold := range map[string]*Fold{"sum": {Op: SumInt}, "bytes": {Bytes: func(acc, v []byte) []byte { return append(acc, v...) }}} {
		for _, form := range []string{"%d", "%014d", "%015d", "%016d", "a long key that is not in its slot %d"} {
			dir, pool := t.TempDir(), NewPool(8<<20)
			c, err := NewCollector(t.Context(), Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Fold: fold})
			if err != nil {
				t.Fatal(err)
			}
			for i := range times * keys {
				j := i / 2 // twice at once, or it would give up folding, and once more when the table has grown
				if i >= 2*keys {
					j = i - 2*keys
				}
				if err := c.Add(fmt.Appendf(nil, form, j*7919%keys), encodeInt(nil, int64(i))); err != nil {
					t.Fatal(err)
				}
			}
			out, err := c.Finish()
			if err != nil {
				t.Fatal(err)
			}
			run, err := out.Open(0)
			if err != nil {
				t.Fatal(err)
			}
			got := drain(t, run)
			if n := c.Stats(); n.Spills != 0 || len(got) != keys {
				t.Errorf("%s, %q: %d keys of %d, %+v", what, form, len(got), keys, n)
			}
			for i, p := range got {
				if v, _ := decodeInt([]byte(p.value)); i > 0 && p.key <= got[i-1].key || fold.Op == SumInt && (len(p.value) != 8 || v%5 != (1+2*keys)%5) || fold.Op != SumInt && len(p.value) != 8*times {
					t.Fatalf("%s, %q: record %d is %v", what, form, i, p)
				}
			}
			if err := out.Release(); err != nil {
				t.Error(err)
			}
			wantIdle(t, pool)
		}
	}
}

// TestCombinersThatStopEarly leave values unread, which are of no other group, and see the key of each that they read.
func TestCombinersThatStopEarly(t *testing.T) {
	dir, pool := t.TempDir(), NewPool(1<<20)
	var in []pair
	for i := range 300 {
		in = append(in, pair{fmt.Sprintf("%03d", i/7), fmt.Sprint(i)})
	}
	cfg := Config{Dir: dir, Name: "map", Pool: pool, Partitions: 1, Combine: func(key []byte, values Run, emit func(k, v []byte) error) error {
		n, err := 0, emit(key, values.Value())
		for values.Next() && n < int(key[2]-'0') {
			if n++; !bytes.Equal(values.Key(), key) {
				return fmt.Errorf("key %q in the group of %q", values.Key(), key)
			}
		}
		return errors.Join(err, values.Err(), values.Close())
	}}
	out := collect(t, cfg, in)
	run, err := out.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	got := drain(t, run)
	if len(got) != 43 {
		t.Errorf("%d groups, want 43", len(got))
	}
	for i, p := range got {
		if want := (pair{fmt.Sprintf("%03d", i), fmt.Sprint(7 * i)}); p != want {
			t.Fatalf("group %d is %v, want %v", i, p, want)
		}
	}
	if err := out.Release(); err != nil {
		t.Error(err)
	}
	wantIdle(t, pool)
}

// TestFooterThatCannotBeRead names the file, leaves none open, and tells a bad disk from a damaged file.
func TestFooterThatCannotBeRead(t *testing.T) {
	path, content, _ := smallSegment(t, None)
	bad := errors.New("bad disk")
	for _, kinds := range []string{"o", "r"} {
		for at := int64(1); at <= 3; at++ {
			fs := &faultFS{kinds: kinds, at: at, err: bad}
			_, err := OpenOutputIn(fs, path)
			if failed := fs.hits.Load() > 0; failed != (err != nil) || failed && (!errors.Is(err, bad) || !errors.Is(err, ErrScratch) || errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path)) || kinds == "r" && !failed || fs.open.Load() != 0 {
				t.Errorf("%s %d: %v, %d files are open", kinds, at, err, fs.open.Load())
			}
		}
	}
	if err := os.WriteFile(path, content[:segmentHeader+segmentTrailer-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenOutput(path); !errors.Is(err, ErrCorrupt) || errors.Is(err, ErrScratch) {
		t.Errorf("a file too short for any: %v", err)
	}
}
