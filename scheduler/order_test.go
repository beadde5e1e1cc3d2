package scheduler

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// An Order is a sorted slice, however it got there.
func TestOrderAgainstSort(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		jobs := make([]*Job, 30)
		for i, slot := range r.Perm(len(jobs)) {
			jobs[i] = &Job{slot: int32(slot), seq: int64(i)}
		}
		o := NewOrder[*Job](CompareFloatKeys)
		ref := make(map[*Job]FloatKey)
		for range 400 {
			j := jobs[r.IntN(len(jobs))]
			if r.IntN(4) == 0 {
				o.Remove(j)
				delete(ref, j)
			} else {
				k := FloatKey{First: float64(r.IntN(5)), Second: int64(r.IntN(3))}
				o.Set(j, k)
				ref[j] = k
			}
			compareOrder(t, o, ref)
		}
	})
}

func compareOrder(t *rapid.T, o *Order[*Job, FloatKey], ref map[*Job]FloatKey) {
	t.Helper()
	want := make([]*Job, 0, len(ref))
	for j := range ref {
		want = append(want, j)
	}
	slices.SortFunc(want, func(a, b *Job) int {
		if c := CompareFloatKeys(ref[a], ref[b]); c != 0 {
			return c
		}
		return cmp.Compare(a.seq, b.seq)
	})
	if o.Len() != len(want) {
		t.Fatalf("%d items, want %d", o.Len(), len(want))
	}
	for i, j := range want {
		if o.At(i) != j || o.KeyAt(i) != ref[j] || !o.Has(j) {
			t.Fatalf("item %d is job %d, want job %d", i, o.At(i).seq, j.seq)
		}
	}
}

func TestOrderRemoveOfAStranger(t *testing.T) {
	o := NewOrder[*Job](CompareFloatKeys)
	o.Remove(&Job{slot: 7})
	o.Set(&Job{slot: 1}, FloatKey{})
	o.Remove(&Job{slot: 0})
	if o.Len() != 1 {
		t.Errorf("%d items, want 1", o.Len())
	}
}

func BenchmarkOrderSet1000(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	o := NewOrder[*Job](CompareFloatKeys)
	jobs := make([]*Job, 1000)
	for i := range jobs {
		jobs[i] = &Job{slot: int32(i), seq: int64(i)}
		o.Set(jobs[i], FloatKey{First: r.Float64()})
	}
	b.ReportAllocs()
	for b.Loop() {
		o.Set(jobs[r.IntN(len(jobs))], FloatKey{First: r.Float64()})
	}
}
