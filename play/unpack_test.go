package play

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
)

// unpacker reads packed recordings as assets/unpack.js does.
type unpacker struct {
	in     []byte
	before map[taskOf]int64 // how long tasks took in the recordings before
}

// unpack returns the recordings in bytes. Times are differences again, as a recorder has them.
func unpack(data []byte) ([]*Recording, error) {
	var heads []struct {
		Recording

		Attempts  int   `json:"attempts"`
		Decisions int   `json:"decisions"`
		Net       int   `json:"net"`
		Others    int   `json:"others"`
		Grain     int64 `json:"grain"`
	}
	size := binary.LittleEndian.Uint32(data)
	if err := json.Unmarshal(data[4:4+size], &heads); err != nil {
		return nil, err
	}
	u, out := &unpacker{data[4+size:], map[taskOf]int64{}}, []*Recording{}
	for i := range heads {
		h := &heads[i]
		r := &h.Recording
		r.Decisions.Attempt = u.about(h.Decisions)
		u.attempts(&r.Attempts, h.Attempts, h.Grain, named(r.Decisions.Attempt, h.Attempts))
		u.decisions(&r.Decisions, &r.Attempts)
		r.Others = u.lists(h.Others)
		u.net(&r.Net, h.Net)
		out = append(out, r)
	}
	if len(u.in) > 0 {
		return nil, fmt.Errorf("%d bytes are left", len(u.in))
	}
	return out, nil
}

func (u *unpacker) unsigned() int64 {
	x, n := binary.Uvarint(u.in)
	if n <= 0 {
		panic("the bytes end within a number")
	}
	u.in = u.in[n:]
	return int64(x)
}

func (u *unpacker) signed() int64 {
	x, n := binary.Varint(u.in)
	if n <= 0 {
		panic("the bytes end within a number")
	}
	u.in = u.in[n:]
	return x
}

func (u *unpacker) plain(n int) []uint8 {
	part := u.in[:n]
	u.in = u.in[n:]
	return part
}

// column reads n numbers; of turns one, of which it knows the place, into what it stands for.
func column[T int32 | int64](u *unpacker, n int, of func(i int, d int64) int64) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(of(i, u.signed()))
	}
	return out
}

func (u *unpacker) about(n int) []int32 {
	out, next := make([]int32, n), int64(0)
	for i := range out {
		x := u.unsigned() - 1
		if out[i] = -1; x >= 0 {
			next += x>>1 ^ -(x & 1)
			out[i] = int32(next)
			next++
		}
	}
	return out
}

func (u *unpacker) attempts(a *Attempts, n int, grain int64, named []bool) {
	a.Job = u.recent(n)
	a.Kind, a.Near, a.How = u.plain(n), u.plain(n), u.plain(n)
	of := func(i int) [2]int32 { return [2]int32{a.Job[i], int32(a.Kind[i])} }
	next, away := map[[2]int32]int64{}, map[[2]int32]int64{}
	for i := range n {
		a.Task = append(a.Task, -1)
		if grain == 1 || named[i] {
			next[of(i)] += u.signed()
			a.Task[i] = int32(next[of(i)])
			next[of(i)]++
		}
	}
	starts := u.starts(a, n)
	a.Took = column[int64](u, n, func(i int, d int64) int64 {
		if grain > 1 {
			return d * grain
		}
		task := taskOf{a.Job[i], a.Task[i], a.Kind[i]}
		u.before[task] += d
		return u.before[task]
	})
	a.Place = u.placesOf(a, starts)
	a.Away = column[int64](u, n, func(i int, d int64) int64 {
		away[of(i)] += d
		return away[of(i)]
	})
}

func (u *unpacker) recent(n int) (out []int32) {
	var last []int32 // the latest first
	for range n {
		at := int(u.unsigned())
		if at == len(last) {
			last = append(last, int32(u.unsigned()))
		}
		job := last[at]
		copy(last[1:at+1], last[:at])
		last[0] = job
		out = append(out, job)
	}
	return out
}

// starts reads when and where attempts start, and returns the times.
func (u *unpacker) starts(a *Attempts, n int) (at []int64) {
	period, phases := u.unsigned(), make([]int64, u.unsigned())
	for i := range phases {
		phases[i] = u.unsigned()
	}
	step, before, last := int64(0), int64(0), map[int64]int64{}
	for range n {
		step += u.unsigned()
		at = append(at, step/int64(len(phases))*period+phases[step%int64(len(phases))])
		a.Start = append(a.Start, at[len(at)-1]-before)
		before = at[len(at)-1]
	}
	a.Node = column[int32](u, n, func(i int, d int64) int64 {
		last[at[i]%period] += d
		return last[at[i]%period]
	})
	return at
}

// placesOf reads places: a number is counted from the first that is free.
func (u *unpacker) placesOf(a *Attempts, starts []int64) []int32 {
	until := map[int32][]int64{} // by node
	return column[int32](u, len(a.Job), func(i int, d int64) int64 {
		ends, place := until[a.Node[i]], 0
		for place < len(ends) && ends[place] > starts[i] {
			place++
		}
		place += int(d)
		for len(ends) <= place {
			ends = append(ends, 0)
		}
		ends[place] = starts[i] + a.Took[i]
		until[a.Node[i]] = ends
		return int64(place)
	})
}

func (u *unpacker) decisions(d *Decisions, a *Attempts) {
	starts, n, last := sumsOf(a.Start), len(d.Attempt), int64(0)
	d.Do = u.plain(n)
	for i, x := range d.Attempt {
		if x < 0 {
			d.Job = append(d.Job, int32(u.signed()))
		} else {
			d.Job = append(d.Job, a.Job[x])
		}
		since := int64(0)
		if x < 0 || d.Do[i] != 0 {
			since = u.signed()
		} else {
			since = starts[x] - last
		}
		d.At = append(d.At, since)
		last += since
	}
	d.Text, d.Others = u.places(n), u.places(n)
}

// places reads places in a list that was filled in their order.
func (u *unpacker) places(n int) []int32 {
	next := int64(0)
	return column[int32](u, n, func(_ int, d int64) int64 {
		x := next + d
		next = max(next, x+1)
		return x
	})
}

func (u *unpacker) lists(n int) [][]int32 {
	long, out, last := column[int32](u, n, func(_ int, d int64) int64 { return d }), make([][]int32, n), []int32{}
	for i := range out {
		out[i] = column[int32](u, int(long[i]), func(k int, d int64) int64 {
			if k < len(last) {
				d += int64(last[k])
			}
			return d
		})
		last = out[i]
	}
	return out
}

func (u *unpacker) net(net *Net, n int) {
	rack := int64(0)
	net.At = column[int64](u, n, func(_ int, d int64) int64 { return d })
	net.Rack = column[int32](u, n, func(_ int, d int64) int64 {
		rack += d
		return rack
	})
	net.Congested = u.plain(n)
	for _, way := range []*[]int32{&net.Up, &net.Down} {
		last := map[int32]int64{}
		*way = column[int32](u, n, func(i int, d int64) int64 {
			last[net.Rack[i]] += d
			return last[net.Rack[i]]
		})
	}
}
