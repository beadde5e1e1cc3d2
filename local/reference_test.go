package local_test

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// text makes n words out of a vocabulary, some of them frequent.
func text(n, vocabulary int, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d", int(rng.ExpFloat64()*float64(vocabulary)/5))
		if i%9 == 8 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// TestWordCountAgreesWithAMap runs the three spellings of the word count under every
// kind of set-up. Combined values once lost the first of each group.
func TestWordCountAgreesWithAMap(t *testing.T) {
	in := text(25_000, 3000, 1)
	want := counted(in)
	b := newBed(t)
	path := b.write("in", in)
	for _, how := range []string{"fold", "combine", "reduce"} {
		for _, memory := range []int64{1 << 20, 64 << 20} {
			for _, compression := range []string{"none", "s2", "zstd"} {
				for _, workers := range []int{1, 4} {
					name := fmt.Sprintf("%s/%dMiB/%s/%d", how, memory>>20, compression, workers)
					t.Run(name, func(t *testing.T) {
						job := wordCount(path, how)
						job.Compression, job.SplitBytes, job.Reducers = compression, 40_000, 1+2*workers
						got := b.ok(local.Config{Sort: memory, Workers: workers}, job)
						if diff := gocmp.Diff(want, sortedLines(got)); diff != "" {
							t.Errorf("want, got:\n%.2000s", diff)
						}
					})
				}
			}
		}
	}
}

// TestAnyWordCount is the same with everything drawn at random.
func TestAnyWordCount(t *testing.T) {
	b := newBed(t)
	rapid.Check(t, func(rt *rapid.T) {
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b", "aa", "\x00", "\xff\xfe", "ä", "a-much-longer-word-than-the-others", "\n", "\r\n", " ", "\t", "",
		}), 0, 300).Draw(rt, "words"), " ")
		job := wordCount(b.write("in", in), rapid.SampledFrom([]string{"fold", "combine", "reduce"}).Draw(rt, "how"))
		job.Reducers = rapid.IntRange(0, 9).Draw(rt, "reducers")
		job.SplitBytes = rapid.Int64Range(0, 64).Draw(rt, "split")
		job.Compression = rapid.SampledFrom([]string{"", "none", "s2", "zstd"}).Draw(rt, "compression")
		workers := rapid.IntRange(1, 4).Draw(rt, "workers")
		got := b.ok(local.Config{Sort: 1 << 20, Workers: workers}, job)
		if diff := gocmp.Diff(counted(in), sortedLines(got)); diff != "" {
			rt.Fatalf("want, got:\n%s", diff)
		}
	})
}

// TestTotalOrder wants the parts to be sorted as a whole, under any order.
func TestTotalOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var keys []int64
	var in strings.Builder
	for range 20_000 {
		k := rng.Int64N(1<<40) - 1<<39
		keys = append(keys, k)
		fmt.Fprintln(&in, k)
	}
	b := newBed(t)
	job := mapreduce.Job{
		Name: "order", Input: []string{b.write("in", in.String())},
		Map: mapreduce.Lines(func(line []byte, emit func(int64, mapreduce.None)) {
			var n int64
			if _, err := fmt.Sscan(string(line), &n); err != nil {
				panic(err)
			}
			emit(n, mapreduce.None{})
		}),
		Partition: mapreduce.TotalOrder{Samples: 500}, Reducers: 7, SplitBytes: 30_000,
	}
	for name, order := range map[string]func(a, b int64) int{
		"rising":   nil,
		"falling":  func(a, b int64) int { return cmp.Compare(b, a) },
		"by digit": func(a, b int64) int { return cmp.Or(cmp.Compare(a&15, b&15), cmp.Compare(a, b)) },
	} {
		t.Run(name, func(t *testing.T) {
			compare := order
			job.Sort = nil
			if order == nil {
				compare = cmp.Compare[int64]
			} else {
				job.Sort = mapreduce.By(order)
			}
			slices.SortFunc(keys, compare)
			got := b.ok(local.Config{Sort: 1 << 20}, job)
			if want := fmt.Sprintln(keys)[1:]; strings.Join(strings.Fields(want), " ") != strings.Join(strings.Fields(got), " ")+"]" {
				t.Error("the parts are not in order")
			}
		})
	}
}

// TestSecondarySort groups by a part of the key and wants the values of a group in
// the order of the other part.
func TestSecondarySort(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var in strings.Builder
	want := map[string][]int{}
	for range 5000 {
		user, at := fmt.Sprintf("u%d", rng.IntN(50)), rng.IntN(1000)
		fmt.Fprintf(&in, "%s\t%d\n", user, at)
		want[user] = append(want[user], at)
	}
	user := func(key []byte) []byte { u, _, _ := bytes.Cut(key, []byte{0}); return u }
	b := newBed(t)
	got := b.ok(local.Config{Sort: 1 << 20}, mapreduce.Job{
		Name: "visits", Input: []string{b.write("in", in.String())}, Reducers: 3, SplitBytes: 9000,
		Map: mapreduce.KeyValues(func(key, value []byte, emit func([]byte, []byte)) {
			emit(fmt.Appendf(nil, "%s\x00%08s", key, value), value)
		}),
		Partition: mapreduce.PartitionFunc(func(key, _ []byte, n int) int {
			return mapreduce.HashPartition{}.Partition(user(key), nil, n)
		}),
		Group: mapreduce.Compare(func(a, b []byte) int { return bytes.Compare(user(a), user(b)) }),
		Reduce: mapreduce.Pairs(func(pairs iter.Seq2[[]byte, []byte], emit func([]byte, []byte)) {
			var who []byte
			var all [][]byte
			for key, at := range pairs {
				who, all = bytes.Clone(user(key)), append(all, bytes.Clone(at))
			}
			emit(who, bytes.Join(all, []byte{' '}))
		}),
	})
	var lines []string
	for u, at := range want {
		slices.Sort(at)
		lines = append(lines, u+"\t"+strings.Trim(fmt.Sprint(at), "[]"))
	}
	slices.Sort(lines)
	if diff := gocmp.Diff(lines, sortedLines(got)); diff != "" {
		t.Errorf("want, got:\n%.2000s", diff)
	}
}

// TestMapOnlyKeepsTheOrderOfFiles: the parts of a map-only job, one after the other,
// are in the order of the input, small files and large ones mixed.
func TestMapOnlyKeepsTheOrderOfFiles(t *testing.T) {
	b := newBed(t)
	var want strings.Builder
	for i, size := range []int{3, 400, 1, 2, 900, 0, 5, 300, 1} {
		var content strings.Builder
		for line := range size {
			fmt.Fprintf(&content, "file %d line %d\n", i, line)
		}
		b.write(fmt.Sprintf("in/%d", i), content.String())
		want.WriteString(content.String())
	}
	job := mapreduce.Job{
		Name: "copy", Input: []string{b.dir + "/in"}, MapOnly: true,
		Map: mapreduce.Lines(func(line []byte, emit func([]byte, mapreduce.None)) { emit(line, mapreduce.None{}) }),
	}
	for _, split := range []int64{100, 1000, 4096, 1 << 20} {
		job.SplitBytes = split
		if got := b.ok(local.Config{Workers: 4}, job); got != want.String() {
			t.Errorf("splits of %d: the lines come out in another order", split)
		}
	}
}
