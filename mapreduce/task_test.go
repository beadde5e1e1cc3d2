package mapreduce

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTask is what user code sees of its attempt.
func TestTask(t *testing.T) {
	var set CounterSet
	task := NewTask(t.Context(), TaskInfo{Job: "j", Kind: ReduceTask, Index: 3, Attempt: 1, Params: map[string]string{"a": "b"}, SideDir: "side"}, &set)
	if got := task.String(); got != "reduce 3 try 2" || Kind(MapTask).String() != "map" {
		t.Errorf("it is called %q", got)
	}
	if task.Context() != t.Context() || task.Param("a") != "b" || task.Param("c") != "" {
		t.Errorf("its parameters are %q and %q", task.Param("a"), task.Param("c"))
	}
	for name, want := range map[string]string{"words": "words", "/a/b/words": "words", "../x": "x"} {
		if got := task.SideFile(name); got != filepath.Join("side", want) {
			t.Errorf("the side file %s is %s", name, got)
		}
	}
	if task.Status() != "" || task.Input() != "" {
		t.Errorf("at first its status is %q, its input %q", task.Status(), task.Input())
	}
	task.SetInput("in")
	if !task.AskAlive() || task.AskAlive() {
		t.Error("it is alive when it begins, and not for having been asked")
	}
	for what, sign := range map[string]func(){"it says so": task.Alive, "it has a status": func() { task.SetStatus("half") }} {
		if sign(); !task.AskAlive() || task.AskAlive() {
			t.Errorf("%s, once", what)
		}
	}
	if task.Status() != "half" || task.Input() != "in" {
		t.Errorf("its status is %q, its input %q", task.Status(), task.Input())
	}
	task.Counter("g", "n").Add(2)
	c, err := task.TryCounter("g", "n")
	if err != nil || c.Value() != 2 {
		t.Errorf("%d, %v", c.Value(), err)
	}
	if _, err := task.TryCounter("g", "n\n"); err == nil {
		t.Error("a name that cannot be printed is taken")
	}
	task.Counter("g", "untouched")
	if got := fmt.Sprint(set.Snapshot()); got != "map[g:map[n:2]]" {
		t.Errorf("counted is %s", got)
	}
}

// TestCountsApart: what is cloned has its own numbers, and counters are told in the order of their names.
func TestCountsApart(t *testing.T) {
	c := Counts{"b": {"y": 2, "x": 1}, "a": {"z": 3}}
	d := c.Clone()
	d.Add(Counts{"b": {"x": 10}, "c": {"w": 4}})
	var told []string
	for _, counts := range []Counts{c, d} {
		var list []string
		counts.Each(func(group, name string, n int64) { list = append(list, fmt.Sprint(group, name, n)) })
		told = append(told, strings.Join(list, " "))
	}
	if told[0] != "az3 bx1 by2" || told[1] != "az3 bx11 by2 cw4" {
		t.Errorf("%q", told)
	}
	if c.Get("b", "y") != 2 || c.Get("b", "z") != 0 || c.Get("q", "y") != 0 {
		t.Errorf("%v", c)
	}
}

// TestFindersAgree: however a range is looked for, it is that of a search from the left, with keys that share their beginnings, and whichever the order.
func TestFindersAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	key := func() []byte {
		b := bytes.Repeat([]byte("a"), rng.IntN(10))
		for range rng.IntN(3) {
			b = append(b, "ab\x00"[rng.IntN(3)])
		}
		return b
	}
	for _, order := range []Compare{nil, CompareOf(Descending)} {
		for range 300 {
			var samples [][]byte
			for range rng.IntN(12) {
				samples = append(samples, key())
			}
			n := 1 + rng.IntN(8)
			p := RangePartition{Bounds: BoundsOf(samples, n, order), Compare: order}
			if len(p.Bounds) > n-1 || !slices.IsSortedFunc(p.Bounds, order.Of) || len(slices.CompactFunc(slices.Clone(p.Bounds), bytes.Equal)) != len(p.Bounds) {
				t.Fatalf("%d parts of %q have the bounds %q", n, samples, p.Bounds)
			}
			find := p.Finder()
			for range 20 {
				k, want := key(), 0
				for want < len(p.Bounds) && order.Of(p.Bounds[want], k) <= 0 {
					want++
				}
				if a, b := p.Partition(k, nil, n), find(k); a != want || b != want {
					t.Fatalf("%q between %q is in %d and %d, want %d", k, p.Bounds, a, b, want)
				}
			}
		}
	}
}

// TestPartitionersAreEven: keys are spread over all reduces, those of one part of a key together, and an answer out of range is refused.
func TestPartitionersAreEven(t *testing.T) {
	const n = 7
	by := HashBy(func(k string) string { return strings.SplitN(k, "-", 2)[0] })
	var hash, part [n]int
	for i := range 7000 {
		key := fmt.Appendf(nil, "%d-%d", i, i*i)
		a, b := HashPartition{}.Partition(key, nil, n), by.Partition(key, nil, n)
		if err := CheckPartition(a, n); err != nil || CheckPartition(b, n) != nil {
			t.Fatal(err)
		}
		if other := by.Partition(fmt.Appendf(nil, "%d-other", i), nil, n); other != b {
			t.Fatalf("%s is in %d, others of its part in %d", key, b, other)
		}
		hash[a]++
		part[b]++
	}
	for i := range n {
		if hash[i] < 800 || part[i] < 800 {
			t.Errorf("reduce %d has %d and %d of 7000 keys", i, hash[i], part[i])
		}
	}
	for p, ok := range map[int]bool{-1: false, 0: true, n - 1: true, n: false} {
		if err := CheckPartition(p, n); (err == nil) != ok || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("returned %d, must be in 0..6", p)) {
			t.Errorf("%d of %d: %v", p, n, err)
		}
	}
}

// TestShapes: each place of a cluster gets a few splits of a power of two, or one of a job that folds, neither tiny nor huge, and most places a reduce; what the job
// says counts.
func TestShapes(t *testing.T) {
	const mib = 1 << 20
	for _, x := range []struct {
		s       Shape
		bytes   int64
		places  int
		split   int64
		reduces int
	}{
		{Shape{}, 0, 10, mib, 1},
		{Shape{}, 4*mib - 1, 10, mib, 1},
		{Shape{}, 4 * mib, 10, mib, 9},
		{Shape{}, 4 * mib, 1, mib, 1},
		{Shape{}, 4 * mib, 0, mib, 1},
		{Shape{}, 30 * 16 * mib, 10, 16 * mib, 9},
		{Shape{}, 30*16*mib - 1, 10, 8 * mib, 9},
		{Shape{}, 1 << 40, 10, 64 * mib, 9},
		{Shape{Folds: true}, 10 * 16 * mib, 10, 16 * mib, 9},
		{Shape{Folds: true}, 1 << 40, 10, 256 * mib, 9},
		{Shape{SplitBytes: 7, Reducers: 3}, 1 << 40, 10, 7, 3},
		{Shape{SplitBytes: 7, Reducers: 3}, 1, 10, 7, 3},
		{Shape{MapOnly: true}, 1 << 40, 10, 64 * mib, 0},
		{Shape{MapOnly: true, Reducers: 3}, 1, 10, mib, 0},
	} {
		if split, reduces := x.s.Layout(x.bytes, x.places); split != x.split || reduces != x.reduces {
			t.Errorf("%+v: splits of %d, %d reduces", x, split, reduces)
		}
	}
	if got, want := (&Job{SplitBytes: 5, Reducers: 6, MapOnly: true, Fold: Sum}).Shape(), (Shape{5, 6, true, true}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for path, want := range map[string]int64{CountInput(0): 0, CountInput(77): 77, CountInput(77) + "x": -1, CountInput(-1): -1, "77": -1} {
		if n, ok := CountOf(path); ok != (want >= 0) || ok && n != want {
			t.Errorf("%s: %d, %v", path, n, ok)
		}
	}
}
