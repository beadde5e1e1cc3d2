package mapreduce

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// roundTrip checks that a codec gives back what it took and sorts as compare does.
func roundTrip[T comparable](t *testing.T, gen *rapid.Generator[T], compare func(a, b T) int) {
	t.Helper()
	c := CodecFor[T]()
	t.Run(c.TypeName(), rapid.MakeCheck(func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		ea, eb := c.Append(nil, a), c.Append([]byte("x"), b)[1:]
		got, err := c.Decode(ea)
		if err != nil || got != a {
			t.Fatalf("decode gave %v, %v; want %v", got, err, a)
		}
		if compare != nil && cmp.Compare(bytes.Compare(ea, eb), 0) != cmp.Compare(compare(a, b), 0) {
			t.Fatalf("order of %v and %v is lost", a, b)
		}
		if text := string(c.AppendText(nil, ea)); compare != nil && text != fmt.Sprint(a) {
			t.Fatalf("text is %q, want %v", text, a)
		}
	}))
}

func TestCodecs(t *testing.T) {
	roundTrip(t, rapid.Int64(), cmp.Compare)
	roundTrip(t, rapid.Int(), cmp.Compare)
	roundTrip(t, rapid.Int32(), cmp.Compare)
	roundTrip(t, rapid.Uint64(), cmp.Compare)
	roundTrip(t, rapid.String(), cmp.Compare)
	roundTrip(t, rapid.Bool(), func(a, b bool) int {
		if a == b {
			return 0
		}
		if b {
			return -1
		}
		return 1
	})
	roundTrip(t, rapid.Custom(func(t *rapid.T) point {
		return point{rapid.Int().Draw(t, "x"), rapid.String().Draw(t, "s")}
	}), nil)
	roundTrip(t, rapid.Custom(func(t *rapid.T) own { return own(rapid.Byte().Draw(t, "b")) }), nil)
	roundTrip(t, rapid.Just(None{}), nil)
}

type point struct {
	X int
	S string
}

// own marshals itself.
type own byte

func (o own) MarshalBinary() ([]byte, error)  { return []byte{byte(o), 42}, nil }
func (o *own) UnmarshalBinary(b []byte) error { *o = own(b[0]); return nil }

func TestFloatOrder(t *testing.T) {
	values := []float64{math.Inf(-1), -math.MaxFloat64, -1.5, -math.SmallestNonzeroFloat64, 0, math.SmallestNonzeroFloat64, 1, 1.5, math.MaxFloat64, math.Inf(1)}
	var enc [][]byte
	for _, v := range values {
		e := Float64.Append(nil, v)
		if got, err := Float64.Decode(e); err != nil || got != v {
			t.Errorf("%v came back as %v, %v", v, got, err)
		}
		enc = append(enc, e)
	}
	if !slices.IsSortedFunc(enc, bytes.Compare) {
		t.Error("encoded floats do not sort as numbers")
	}
}

// Wrong bytes are an error, never a panic, and still print.
func TestCodecsRefuseWrongLengths(t *testing.T) {
	for _, b := range [][]byte{nil, {1}, make([]byte, 9)} {
		if _, err := Int64.Decode(b); err == nil {
			t.Errorf("int64 took %d bytes", len(b))
		}
		if _, err := Float64.Decode(b); err == nil {
			t.Errorf("float64 took %d bytes", len(b))
		}
		if text := Int64.AppendText(nil, b); !bytes.HasPrefix(text, []byte(`"`)) {
			t.Errorf("undecodable bytes print as %s", text)
		}
	}
	if _, err := (JSON[point]{}).Decode([]byte("{")); err == nil || !strings.Contains(err.Error(), "point") {
		t.Errorf("bad JSON gave %v", err)
	}
}

func TestFolds(t *testing.T) {
	enc := func(v int64) []byte { return Int64.Append(nil, v) }
	f := func(v float64) []byte { return Float64.Append(nil, v) }
	p, err := Max.Plan(Float64)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Merge(f(1.5), f(2.5)); !bytes.Equal(got, f(2.5)) {
		t.Errorf("max of floats gave %x", got)
	}
	if p, _ = Sum.Plan(Int64); p.Int != SumInt {
		t.Error("sum of integers is not done by the engine")
	}
	if _, err := Sum.Plan(String); err == nil || !strings.Contains(err.Error(), "string") {
		t.Errorf("sum of strings gave %v", err)
	}
	top, err := TopK(2).Plan(Int64)
	if err != nil {
		t.Fatal(err)
	}
	acc := enc(5)
	for _, v := range []int64{3, 9, 9, 1} {
		acc = top.Merge(acc, enc(v))
	}
	if text := string(top.Value.AppendText(nil, acc)); text != "9 9" {
		t.Errorf("top 2 is %q", text)
	}
	if _, err := TopK(0).Plan(Int64); err == nil {
		t.Error("top 0 was accepted")
	}
	lift, _ := Count.Plan(String)
	if got := lift.Lift(nil, []byte("anything")); !bytes.Equal(got, enc(1)) {
		t.Errorf("count lifts to %x", got)
	}
	longest, _ := FoldOf("longest", func(a, b string) string {
		if len(b) > len(a) {
			return b
		}
		return a
	}).Plan(String)
	if got := longest.Merge([]byte("ab"), []byte("abc")); string(got) != "abc" {
		t.Errorf("longest gave %q", got)
	}
}

// The clever range partition against a linear scan.
func TestRangePartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOf(rapid.SliceOfN(rapid.ByteMax(3), 0, 11)).Draw(t, "keys")
		n := rapid.IntRange(1, 9).Draw(t, "n")
		bounds := BoundsOf(slices.Clone(keys), n, nil)
		if len(bounds) > n-1 {
			t.Fatalf("%d bounds for %d parts", len(bounds), n)
		}
		p := RangePartition{Bounds: bounds}
		for _, k := range keys {
			want := 0
			for _, b := range bounds {
				if bytes.Compare(b, k) <= 0 {
					want++
				}
			}
			if got := p.Partition(k, nil, n); got != want {
				t.Fatalf("key %x in part %d, want %d", k, got, want)
			}
			if got := p.Finder()(k); got != want {
				t.Fatalf("key %x found in part %d, want %d", k, got, want)
			}
		}
	})
}

func TestJobValidate(t *testing.T) {
	m := Lines(func([]byte, func(string, string)) {})
	good := Job{Map: m, Input: []string{"in"}, Output: "out"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		edit func(*Job)
		want string
	}{
		"no input":        {func(j *Job) { j.Input = nil }, "no input"},
		"no map":          {func(j *Job) { j.Map = Map{} }, "no map"},
		"no output":       {func(j *Job) { j.Output = "" }, "no output"},
		"reducers":        {func(j *Job) { j.Reducers = 1_000_000_000 }, "Reducers is 1000000000"},
		"negative":        {func(j *Job) { j.Reducers = -1 }, "Reducers is -1"},
		"compression":     {func(j *Job) { j.Compression = "rar" }, `"rar"`},
		"fold of strings": {func(j *Job) { j.Fold = Sum }, "fold sum"},
		"fold+combine": {func(j *Job) {
			j.Fold = Count
			j.Combine = Reduce{New: func(*Task) (Reducer, error) { return nil, nil }}
		}, "Combine"},
		"map-only+fold": {func(j *Job) { j.Fold = Count; j.MapOnly = true }, "map-only"},
		"fold of int64 and float64": {func(j *Job) {
			j.Input, j.Map, j.Fold = nil, Map{}, Sum
			j.Inputs = []Input{
				{Paths: []string{"a"}, Map: Lines(func([]byte, func(string, int64)) {})},
				{Paths: []string{"b"}, Map: Lines(func([]byte, func(string, float64)) {})},
			}
		}, "emits float64 values"},
		"two spellings": {func(j *Job) { j.Inputs = []Input{{Paths: []string{"a"}, Map: m}} }, "both"},
		"NUL":           {func(j *Job) { j.Input = []string{"a\x00b"} }, "NUL"},
		"side files":    {func(j *Job) { j.SideFiles = []string{"a/x", "b/x"} }, "same base name"},
		"priority":      {func(j *Job) { j.Priority = 9 }, "Priority"},
	} {
		j := good
		c.edit(&j)
		if err := j.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want it to say %q", name, err, c.want)
		}
	}
}

// TestFoldOfSeveralInputs: what is encoded alike, or does not matter, may be folded together.
func TestFoldOfSeveralInputs(t *testing.T) {
	ints, shorts, texts := Lines(func([]byte, func(string, int64)) {}), Lines(func([]byte, func(string, int16)) {}), Lines(func([]byte, func(string, string)) {})
	for _, j := range []Job{
		{Fold: Sum, Inputs: []Input{{Paths: []string{"a"}, Map: ints}, {Paths: []string{"b"}, Map: shorts}}},
		{Fold: TopK(3), Inputs: []Input{{Paths: []string{"a"}, Map: ints}, {Paths: []string{"b"}, Map: shorts}}},
		{Fold: Count, Inputs: []Input{{Paths: []string{"a"}, Map: ints}, {Paths: []string{"b"}, Map: texts}}},
	} {
		j.Output = "out"
		if err := j.Validate(); err != nil {
			t.Errorf("%s: %v", j.Fold, err)
		}
	}
}

func TestCounters(t *testing.T) {
	var s CounterSet
	s.Counter("g", "n").Add(2)
	s.Counter("g", "n").Add(3)
	s.Counter("g", "never")
	total := Counts{}
	total.Add(s.Snapshot())
	total.Add(s.Snapshot())
	if got := total.Get("g", "n"); got != 10 {
		t.Errorf("counted %d", got)
	}
	defer func() {
		if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), "limit") {
			t.Errorf("a flood of counters gave %v", p)
		}
	}()
	for i := range 2 * MaxCounters {
		s.Counter("flood", fmt.Sprint(i))
	}
}

func TestPriorityNames(t *testing.T) {
	for p := VeryLow; p <= VeryHigh; p++ {
		if got, err := ParsePriority(p.String()); err != nil || got != p {
			t.Errorf("%v came back as %v, %v", p, got, err)
		}
	}
	if _, err := ParsePriority("urgent"); err == nil {
		t.Error("an unknown priority was accepted")
	}
}
