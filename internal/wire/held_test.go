package wire

import (
	"encoding/binary"
	"slices"
	"testing"
)

func heldIDs(held []HeldOutputs) (out []AttemptID, err error) {
	for i := range held {
		if err := held[i].Each(func(id AttemptID) { out = append(out, id) }); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func TestHeldIsPacked(t *testing.T) {
	var want []AttemptID
	for _, ref := range []StageRef{{"job-1", 0}, {"job-1", 1}, {"job-2", 0}} {
		for i := range int32(1000) {
			want = append(want, AttemptID{Job: ref.Job, Stage: ref.Stage, Kind: MapTask, Index: i * 3, Try: 7<<32 + uint64((i*7919)%1000)})
		}
		last := want[len(want)-1]
		last.Try++ // two attempts of one map
		want = append(want, last)
	}
	want = append(want, AttemptID{Job: "job-2", Kind: MapTask, Index: 1<<31 - 1, Try: 1}) // the last there can be
	mixed := slices.Clone(want)
	slices.Reverse(mixed)
	got, err := heldIDs(PackHeld(mixed))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %d attempts come back of %d", err, len(got), len(want))
	}
	far := HeldOutputs{StageRef: StageRef{Job: "job-1"}, Packed: binary.AppendVarint(binary.AppendUvarint(nil, 1<<31), 0)}
	if got, err := heldIDs([]HeldOutputs{far}); err == nil {
		t.Errorf("a map beyond the last there can be is taken for %v", got)
	}
	if got, err := heldIDs(PackHeld(nil)); err != nil || len(got) != 0 {
		t.Errorf("nothing becomes %v, %v", got, err)
	}
}

func TestHeldPlaces(t *testing.T) {
	at := func(job JobID, stage int, index int32) *HeldPlace { return &HeldPlace{StageRef{job, stage}, index} }
	order := []*HeldPlace{at("job-1", 0, 3), at("job-1", 0, 4), at("job-1", 1, 0), at("job-2", 0, 0)}
	for i, p := range order {
		for j, q := range order {
			if got := p.Between(q, nil); got != (i > j) {
				t.Errorf("%v behind %v: %v", *p, *q, got)
			}
			if got := p.Between(nil, q); got != (i <= j) {
				t.Errorf("%v up to %v: %v", *p, *q, got)
			}
		}
		if !p.Between(nil, nil) {
			t.Errorf("%v lies outside of all", *p)
		}
	}
}

func FuzzHeld(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add(PackHeld([]AttemptID{{Index: 1, Try: 1 << 40}, {Index: 1<<31 - 1, Try: 3}})[0].Packed)
	f.Fuzz(func(t *testing.T, b []byte) {
		last := int32(0)
		h := HeldOutputs{Packed: b}
		err := h.Each(func(id AttemptID) {
			if id.Index < last {
				t.Fatalf("index %d after %d", id.Index, last)
			}
			last = id.Index
		})
		if err != nil && KindOf(err) != Invalid {
			t.Fatalf("error without a kind: %v", err)
		}
	})
}
