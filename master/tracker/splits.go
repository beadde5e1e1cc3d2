package tracker

import (
	"encoding/binary"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
)

// A splitTable keeps the splits of a stage in some twenty bytes each: it stores a path or a host name once, and numbers
// as short as possible. A job of a million maps must fit.
type splitTable struct {
	names []string          // paths and hosts, in the order of their first use
	index map[string]uint64 // of names; only while splits come in
	data  []byte            // the splits, one after the other
	ends  []uint32          // by split: where its bytes end
	bytes int64             // of input
}

// maxTable bounds the bytes of a table: ends must be able to hold the positions.
const maxTable = 1 << 31

func (t *splitTable) len() int { return len(t.ends) }

// body returns the encoded form of split i.
func (t *splitTable) body(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.data[start:t.ends[i]]
}

// encode encodes splits as they would be appended to the table, which it does not change:
//
//	names: how many are new, then each by length and text
//	splits: how many, then each by length and body
//	body: input, ranges (name, offset, length of each), hosts (name of each)
func (t *splitTable) encode(splits []wire.Split) []byte {
	fresh := map[string]uint64{}
	var names, bodies, body []byte
	number := func(name string) uint64 {
		if n, ok := t.index[name]; ok {
			return n
		}
		n, ok := fresh[name]
		if !ok {
			n = uint64(len(t.names) + len(fresh))
			fresh[name] = n
			names = codec.AppendText(names, name)
		}
		return n
	}
	for i := range splits {
		s := &splits[i]
		body = binary.AppendUvarint(body[:0], uint64(max(0, s.Input)))
		body = binary.AppendUvarint(body, uint64(len(s.Ranges)))
		for _, r := range s.Ranges {
			body = binary.AppendUvarint(body, number(r.Path))
			body = binary.AppendVarint(binary.AppendVarint(body, r.Offset), r.Length)
		}
		body = binary.AppendUvarint(body, uint64(len(s.Hosts)))
		for _, h := range s.Hosts {
			body = binary.AppendUvarint(body, number(h))
		}
		bodies = codec.AppendText(bodies, body)
	}
	out := append(binary.AppendUvarint(nil, uint64(len(fresh))), names...)
	return append(binary.AppendUvarint(out, uint64(len(splits))), bodies...)
}

// add appends what encode wrote. After an error the table is as before.
func (t *splitTable) add(packed []byte) error {
	r := codec.NewReader(packed)
	was := *t
	for range r.Count() {
		t.names = append(t.names, r.Text())
	}
	for range r.Count() {
		body := r.Bytes()
		n, ok := t.check(body)
		if !ok || len(t.data)+len(body) > maxTable {
			r.Fail()
			break
		}
		t.bytes += n
		t.data = append(t.data, body...)
		t.ends = append(t.ends, uint32(len(t.data)))
	}
	if r.End() != nil {
		*t = was
		return wire.Errorf(wire.Corrupt, "the splits of a plan are not understood")
	}
	if t.index == nil {
		t.index = map[string]uint64{}
	}
	for i := len(was.names); i < len(t.names); i++ {
		t.index[t.names[i]] = uint64(i)
	}
	return nil
}

// check validates the body of a split and returns its bytes of input.
func (t *splitTable) check(body []byte) (n int64, ok bool) {
	r := codec.NewReader(body)
	r.Uint()
	for range r.Count() {
		name := r.Uint()
		r.Int()
		length := r.Int()
		if name >= uint64(len(t.names)) || length < 0 {
			return 0, false
		}
		if _, made := mapreduce.CountOf(t.names[name]); !made { // generated numbers are no input: the map that reads them makes them
			n += length
		}
	}
	for range r.Count() {
		if r.Uint() >= uint64(len(t.names)) {
			return 0, false
		}
	}
	return n, r.End() == nil
}

// get returns split i. add has checked it.
func (t *splitTable) get(i int32) *wire.Split {
	r := codec.NewReader(t.body(int(i)))
	s := &wire.Split{Input: int(r.Uint())}
	s.Ranges = make([]wire.Range, r.Count())
	for k := range s.Ranges {
		s.Ranges[k] = wire.Range{Path: t.names[r.Uint()], Offset: r.Int(), Length: r.Int()}
	}
	if n := r.Count(); n > 0 {
		s.Hosts = make([]string, n)
		for k := range s.Hosts {
			s.Hosts[k] = t.names[r.Uint()]
		}
	}
	return s
}

// each calls fn with the bytes of every split and the numbers of its hosts' names. fn may use the slice only during the
// call.
func (t *splitTable) each(fn func(bytes int64, hosts []uint64)) {
	var hosts []uint64
	for i := range t.ends {
		r := codec.NewReader(t.body(i))
		r.Uint()
		n := int64(0)
		for range r.Count() {
			r.Uint()
			r.Int()
			n += r.Int()
		}
		hosts = hosts[:0]
		for range r.Count() {
			hosts = append(hosts, r.Uint())
		}
		fn(n, hosts)
	}
}

// pieceBytes is roughly the length of a packed record of a snapshot.
const pieceBytes = 1 << 20

// pieces returns the whole table as encode would have written it, in bounded pieces, names first.
func (t *splitTable) pieces() (out [][]byte, splits []int) {
	for at := 0; at < len(t.names); {
		var b []byte
		n := 0
		for ; at+n < len(t.names) && len(b) < pieceBytes; n++ {
			name := t.names[at+n]
			b = codec.AppendText(b, name)
		}
		piece := append(binary.AppendUvarint(nil, uint64(n)), b...)
		out, splits = append(out, binary.AppendUvarint(piece, 0)), append(splits, 0)
		at += n
	}
	for at := 0; at < t.len(); {
		var b []byte
		n := 0
		for ; at+n < t.len() && len(b) < pieceBytes; n++ {
			body := t.body(at + n)
			b = codec.AppendText(b, body)
		}
		piece := append(binary.AppendUvarint([]byte{0}, uint64(n)), b...)
		out, splits = append(out, piece), append(splits, n)
		at += n
	}
	return out, splits
}

// settle frees what only splits yet to come need, and the memory reserved for them.
func (t *splitTable) settle() {
	t.index = nil
	t.data, t.ends, t.names = trim(t.data), trim(t.ends), trim(t.names)
}

// trim frees spare capacity beyond an eighth.
func trim[T any](s []T) []T {
	if cap(s)-len(s) <= len(s)/8 {
		return s
	}
	return append(make([]T, 0, len(s)), s...)
}
