package mapreduce

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

type (
	userID  uint32
	level   int8
	city    string
	ratio   float32
	payload []byte
	// visit has one leaf of every kind that orderedCodec knows.
	visit struct {
		City  city
		Day   [2]int16
		Where struct {
			Lat, Lon float64
			Zoom     float32
		}
		ok        bool
		A         int8
		B         uint8
		C         uint16
		D         int32
		E         uint32
		F         int
		G         uint
		H         int64
		I         uint64
		Took      time.Duration
		Last      string
		lastShort int8
	}
)

// TestIntegersSort: every integer, and every type made of one, sorts as a number; strings and floats likewise.
func TestIntegersSort(t *testing.T) {
	roundTrip(t, rapid.Int8(), cmp.Compare)
	roundTrip(t, rapid.Int16(), cmp.Compare)
	roundTrip(t, rapid.Uint(), cmp.Compare)
	roundTrip(t, rapid.Uint8(), cmp.Compare)
	roundTrip(t, rapid.Uint16(), cmp.Compare)
	roundTrip(t, rapid.Uint32(), cmp.Compare)
	roundTrip(t, rapid.Map(rapid.Uint32(), func(v uint32) userID { return userID(v) }), cmp.Compare)
	roundTrip(t, rapid.Map(rapid.Int8(), func(v int8) level { return level(v) }), cmp.Compare)
	roundTrip(t, rapid.Map(rapid.String(), func(v string) city { return city(v) }), cmp.Compare)
	roundTrip(t, rapid.Map(rapid.Float32(), func(v float32) ratio { return ratio(v) }), nil)
	if got := CodecFor[payload]().Append(nil, payload("x")); string(got) != "x" {
		t.Errorf("named bytes are encoded as %q", got)
	}
	if got := string(CodecFor[time.Duration]().AppendText(nil, Int64.Append(nil, 12))); got != "12" {
		t.Errorf("a duration is printed as %q", got)
	}
}

func drawVisit(t *rapid.T) (v visit) {
	v.City = city(rapid.SliceOfN(rapid.SampledFrom([]byte("\x00\x01ab\xff")), 0, 3).Draw(t, "city"))
	v.Day = [2]int16{rapid.Int16Range(-1, 1).Draw(t, "day"), rapid.Int16().Draw(t, "day 2")}
	v.Where.Lat = rapid.SampledFrom([]float64{-1.5, 0, 2, 1e300, -1e300}).Draw(t, "lat")
	v.Where.Lon = rapid.Float64().Draw(t, "lon")
	v.Where.Zoom = rapid.SampledFrom([]float32{-2, -1, 0, 1.25}).Draw(t, "zoom")
	v.ok = rapid.Bool().Draw(t, "ok")
	v.A, v.B, v.C = rapid.Int8().Draw(t, "a"), rapid.Uint8().Draw(t, "b"), rapid.Uint16().Draw(t, "c")
	v.D, v.E, v.F = rapid.Int32().Draw(t, "d"), rapid.Uint32().Draw(t, "e"), rapid.Int().Draw(t, "f")
	v.G, v.H, v.I = rapid.Uint().Draw(t, "g"), rapid.Int64().Draw(t, "h"), rapid.Uint64().Draw(t, "i")
	v.Took = time.Duration(rapid.Int64().Draw(t, "took"))
	v.Last, v.lastShort = rapid.String().Draw(t, "last"), rapid.Int8().Draw(t, "short")
	return v
}

func compareVisits(a, b visit) int {
	truth := map[bool]int{true: 1}
	return cmp.Or(strings.Compare(string(a.City), string(b.City)), cmp.Compare(a.Day[0], b.Day[0]), cmp.Compare(a.Day[1], b.Day[1]),
		cmp.Compare(a.Where.Lat, b.Where.Lat), cmp.Compare(a.Where.Lon, b.Where.Lon), cmp.Compare(a.Where.Zoom, b.Where.Zoom),
		cmp.Compare(truth[a.ok], truth[b.ok]), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B), cmp.Compare(a.C, b.C), cmp.Compare(a.D, b.D),
		cmp.Compare(a.E, b.E), cmp.Compare(a.F, b.F), cmp.Compare(a.G, b.G), cmp.Compare(a.H, b.H), cmp.Compare(a.I, b.I),
		cmp.Compare(a.Took, b.Took), strings.Compare(a.Last, b.Last), cmp.Compare(a.lastShort, b.lastShort))
}

// TestStructsSort: the bytes of structs sort as their fields do, also where all fields but one are equal.
func TestStructsSort(t *testing.T) {
	c := CodecFor[visit]()
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawVisit(t), drawVisit(t)
		if rapid.Bool().Draw(t, "alike") {
			short := b.lastShort
			b = a
			b.lastShort = short
		}
		ea, eb := c.Append(nil, a), c.Append([]byte("x"), b)[1:]
		if got, err := c.Decode(ea); err != nil || got != a {
			t.Fatalf("decode gave %v, %v; want %v", got, err, a)
		}
		if bytes.Compare(ea, eb) != compareVisits(a, b) {
			t.Fatalf("order of\n%+v and\n%+v is lost: %x, %x", a, b, ea, eb)
		}
	})
}

// TestEqualFloatsAreOneKey: 0 and -0 have the same bytes, and so has everything that is not a number, alone and in structs.
func TestEqualFloatsAreOneKey(t *testing.T) {
	zero, negative := 0.0, math.Copysign(0, -1)
	strange, strange32 := math.Float64frombits(0xfff8_0000_0000_1234), math.Float32frombits(0xffc0_1234)
	type pair struct {
		X float64
		Y float32
	}
	for what, b := range map[string][2][]byte{
		"zeros":              {Float64.Append(nil, zero), Float64.Append(nil, negative)},
		"not numbers":        {Float64.Append(nil, math.NaN()), Float64.Append(nil, strange)},
		"zeros of 32 bits":   {CodecFor[float32]().Append(nil, 0), CodecFor[float32]().Append(nil, float32(negative))},
		"zeros in structs":   {CodecFor[pair]().Append(nil, pair{}), CodecFor[pair]().Append(nil, pair{negative, float32(negative)})},
		"not numbers, there": {CodecFor[pair]().Append(nil, pair{math.NaN(), float32(math.NaN())}), CodecFor[pair]().Append(nil, pair{strange, strange32})},
	} {
		if !bytes.Equal(b[0], b[1]) {
			t.Errorf("%s: %x and %x", what, b[0], b[1])
		}
	}
}

// TestStructText: output shows structs as before, as JSON; and what JSON leaves out, too.
func TestStructText(t *testing.T) {
	shown, hidden := CodecFor[point](), CodecFor[struct{ x, y int }]()
	if got := string(shown.AppendText(nil, shown.Append(nil, point{1, "a\x00"}))); got != `{"X":1,"S":"a\u0000"}` {
		t.Error(got)
	}
	if got := string(hidden.AppendText(nil, hidden.Append(nil, struct{ x, y int }{1, 2}))); got != "{x:1 y:2}" {
		t.Error(got)
	}
	deep := CodecFor[struct {
		A []int
		B *bool
		C map[string]int
	}]()
	if got := string(deep.AppendText(nil, []byte("\x01\x01"+string(Int64.Append(nil, 7))+"\x00\x00\x00"))); got != `{"A":[7],"B":null,"C":null}` {
		t.Error(got)
	}
}

func FuzzStructs(f *testing.F) {
	f.Add(CodecFor[visit]().Append(nil, visit{City: "a\x00b", ok: true, Last: "x"}))
	f.Add(CodecFor[point]().Append(nil, point{-1, "\x00"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		tryCodec(t, CodecFor[visit](), b, false)
		tryCodec(t, CodecFor[point](), b, true)
		tryCodec(t, CodecFor[[3]ratio](), b, false)
		tryCodec(t, CodecFor[userID](), b, true)
	})
}

func BenchmarkCompareStructs(b *testing.B) {
	c := CodecFor[point]()
	keys := make([][]byte, 1024)
	for i := range keys {
		keys[i] = c.Append(nil, point{rand.IntN(10), strings.Repeat("x", rand.IntN(10))})
	}
	decoding := By(func(a, b point) int { return cmp.Or(cmp.Compare(a.X, b.X), strings.Compare(a.S, b.S)) })
	for name, compare := range map[string]Compare{"bytes": nil, "By": decoding} {
		b.Run(name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				compare.Of(keys[i%1024], keys[(i*7+1)%1024])
			}
		})
	}
}
