package wire

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/millrace/millrace/internal/codec"
)

// HeldOutputs is the map output of one stage on a worker's disk. A worker can have hundreds of thousands, so they
// are packed: sorted by index, with the differences in index and try from one to the next as varints.
type HeldOutputs struct {
	StageRef
	Packed []byte `json:"packed"`
}

// A HeldPlace is a place in the order of all map output: by job, stage and index.
type HeldPlace struct {
	StageRef
	Index int32 `json:"index"`
}

// PlaceOf returns the place of a map's output.
func PlaceOf(id AttemptID) HeldPlace {
	return HeldPlace{StageRef{id.Job, id.Stage}, id.Index}
}

// Compare returns a negative number if p comes before q.
func (p HeldPlace) Compare(q HeldPlace) int {
	if c := cmp.Compare(p.Job, q.Job); c != 0 {
		return c
	}
	if c := cmp.Compare(p.Stage, q.Stage); c != 0 {
		return c
	}
	return cmp.Compare(p.Index, q.Index)
}

// Between reports whether p is behind from and not behind to. Nil means the beginning or the end.
func (p HeldPlace) Between(from, to *HeldPlace) bool {
	return (from == nil || p.Compare(*from) > 0) && (to == nil || p.Compare(*to) <= 0)
}

// SortHeld sorts attempts of maps by place.
func SortHeld(ids []AttemptID) {
	slices.SortFunc(ids, func(a, b AttemptID) int {
		if c := PlaceOf(a).Compare(PlaceOf(b)); c != 0 {
			return c
		}
		return cmp.Compare(a.Try, b.Try)
	})
}

// PackHeld sorts attempts of maps and packs them.
func PackHeld(ids []AttemptID) (out []HeldOutputs) {
	SortHeld(ids)
	var index int32
	var try uint64
	for i, id := range ids {
		ref := StageRef{id.Job, id.Stage}
		if i == 0 || out[len(out)-1].StageRef != ref {
			out, index, try = append(out, HeldOutputs{StageRef: ref}), 0, 0
		}
		h := &out[len(out)-1]
		h.Packed = binary.AppendUvarint(h.Packed, uint64(id.Index-index))
		h.Packed = binary.AppendVarint(h.Packed, int64(id.Try-try))
		index, try = id.Index, id.Try
	}
	return out
}

// Each calls fn for every attempt.
func (h *HeldOutputs) Each(fn func(id AttemptID)) error {
	f := codec.NewReader(h.Packed)
	id := AttemptID{Job: h.Job, Stage: h.Stage, Kind: MapTask}
	for f.Len() > 0 {
		step := f.Uint()
		if step > uint64(1<<31-1-id.Index) {
			f.Fail()
		}
		id.Index += int32(step)
		id.Try += uint64(f.Int())
		if f.Bad() {
			return ended(&f, "map output that is held")
		}
		fn(id)
	}
	return nil
}
