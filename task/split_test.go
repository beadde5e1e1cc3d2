package task

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

func lines() mapreduce.Map {
	return mapreduce.Lines(func(line []byte, emit func([]byte, int64)) { emit(line, 1) })
}

func plan(t testing.TB, job *mapreduce.Job, splitBytes int64, reducers int) (*Plan, error) {
	env := &Env{Scratch: t.TempDir()}
	return MakePlan(context.Background(), env, job, func(*mapreduce.Job, int64) (int64, int) { return splitBytes, reducers })
}

// TestSplitsCoverTheInput: whatever the sizes, every byte is in exactly one split,
// and the splits are in the order of the files.
func TestSplitsCoverTheInput(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 5), rapid.IntRange(0, 3000)), 0, 20).Draw(rt, "sizes")
		target := rapid.Int64Range(1, 2000).Draw(rt, "target")
		if err := os.RemoveAll(dir + "/in"); err != nil {
			rt.Fatal(err)
		}
		if err := os.Mkdir(dir+"/in", 0o755); err != nil {
			rt.Fatal(err)
		}
		var total int64
		for i, size := range sizes {
			total += int64(size)
			if err := os.WriteFile(fmt.Sprintf("%s/in/%03d", dir, i), make([]byte, size), 0o644); err != nil {
				rt.Fatal(err)
			}
		}
		p, err := plan(t, &mapreduce.Job{Input: []string{dir + "/in"}, Map: lines(), MapOnly: true}, target, 0)
		if err != nil {
			rt.Fatal(err)
		}
		checkCover(rt, p, sizes, target)
		if p.Bytes != total {
			rt.Fatalf("%d bytes planned, want %d", p.Bytes, total)
		}
	})
}

// checkCover follows the ranges: each begins where the one before ended.
func checkCover(rt *rapid.T, p *Plan, sizes []int, target int64) {
	file, at := 0, int64(0)
	for _, s := range p.Splits {
		if s.Bytes() > target && len(s.Ranges) > 1 {
			rt.Fatalf("several files make a split of %d bytes, over %d", s.Bytes(), target)
		}
		for _, r := range s.Ranges {
			for file < len(sizes) && at == int64(sizes[file]) {
				file, at = file+1, 0
			}
			if want := fmt.Sprintf("%03d", file); filepath.Base(r.Path) != want || r.Offset != at || r.Length < 1 {
				rt.Fatalf("range %+v, want %s from %d", r, want, at)
			}
			at += r.Length
		}
	}
	for ; file < len(sizes); file, at = file+1, 0 {
		if at != int64(sizes[file]) {
			rt.Fatalf("file %d is read up to %d of %d bytes", file, at, sizes[file])
		}
	}
}

func TestPlanRefusesAbsurdSplits(t *testing.T) {
	_, err := plan(t, &mapreduce.Job{Input: []string{"count:/1000000000000"}, Map: lines(), MapOnly: true}, 8, 0)
	if err == nil || !strings.Contains(err.Error(), "map tasks") || !strings.Contains(err.Error(), "raise the split size") {
		t.Errorf("ended with %v", err)
	}
}

// TestCompressedFilesAreNotSplit whatever their size.
func TestCompressedFilesAreNotSplit(t *testing.T) {
	dir := t.TempDir()
	for name, magic := range map[string]string{"gz": "\x1f\x8b\x08", "zst": "\x28\xb5\x2f\xfd"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(magic+strings.Repeat("x", 1000)), 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := plan(t, &mapreduce.Job{Input: []string{file}, Map: lines(), MapOnly: true}, 10, 0)
		if err != nil || len(p.Splits) != 1 {
			t.Errorf("%s: %d splits, %v", name, len(p.Splits), err)
		}
	}
}

// located is a store that knows where its bytes are: block i of 40 bytes at hosts[i].
type located struct {
	storage.Count
	hosts [][]string
}

func (l located) Blocks(string) iter.Seq2[storage.Block, error] {
	return func(yield func(storage.Block, error) bool) {
		for i, hosts := range l.hosts {
			if !yield(storage.Block{Offset: int64(40 * i), Length: 40, Hosts: hosts}, nil) {
				return
			}
		}
	}
}

// TestSplitsEndWhereBlocksDo: a map reads the blocks of the hosts that it is offered to, which it did not when splits were of even size and took
// the place of their first byte. A fold, of which few large maps cost less, gets several blocks of one host.
func TestSplitsEndWhereBlocksDo(t *testing.T) {
	a, b, c := []string{"a"}, []string{"b"}, []string{"c"}
	for _, x := range []struct {
		hosts        [][]string
		size, target int64
		fold         bool
		want         string
	}{
		{[][]string{a, b, c}, 90, 40, false, "0+40 a; 40+40 b; 80+10 c"},
		{[][]string{a, b, c}, 90, 20, true, "0+20 a; 20+20 a; 40+20 b; 60+20 b; 80+10 c"},
		{[][]string{a, b, c}, 120, 30, false, "0+30 a; 30+30 b; 60+30 b; 90+30 c"},
		{[][]string{a, b, {"b", "c"}, a}, 150, 80, false, "0+80 a b; 80+70 b c"},
		{[][]string{a, b, b, a, a}, 200, 80, true, "0+40 120+40 a; 40+80 b; 160+40 a"},
		{[][]string{{"a", "b"}, {"b", "c"}, {"a", "c"}, nil}, 160, 80, true, "0+40 80+40 a b c; 40+40 120+40 b c"},
		{[][]string{nil, nil, nil}, 120, 80, true, "0+80; 80+40"},
		{[][]string{a, b}, 200, 60, false, "0+60 a; 60+60 b; 120+60; 180+20"},
		{slices.Repeat([][]string{a, b}, 65), 5200, 5200, true, "0+5200 a b"},
	} {
		s := splitter{store: storage.Mux{Stores: map[string]storage.FS{"far": located{hosts: x.hosts}}}, target: x.target, gather: x.fold}
		if err := s.cut(storage.Entry{Path: "far:/in", Size: x.size}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, split := range s.out {
			var words []string
			for _, r := range split.Ranges {
				words = append(words, fmt.Sprintf("%d+%d", r.Offset, r.Length))
			}
			got = append(got, strings.Join(append(words, split.Hosts...), " "))
		}
		if strings.Join(got, "; ") != x.want {
			t.Errorf("%d bytes at %v in splits of %d: %s, want %s", x.size, x.hosts, x.target, strings.Join(got, "; "), x.want)
		}
	}
}

// TestGatheredSplitsAreTheFile: whatever holds the blocks of a file, each byte is in one split, and no split is larger than wanted.
func TestGatheredSplitsAreTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size, target := rapid.Int64Range(1, 1000).Draw(t, "size"), rapid.Int64Range(1, 300).Draw(t, "target")
		hosts := rapid.SliceOfN(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 3, rapid.ID), 25, 25).Draw(t, "hosts")
		s := splitter{store: storage.Mux{Stores: map[string]storage.FS{"far": located{hosts: hosts}}}, target: target, gather: rapid.Bool().Draw(t, "gather")}
		if err := s.cut(storage.Entry{Path: "far:/in", Size: size}); err != nil {
			t.Fatal(err)
		}
		seen := make([]int, size)
		for _, split := range s.out {
			if split.Bytes() > target {
				t.Errorf("a split of %d bytes", split.Bytes())
			}
			for _, r := range split.Ranges {
				for i := range r.Length {
					seen[r.Offset+i]++
				}
			}
		}
		if i := slices.IndexFunc(seen, func(n int) bool { return n != 1 }); i >= 0 {
			t.Errorf("byte %d is in %d splits", i, seen[i])
		}
	})
}

// TestSamplesOfLongKeys: keys that differ behind their first kibibyte are told apart by a job with an order of its own, or
// all of its records would go to one reduce; in the order of bytes the beginning is enough, and all that is kept.
func TestSamplesOfLongKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in")
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "%s%03d\n", strings.Repeat("x", sampleKey+500), i)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	job := &mapreduce.Job{Input: []string{file}, Map: lines(), Fold: mapreduce.Sum, Partition: mapreduce.TotalOrder{}, Sort: mapreduce.Compare(bytes.Compare)}
	p, err := plan(t, job, 1<<30, 4)
	if err != nil {
		t.Fatal(err)
	}
	if distinct := slices.CompactFunc(slices.Clone(p.Bounds), bytes.Equal); len(distinct) != 3 {
		t.Errorf("%d different bounds of 4 parts", len(distinct))
	}
	job.Sort = nil
	if p, err = plan(t, job, 1<<30, 4); err != nil {
		t.Fatal(err)
	}
	for _, b := range p.Bounds {
		if len(b) > sampleKey {
			t.Errorf("a bound of %d bytes", len(b))
		}
	}
}

// TestSmallFilesShareSplits: small files share a split up to its size, and up to a number of them, in their order; empty ones are left out.
func TestSmallFilesShareSplits(t *testing.T) {
	for name, c := range map[string]struct {
		files  int
		size   int64
		target int64
		want   []int // files of each split
	}{
		"none":          {0, 1, 10, nil},
		"empty":         {5, 0, 10, nil},
		"as many as go": {10, 1, 10, []int{10}},
		"one more":      {11, 1, 10, []int{10, 1}},
		"the most":      {maxFilesPerSplit, 1, 1 << 40, []int{maxFilesPerSplit}},
		"one too many":  {maxFilesPerSplit + 1, 1, 1 << 40, []int{maxFilesPerSplit, 1}},
	} {
		s := splitter{input: 2, target: c.target}
		for i := range c.files {
			if err := s.add(storage.Entry{Path: fmt.Sprint(i), Size: c.size}); err != nil {
				t.Fatal(err)
			}
		}
		s.flush()
		var got []int
		next := 0
		for _, split := range s.out {
			got = append(got, len(split.Ranges))
			for _, r := range split.Ranges {
				if r.Path != fmt.Sprint(next) || r.Length != c.size || split.Input != 2 {
					t.Fatalf("%s: %+v in %d, want file %d", name, r, split.Input, next)
				}
				next++
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestSamplesOfCompressedFiles are lines of the text, and not of what it was packed to.
func TestSamplesOfCompressedFiles(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	for i := range 20_000 {
		fmt.Fprintf(z, "k%05d\n", i*7919%20_000)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "in.gz")
	if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	m := mapreduce.Lines(func(line []byte, emit func([]byte, []byte)) {
		if !bytes.HasPrefix(line, []byte("k")) {
			panic("no line of the text")
		}
		emit(line, nil)
	})
	p, err := plan(t, &mapreduce.Job{Input: []string{file}, Map: m, Partition: mapreduce.TotalOrder{}}, 1<<30, 4)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range p.Bounds {
		if n, err := strconv.Atoi(string(b[1:])); err != nil || n < 5000*(i+1)-500 || n > 5000*(i+1)+500 {
			t.Errorf("bound %d of 4 even parts is %q", i, b)
		}
	}
}

// TestEmptyFilesAsWhole: where each file is a record, so is an empty one.
func TestEmptyFilesAsWhole(t *testing.T) {
	m := mapreduce.Files(func(_ string, content []byte, emit func(string, string)) { emit("has", strconv.Itoa(len(content))) })
	s := newStage(t, mapreduce.Job{Map: m, MapOnly: true}, 1<<20, 0, "", "abc", "")
	parts, err := s.run(t.Context())
	if got := strings.Join(parts, ""); err != nil || got != "has\t0\nhas\t3\nhas\t0\n" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestPartitionUnderAFold is of the key alone: the value grows as it is folded, and a key belongs to one reduce.
func TestPartitionUnderAFold(t *testing.T) {
	byValue := mapreduce.PartitionFunc(func(_, value []byte, n int) int { return min(len(value), 1) % n })
	s := newStage(t, mapreduce.Job{Map: mapOf(words{}), Fold: mapreduce.Sum, Partition: byValue}, 1<<20, 3, "a b a\n")
	parts, err := s.run(t.Context())
	if err != nil || len(parts) != 3 || parts[0] != "a\t2\nb\t1\n" {
		t.Errorf("%q, %v", parts, err)
	}
}
