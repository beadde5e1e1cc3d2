//go:build unix

package shuffle

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/zeebo/xxh3"
)

const (
	teraKey    = 10
	teraRecord = 100
)

// teraRecords makes n records like TeraGen's: random keys and values with patterns.
func teraRecords(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n*teraRecord)
	for i := range n {
		r := b[i*teraRecord:][:teraRecord]
		binary.BigEndian.PutUint64(r, rng.Uint64())
		binary.BigEndian.PutUint16(r[8:], uint16(rng.Uint32()))
		copy(r[12:], fmt.Sprintf("%032X", i))
		for j := 48; j < 96; j++ {
			r[j] = "0123456789ABCDEF"[(i+j/4)&15]
		}
	}
	return b
}

func addTera(b testing.TB, c *Collector, data []byte) {
	for ; len(data) > 0; data = data[teraRecord:] {
		if err := c.Add(data[:teraKey], data[teraKey:teraRecord]); err != nil {
			b.Fatal(err)
		}
	}
}

func collectTera(b *testing.B, cfg Config, data []byte) *Output {
	c, err := NewCollector(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Discard()
	addTera(b, c, data)
	out, err := c.Finish()
	if err != nil {
		b.Fatal(err)
	}
	return out
}

// BenchmarkCollect adds and sorts a million records; the output is kept in memory,
// written once, or spilled several times and merged.
func BenchmarkCollect(b *testing.B) {
	data := teraRecords(1_000_000)
	for _, bc := range []struct {
		name   string
		budget int64
		keep   bool
		codec  Compression
	}{
		{"1M-keep", 1 << 30, true, None},
		{"1M-file", 1 << 30, false, None},
		{"1M-file-s2", 1 << 30, false, S2},
		{"1M-4spills", 40 << 20, false, None},
	} {
		b.Run(bc.name, func(b *testing.B) {
			pool := NewPool(bc.budget)
			cfg := Config{
				Dir: b.TempDir(), Name: "bench", Pool: pool, Partitions: 4, KeepInMemory: bc.keep, Compression: bc.codec,
				Partition: func(k, _ []byte) int { return int(k[0] >> 6) },
			}
			b.SetBytes(int64(len(data)))
			cpu := startCPU()
			for b.Loop() {
				if err := collectTera(b, cfg, data).Release(); err != nil {
					b.Fatal(err)
				}
			}
			cpu.report(b, 1e6)
		})
	}
}

// BenchmarkSort sorts the index of a million records and nothing else.
func BenchmarkSort(b *testing.B) {
	gens := map[string]func(i int, rng *rand.Rand) []byte{
		"1M-random": func(_ int, rng *rand.Rand) []byte {
			return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint64(nil, rng.Uint64()), 7)
		},
		"1M-ascii": func(_ int, rng *rand.Rand) []byte { return fmt.Appendf(nil, "%010d", rng.IntN(1e9)) },
		"1M-urls": func(_ int, rng *rand.Rand) []byte {
			return fmt.Appendf(nil, "http://www.example.com/%08d", rng.IntN(1e7))
		},
		"1M-one-key": func(int, *rand.Rand) []byte { return []byte("the one and only key") },
		"1M-words":   func(_ int, rng *rand.Rand) []byte { return fmt.Appendf(nil, "w%d", int(rng.ExpFloat64()*300)) },
		"1M-sorted":  func(i int, _ *rand.Rand) []byte { return fmt.Appendf(nil, "%010d", i) },
	}
	gens["1M-own-order"] = gens["1M-random"]
	orders := map[string]func(a, b []byte) int{"1M-own-order": func(x, y []byte) int { return bytes.Compare(y, x) }}
	for _, name := range []string{"1M-random", "1M-ascii", "1M-urls", "1M-one-key", "1M-words", "1M-sorted", "1M-own-order"} {
		b.Run(name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(3, 4))
			pool := NewPool(1 << 30)
			data, idx, scratch := newArena(pool), newIndex(pool), newIndex(pool)
			for i := range 1_000_000 {
				key := gens[name](i, rng)
				if len(data.free) < 64 {
					data.grow(64)
				}
				if idx.full() {
					idx.grow()
					scratch.grow()
				}
				idx.add(entry{prefix: prefixOf(key), loc: data.put(key, nil), tag: makeTag(0, len(key))})
			}
			orig := newIndex(pool)
			for range idx.blocks {
				orig.grow()
			}
			copyIndex(&orig, &idx)
			cpu := startCPU()
			for b.Loop() {
				copyIndex(&idx, &orig)
				if _, err := sortIndex(b.Context(), &idx, &scratch, 1, &data, orders[name]); err != nil {
					b.Fatal(err)
				}
			}
			cpu.report(b, 1e6)
		})
	}
}

func copyIndex(dst, src *index) {
	for i := range src.chunks {
		copy(dst.chunks[i], src.chunks[i])
	}
	dst.n = src.n
}

// BenchmarkMerge merges a million records out of 16 or 64 runs in files or in memory.
func BenchmarkMerge(b *testing.B) {
	data := teraRecords(1_000_000)
	for _, runs := range []int{1, 8, 16, 64} {
		for _, keep := range []bool{false, true} {
			b.Run(fmt.Sprintf("1M-%druns-keep=%v", runs, keep), func(b *testing.B) {
				pool := NewPool(1 << 30)
				cfg := Config{Dir: b.TempDir(), Pool: pool, Partitions: 1, KeepInMemory: keep}
				var sources []Source
				per := len(data) / teraRecord / runs * teraRecord
				for i := range runs {
					cfg.Name = fmt.Sprintf("map-%d", i)
					out := collectTera(b, cfg, data[i*per:(i+1)*per])
					defer out.Release() //nolint:errcheck // end of the benchmark
					sources = append(sources, out.Source(0))
				}
				m := cfg.merge()
				m.Name = "reduce"
				buf := make([]byte, 0, 256<<10)
				b.SetBytes(int64(per * runs))
				cpu := startCPU()
				for b.Loop() {
					mergeBench(b, m, sources, buf)
				}
				cpu.report(b, 1e6)
			})
		}
	}
}

func mergeBench(b *testing.B, m MergeConfig, sources []Source, buf []byte) {
	run, err := Merge(b.Context(), m, sources)
	if err != nil {
		b.Fatal(err)
	}
	for run.Next() {
		if len(buf)+teraRecord > cap(buf) {
			buf = buf[:0]
		}
		buf = append(append(buf, run.Key()...), run.Value()...)
	}
	if err := run.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkMergeWords merges 16 runs in which a hundred keys repeat.
func BenchmarkMergeWords(b *testing.B) {
	pool := NewPool(1 << 30)
	cfg := Config{Dir: b.TempDir(), Pool: pool, Partitions: 1}
	var sources []Source
	for i := range 16 {
		cfg.Name = fmt.Sprintf("map-%d", i)
		var in []pair
		for j := range 62_500 {
			in = append(in, pair{fmt.Sprintf("word-%03d", j%100), "1"})
		}
		out := collect(b, cfg, in)
		defer out.Release() //nolint:errcheck // end of the benchmark
		sources = append(sources, out.Source(0))
	}
	m := cfg.merge()
	m.Name = "reduce"
	buf := make([]byte, 0, 256<<10)
	cpu := startCPU()
	for b.Loop() {
		mergeBench(b, m, sources, buf)
	}
	cpu.report(b, 1e6)
}

// zipfWords draws words as in natural text, with a vocabulary of 100,000.
func zipfWords(n int) [][]byte {
	rng := rand.New(rand.NewPCG(5, 6))
	zipf := rand.NewZipf(rng, 1.1, 4, 99_999)
	vocabulary := make([][]byte, 100_000)
	for i := range vocabulary {
		h := xxh3.HashString(fmt.Sprint(i))
		w := fmt.Appendf(nil, "%x", h)
		vocabulary[i] = w[:3+h%10]
		if i < 1000 {
			vocabulary[i] = w[:2+h%5]
		}
	}
	words := make([][]byte, n)
	for i := range words {
		words[i] = vocabulary[zipf.Uint64()]
	}
	return words
}

// BenchmarkFold counts ten million words, by the collector and by a bare open-addressing table.
func BenchmarkFold(b *testing.B) {
	words := zipfWords(10_000_000)
	b.Run("10M-collector", func(b *testing.B) {
		dir := b.TempDir()
		cpu := startCPU()
		for b.Loop() {
			c, err := NewCollector(context.Background(), Config{
				Dir: dir, Name: "fold", Pool: NewPool(256 << 20), Partitions: 4, Fold: &Fold{Op: SumInt}, KeepInMemory: true,
				Partition: func(k, _ []byte) int { return int(xxh3.Hash(k) & 3) },
			})
			if err != nil {
				b.Fatal(err)
			}
			for _, w := range words {
				if err := c.AddInt(w, 1); err != nil {
					b.Fatal(err)
				}
			}
			out, err := c.Finish()
			if err != nil {
				b.Fatal(err)
			}
			if err := out.Release(); err != nil {
				b.Fatal(err)
			}
		}
		cpu.report(b, 1e7)
	})
	b.Run("10M-bare", func(b *testing.B) {
		cpu := startCPU()
		for b.Loop() {
			bareCount(words)
		}
		cpu.report(b, 1e7)
	})
}

// BenchmarkFoldDistinct folds two million keys of which none repeats, the worst case of
// a hash table, in little memory.
func BenchmarkFoldDistinct(b *testing.B) {
	for _, fold := range []bool{true, false} {
		b.Run(fmt.Sprintf("2M-64MiB-fold=%v", fold), func(b *testing.B) {
			cfg := Config{Dir: b.TempDir(), Name: "fold", Pool: NewPool(64 << 20), Partitions: 4}
			cfg.Partition = func(k, _ []byte) int { return int(xxh3.Hash(k) & 3) }
			if fold {
				cfg.Fold = &Fold{Op: SumInt}
			}
			cpu := startCPU()
			for b.Loop() {
				c, err := NewCollector(b.Context(), cfg)
				if err != nil {
					b.Fatal(err)
				}
				key := make([]byte, 0, 16)
				for i := range uint64(2_000_000) {
					key = binary.AppendUvarint(key[:0], i*0x9e3779b97f4a7c15)
					if err := c.AddInt(key, 1); err != nil {
						b.Fatal(err)
					}
				}
				out, err := c.Finish()
				if err != nil {
					b.Fatal(err)
				}
				if err := out.Release(); err != nil {
					b.Fatal(err)
				}
			}
			cpu.report(b, 2e6)
		})
	}
}

// bareCount is the least a word count can do: one table, no bounds, no budget.
func bareCount(words [][]byte) int {
	type cell struct {
		lo, hi uint64
		n      int64
	}
	const size = 1 << 18
	table := make([]cell, size)
	distinct := 0
	for _, w := range words {
		lo, hi := shortKey(w)
		i := shortHash(lo, hi) >> (64 - 18)
		for table[i].hi != 0 && (table[i].lo != lo || table[i].hi != hi) {
			i = (i + 1) & (size - 1)
		}
		if table[i].hi == 0 {
			table[i].lo, table[i].hi = lo, hi
			distinct++
		}
		table[i].n++
	}
	return distinct
}

// BenchmarkBareWrite writes the bytes of a million records to a file: the floor of any spill.
func BenchmarkBareWrite(b *testing.B) {
	data := teraRecords(1_000_000)
	path := b.TempDir() + "/file"
	b.SetBytes(int64(len(data)))
	cpu := startCPU()
	for b.Loop() {
		f, err := os.Create(path)
		if err != nil {
			b.Fatal(err)
		}
		for rest := data; len(rest) > 0; {
			n, err := f.Write(rest[:min(256<<10, len(rest))])
			if err != nil {
				b.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		if err := os.Remove(path); err != nil {
			b.Fatal(err)
		}
	}
	cpu.report(b, 1e6)
}

// cpuClock measures the processor time of the process, which other load on the
// machine disturbs less than it does the wall clock.
type cpuClock time.Duration

func startCPU() cpuClock {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return cpuClock(time.Duration(u.Utime.Nano() + u.Stime.Nano()))
}

// report gives the processor time per item, of items in each iteration.
func (c cpuClock) report(b *testing.B, items float64) {
	used := float64(startCPU() - c)
	b.ReportMetric(used/float64(b.N)/items, "cpu-ns/item")
}
