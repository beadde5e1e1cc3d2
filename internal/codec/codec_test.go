package codec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// record is one of everything that Fields can code.
type record struct {
	big      uint64
	small    int32
	signed   int64
	kind     string
	on, off  bool
	name     string
	children []record
}

var kinds = []string{"", "file", "directory"}

func (r *record) fields(f *Fields) {
	f.Uint(&r.big)
	Number(f, &r.small)
	f.Int(&r.signed)
	OneOf(f, &r.kind, kinds)
	f.Flags(&r.on, &r.off)
	Text(f, &r.name)
	List(f, &r.children, func(f *Fields, c *record) { c.fields(f) })
}

func (r *record) equal(o *record) bool {
	return r.big == o.big && r.small == o.small && r.signed == o.signed && r.kind == o.kind && r.on == o.on && r.off == o.off && r.name == o.name &&
		slices.EqualFunc(r.children, o.children, func(a, b record) bool { return a.equal(&b) })
}

func encoded(r *record) []byte {
	f := Write(nil, 1)
	r.fields(&f)
	return f.Written()
}

var full = record{math.MaxUint64, 7, -3, "directory", true, false, "a", []record{{name: "b", off: true}, {kind: "file"}}}

func TestFieldsComeBack(t *testing.T) {
	for _, want := range []record{{}, full} {
		var got record
		f := Read(encoded(&want), 1, 10)
		if got.fields(&f); f.End() != nil || !got.equal(&want) {
			t.Errorf("%+v came back as %+v: %v", want, got, f.End())
		}
	}
}

func TestFieldsRefuse(t *testing.T) {
	whole := encoded(&full)
	for n := range whole {
		var got record
		if f := Read(whole[:n], 1, 10); true {
			if got.fields(&f); f.End() == nil {
				t.Errorf("%d of %d bytes were taken for all", n, len(whole))
			}
		}
	}
	head := []byte{0, 0, 0, 0, 0}
	for want, b := range map[string][]byte{
		"bytes behind":     append(slices.Clone(whole), 0),
		"out of range":     append(binary.AppendUvarint([]byte{0}, 1<<40), 0, 0, 0, 0, 0),
		"value 3 of a":     {0, 0, 0, 3},
		"an unknown flag":  {0, 0, 0, 0, 4},
		"text of 11 bytes": append(AppendText(head, "elevenbytes"), 0),
		"ends in the middle": append(slices.Clone(head), 0,
			200, 200, 200, 200, 15), // a list longer than what is left
	} {
		var got record
		f := Read(b, 1, 10)
		if got.fields(&f); f.End() == nil || !strings.Contains(f.End().Error(), want) {
			t.Errorf("want %q, got %v", want, f.End())
		}
	}
}

// TestFieldsArePassedOver: what a reader does not want is as long, and refused as soon, as where it is read.
func TestFieldsArePassedOver(t *testing.T) {
	for text, want := range map[string]string{"tenletters": "", "elevenbytes": "text of 11 bytes"} {
		w := Write(nil, 3)
		list := []string{"a", text}
		Text(&w, &text)
		List(&w, &list, func(f *Fields, s *string) { Text(f, s) })
		w.Flags(new(bool))
		if w.Reading() || w.Version != 3 {
			t.Errorf("what writes version %d reads", w.Version)
		}
		f := Read(w.Written(), 3, 10)
		f.PassText()
		f.PassList(func(f *Fields) { f.PassText() })
		if want == "" && !f.More() {
			t.Error("more was passed over than a text and a list")
		}
		f.Flags(new(bool))
		if err := f.End(); !f.Reading() || f.More() || (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, more %v", text, err, f.More())
		}
	}
}

// TestNumbersOfTheFormats: bits and sums are those of docs/formats, whoever computes them: the sum is a CRC32C, whose value for nine digits is in
// its definition; the mixed number of 0 is the first that SplitMix64 draws with the seed 0.
func TestNumbersOfTheFormats(t *testing.T) {
	nine, sum := []byte("123456789"), NewSum()
	if _, err := sum.Write(nine); err != nil || sum.Sum32() != 0xe3069283 || Sum(nine) != 0xe3069283 || AddSum(Sum(nine[:4]), nine[4:]) != 0xe3069283 {
		t.Errorf("the sums are %x, %x and %x, %v", sum.Sum32(), Sum(nine), AddSum(Sum(nine[:4]), nine[4:]), err)
	}
	if got := Mix(0); got != 0xe220a8397b1dcdaf {
		t.Errorf("0 is mixed to %x", got)
	}
	b := AppendBits([]byte{7}, true, false, true)
	if r := NewReader(b[1:]); !bytes.Equal(b, []byte{7, 5}) || r.Bits(3) != 5 || r.End() != nil {
		t.Errorf("the bits are %v", b)
	}
}

func TestReaderIsZeroBehindDamage(t *testing.T) {
	r := NewReader([]byte{0x80})
	if v := r.Uint(); v != 0 || !r.Bad() {
		t.Errorf("half a number is %d", v)
	}
	if r.Uint() != 0 || r.Int() != 0 || r.Byte() != 0 || r.Bits(3) != 0 || r.Uint32() != 0 || r.Text() != "" || r.Count() != 0 || r.AtMost(5) != 0 {
		t.Error("something was read behind the damage")
	}
	if !errors.Is(r.End(), ErrDamaged) {
		t.Error(r.End())
	}
}

func TestReaderLimits(t *testing.T) {
	for name, bad := range map[string]func(r *Reader){
		"above the most": func(r *Reader) { r.AtMost(8) },
		"a high bit":     func(r *Reader) { r.Bits(3) },
		"more than left": func(r *Reader) { r.Count() },
		"no uint":        func(r *Reader) { r.Uint(); r.Uint() },
		"no int":         func(r *Reader) { r.Int(); r.Int() },
		"no byte":        func(r *Reader) { r.Byte(); r.Byte() },
		"no bits":        func(r *Reader) { r.Byte(); r.Bits(3) },
		"no text":        func(r *Reader) { r.Byte(); r.Text() },
		"a short number": func(r *Reader) { r.Uint32() },
	} {
		r := NewReader([]byte{9})
		if bad(&r); !r.Bad() {
			t.Error(name, "was taken")
		}
	}
	r := NewReader([]byte{9})
	if v := r.AtMost(8); v != 0 {
		t.Errorf("what is above the most is %d", v)
	}
	r = NewReader([]byte{8, 7, 1, 'x', 1, 2, 3, 4})
	if r.AtMost(8) != 8 || r.Bits(3) != 7 || r.Text() != "x" || r.Uint32() != 0x04030201 || r.End() != nil {
		t.Error("what is within the limits was refused")
	}
}

// TestReadNAllocatesWhatCame: a length of a gigabyte with ten bytes behind it costs a step, not a gigabyte.
func TestReadNAllocatesWhatCame(t *testing.T) {
	short := bytes.Repeat([]byte{1}, 10)
	got, err := ReadN(bytes.NewReader(short), nil, 1<<30)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(got, short) || cap(got) > 1<<20 {
		t.Errorf("%d bytes of room for %d: %v", cap(got), len(got), err)
	}
	long := bytes.Repeat([]byte("0123456789"), 100_000)
	for _, buf := range [][]byte{nil, make([]byte, 5), make([]byte, 2<<20)} {
		got, err := ReadN(iotest.HalfReader(bytes.NewReader(long)), buf, len(long))
		if err != nil || !bytes.Equal(got, long) {
			t.Errorf("%d of %d bytes: %v", len(got), len(long), err)
		}
	}
	if got, err := ReadN(bytes.NewReader(nil), nil, 0); err != nil || len(got) != 0 {
		t.Error(got, err)
	}
}

// FuzzFields takes any bytes apart, without a panic, and what was understood comes back.
func FuzzFields(f *testing.F) {
	f.Add(encoded(&full))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got, again record
		in := Read(b, 1, 100)
		if got.fields(&in); in.End() != nil {
			return
		}
		f := Read(encoded(&got), 1, 100)
		if again.fields(&f); f.End() != nil || !again.equal(&got) {
			t.Errorf("%+v came back as %+v: %v", got, again, f.End())
		}
	})
}

// TestNothingIsReadBehindAFault: behind the first thing that did not fit all is empty, and that thing is what is told.
func TestNothingIsReadBehindAFault(t *testing.T) {
	w := Write(nil, 1)
	long, n := "longer than ten", uint64(7)
	Text(&w, &long)
	w.Uint(&n)
	f := Read(w.Written(), 1, 10)
	var text string
	var got uint64
	Text(&f, &text)
	f.Uint(&got)
	f.Fail("is not what was wrong first")
	if err := f.End(); text != "" || got != 0 || err == nil || err.Error() != "has a text of 15 bytes, where 10 are allowed" {
		t.Errorf("%q, %d, %v", text, got, err)
	}
}
