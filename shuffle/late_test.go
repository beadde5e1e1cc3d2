package shuffle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// giants are records that no two of fit in the pool of these tests: keys that differ at once, far behind what is in
// memory of them, in length only, or not at all; and values.
func giants(size int) []pair {
	body := strings.Repeat("0123456789abcdef", size/16)
	return []pair{
		{body + "b", "1"},
		{body + "a", "2"},
		{body, "3"},
		{body + "a", "4"},
		{"z" + body, "5"},
		{"a", body},
		{"a", body + "x"},
		{"m", "small"},
		{body[:size/2], body[:size/2]},
		{"", body},
	}
}

// TestLateRecords: however large the records, a merge has the memory of one of them only, and the order is right.
func TestLateRecords(t *testing.T) {
	const size = 200 << 10
	reverse := func(a, b []byte) int { return bytes.Compare(b, a) }
	for name, compare := range map[string]func(a, b []byte) int{"bytes": nil, "own order": reverse} {
		for _, codec := range []Compression{None, S2} {
			t.Run(fmt.Sprintf("%s/%v", name, codec), func(t *testing.T) {
				dir, pool := t.TempDir(), NewPool(256<<10)
				cfg := Config{Dir: dir, Pool: pool, Partitions: 1, Compression: codec, Compare: compare}
				var outs []*Output
				for i, g := range giants(size) {
					cfg.Name = fmt.Sprintf("map-%d", i)
					outs = append(outs, collect(t, cfg, []pair{{"k", fmt.Sprint(i)}, g}))
				}
				var all []pair
				for i, g := range giants(size) {
					all = append(all, pair{"k", fmt.Sprint(i)}, g)
				}
				order := compare
				if order == nil {
					order = bytes.Compare
				}
				want := reference(all, 1, func(_, _ []byte) int { return 0 }, order)[0]
				wantPairs(t, "merged", mergeOutputs(t, cfg, outs, 0), want)
				if compare == nil {
					wantOneAtATime(t, cfg, outs, size)
				}
				for _, o := range outs {
					if err := o.Release(); err != nil {
						t.Fatal(err)
					}
				}
				wantIdle(t, pool)
				wantEmptyDir(t, dir)
			})
		}
	}
}

func sourcesOf(outs []*Output) (all []Source) {
	for _, o := range outs {
		all = append(all, o.Source(0))
	}
	return all
}

// wantOneAtATime looks at the books while a merge goes on.
func wantOneAtATime(t *testing.T, cfg Config, outs []*Output, size int64) {
	t.Helper()
	m := cfg.merge()
	m.Name = "reduce"
	run, err := Merge(t.Context(), m, sourcesOf(outs))
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	before := cfg.Pool.InUse()
	for run.Next() {
		if n := cfg.Pool.InUse() - before; n > size+size/2 {
			t.Fatalf("%d bytes for records of %d", n, size)
		}
	}
	if err := run.Err(); err != nil {
		t.Fatal(err)
	}
}

// TestLateRecordDamaged: a byte of a large record that changes, before the merge or while the record waits for its
// turn, is found, and the record is never given out.
func TestLateRecordDamaged(t *testing.T) {
	const size = 200 << 10
	for _, later := range []bool{false, true} {
		for _, at := range []int64{40, 100, 5 << 10, 100 << 10, 199 << 10} {
			t.Run(fmt.Sprintf("later=%v/%d", later, at), func(t *testing.T) {
				pool := NewPool(256 << 10)
				cfg := Config{Dir: t.TempDir(), Name: "map", Pool: pool, Partitions: 1}
				big := collect(t, cfg, []pair{{"z", strings.Repeat("x", size)}})
				cfg.Name = "other"
				small := collect(t, cfg, []pair{{"a", "1"}})
				if !later {
					flip(t, big.Path(), at)
				}
				m := cfg.merge()
				m.Name = "reduce"
				run, err := Merge(t.Context(), m, sourcesOf([]*Output{small, big}))
				if err != nil {
					t.Fatal(err)
				}
				defer run.Close()
				for run.Next() {
					if string(run.Key()) != "a" {
						t.Fatalf("a damaged record %.20q was given out", run.Key())
					}
					flip(t, big.Path(), at) // for the first time, if it is later
				}
				if err := run.Err(); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "map") {
					t.Errorf("the error is %v", err)
				}
			})
		}
	}
}

// flip turns a byte of a file.
func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x10
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// TestGiantsTakeTurns: as many as half the budget has room for are in memory at once, and one however large; who gives up waiting leaves
// nothing behind.
func TestGiantsTakeTurns(t *testing.T) {
	p := NewPool(1 << 20)
	first, err := p.Giant(t.Context(), 150<<10)
	if err != nil {
		t.Fatal(err)
	}
	second, err := p.Giant(t.Context(), 190<<10)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("not wanted any more")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if _, err := p.Giant(ctx, 100<<10); !errors.Is(err, why) {
		t.Errorf("beside two that fill the room: %v", err)
	}
	third := make(chan error, 1)
	go func() {
		done, err := p.Giant(t.Context(), 1<<30) // has the room alone
		if err == nil {
			done()
		}
		third <- err
	}()
	first()
	select {
	case err := <-third:
		t.Fatalf("a giant came while another was there: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	second()
	select {
	case err := <-third:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("nobody came although there was room")
	}
}

// TestTurnsOfMerges: a merge keeps its turn from giant to giant, also beyond one small record, and passes it on when two have come or it ends; several merges
// with giants of any size end, one after the other and beside each other.
func TestTurnsOfMerges(t *testing.T) {
	const size = 100 << 10
	pool := NewPool(400 << 10) // a third: one giant
	cfg := Config{Dir: t.TempDir(), Pool: pool, Partitions: 1}
	giant := strings.Repeat("x", size)
	open := func(name string, pairs ...pair) Run {
		cfg.Name = name
		out := collect(t, cfg, pairs)
		t.Cleanup(func() { _ = out.Release() })
		m := cfg.merge()
		m.Name = "reduce " + name
		run, err := Merge(t.Context(), m, sourcesOf([]*Output{out}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = run.Close() })
		return run
	}
	first := open("a", pair{"a", giant}, pair{"b", giant}, pair{"c", "1"}, pair{"d", giant}, pair{"e", "1"}, pair{"f", "1"}, pair{"g", giant})
	second := open("b", pair{"a", giant})
	has := make(chan bool)
	for range 4 { // a to d
		first.Next()
	}
	go func() { has <- second.Next() }()
	for range 2 { // d and e
		select {
		case <-has:
			t.Fatal("two merges have giants at once")
		case <-time.After(20 * time.Millisecond):
		}
		first.Next()
	}
	if !<-has { // f has come
		t.Error(second.Err())
	}
	if second.Next() || !first.Next() || first.Next() {
		t.Errorf("%v, %v", first.Err(), second.Err())
	}
}

// TestManyMergesWithGiants: merges whose records are giants or not, at random, all end, with folds and without.
func TestManyMergesWithGiants(t *testing.T) {
	pool := NewPool(400 << 10)
	var wg sync.WaitGroup
	for i := range 6 {
		rng := rand.New(rand.NewPCG(7, uint64(i)))
		cfg := Config{Dir: t.TempDir(), Name: fmt.Sprint("m", i), Pool: pool, Partitions: 1}
		var pairs []pair
		for k := range 60 {
			pairs = append(pairs, pair{fmt.Sprintf("%03d%s", k, strings.Repeat("k", rng.IntN(2)*rng.IntN(130<<10))), "1"})
		}
		outs := []*Output{collect(t, cfg, pairs[:30])}
		cfg.Name += "b"
		outs = append(outs, collect(t, cfg, pairs[30:]))
		wg.Go(func() {
			m := cfg.merge()
			m.Name = "reduce"
			run, err := Merge(t.Context(), m, sourcesOf(outs))
			if err != nil {
				t.Error(err)
				return
			}
			n := 0
			for run.Next() {
				n++
			}
			if err := errors.Join(run.Err(), run.Close()); err != nil || n != len(pairs) {
				t.Errorf("merge %d: %d of %d records: %v", i, n, len(pairs), err)
			}
		})
	}
	wg.Wait()
}
