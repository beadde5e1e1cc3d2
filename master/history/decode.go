package history

import (
	"github.com/millrace/millrace/internal/wire"
)

func pick[T any](r *wire.Form, list []T) (v T) {
	if i := int(r.Byte()); i < len(list) {
		return list[i]
	}
	r.Fail()
	return v
}

func counts(r *wire.Form) wire.Counts {
	groups := r.AtMost(uint64(r.Len()))
	out := wire.Counts{}
	for range groups {
		g := r.Text()
		names := r.AtMost(uint64(r.Len()))
		if r.Bad() {
			return nil
		}
		of := map[string]int64{}
		for range names {
			name := r.Text()
			of[name] = r.Signed()
			if r.Bad() {
				return nil
			}
		}
		out[g] = of
	}
	return out
}

// parseEvent is the inverse of appendEvent. It takes any bytes.
func parseEvent(b []byte) (wire.PastEvent, error) {
	var e wire.PastEvent
	if err := checkVersion(b); err != nil {
		return e, err
	}
	const i32 = 1<<31 - 1
	r := wire.NewForm(b[1:])
	e.Kind = pick(&r, wire.PastKinds)
	bits := r.AtMost(knownBits)
	e.At = r.Signed()
	if bits&hasStage != 0 {
		e.Stage = int(r.AtMost(i32))
	}
	if bits&hasAttempt != 0 {
		e.Task, e.Index, e.Try, e.Number = pick(&r, taskKinds), int32(r.AtMost(i32)), r.AtMost(1<<64-1), int(r.AtMost(i32))
	}
	if bits&hasNode != 0 {
		e.Node = wire.NodeName(r.Text())
	}
	if bits&hasLocality != 0 {
		e.Locality = pick(&r, localities)
	}
	e.Speculative = bits&isSpeculative != 0
	if bits&hasSizes != 0 {
		e.Millis, e.In, e.Out = r.Signed(), r.Signed(), r.Signed()
	}
	if bits&hasCounts != 0 {
		e.Counts = counts(&r)
	}
	if bits&hasPlan != 0 {
		e.Maps, e.Reduces = int32(r.AtMost(i32)), int32(r.AtMost(i32))
	}
	if bits&hasState != 0 {
		e.State = r.Text()
	}
	if bits&hasText != 0 {
		e.Text = r.Text()
	}
	if r.Bad() || r.Len() > 0 {
		return wire.PastEvent{}, wire.Errorf(wire.Corrupt, "history: an event is not understood")
	}
	return e, nil
}
