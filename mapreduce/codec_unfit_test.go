package mapreduce

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// unfit is what cannot be said in bytes.
type unfit struct{}

var errUnfit = errors.New("not in bytes")

func (unfit) MarshalBinary() ([]byte, error) { return nil, errUnfit }

func (*unfit) UnmarshalBinary([]byte) error { return errUnfit }

// TestValuesThatCannotBeEncoded: a value that its codec cannot express ends the attempt and says its type and why; it is never left out.
func TestValuesThatCannotBeEncoded(t *testing.T) {
	for want, encode := range map[string]func() []byte{
		"mapreduce: encode func(): json: unsupported type: func()": func() []byte { return JSON[func()]{}.Append([]byte("before"), func() {}) },
		"mapreduce: encode mapreduce.unfit: not in bytes":          func() []byte { return ownCodec[unfit]{}.Append([]byte("before"), unfit{}) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("%s, want %s", got, want)
				}
			}()
			t.Errorf("encoded as %q", encode())
		}()
	}
}

// TestBytesThatAreNoValue are an error that names the type and can be asked for its cause; they print all the same.
func TestBytesThatAreNoValue(t *testing.T) {
	if _, err := (ownCodec[unfit]{}).Decode([]byte("x")); !errors.Is(err, errUnfit) || !strings.Contains(err.Error(), "decode mapreduce.unfit: ") {
		t.Error(err)
	}
	if got := string(ownCodec[unfit]{}.AppendText([]byte("was "), []byte("x\n"))); got != `was "x\n"` {
		t.Errorf("printed as %s", got)
	}
	if got := string(ownCodec[own]{}.AppendText([]byte("was "), []byte{7, 42})); got != "was 7" {
		t.Errorf("printed as %s", got)
	}
}

// said is what there is to say of a type: its name, and the text of some values.
func said[T comparable](t *testing.T, name string, texts map[T]string) {
	t.Helper()
	c := CodecFor[T]()
	if c.TypeName() != name {
		t.Errorf("%s is called %s", name, c.TypeName())
	}
	for v, want := range texts {
		b := c.Append([]byte("before"), v)
		got, err := c.Decode(b[6:])
		if err != nil || got != v || string(b[:6]) != "before" {
			t.Errorf("%s: %v came back as %v, %v", name, v, got, err)
		}
		if text := string(c.AppendText([]byte("text "), b[6:])); text != "text "+want {
			t.Errorf("%s: the text of %v is %q, want %q", name, v, text, want)
		}
		for _, bad := range []string{string(b[6:]) + "x", ""} {
			if _, err := c.Decode([]byte(bad)); len(b) > 6 && c.TypeName() != "string" && (err == nil || !strings.Contains(err.Error(), "have ")) {
				t.Errorf("%s: %d bytes are taken for a value: %v", name, len(bad), err)
			}
			if text := string(c.AppendText(nil, []byte(bad))); c.TypeName() != "string" && len(b) > 6 && text != fmt.Sprintf("%q", bad) {
				t.Errorf("%s: %q prints as %s", name, bad, text)
			}
		}
	}
}

type (
	flag   bool
	tiny   int8
	large  uint64
	part   float32
	degree float64
	word   string
)

// TestEveryTypeSaysItself: each type that needs no codec of its own, and each type made of one, comes back as it was, prints as Go prints it, and says of other bytes
// that they are none of its values.
func TestEveryTypeSaysItself(t *testing.T) {
	said(t, "bool", map[bool]string{true: "true", false: "false"})
	said(t, "int", map[int]string{-7: "-7", 1 << 62: "4611686018427387904"})
	said(t, "int8", map[int8]string{-128: "-128", 127: "127"})
	said(t, "int16", map[int16]string{-32768: "-32768"})
	said(t, "int32", map[int32]string{-1 << 31: "-2147483648"})
	said(t, "int64", map[int64]string{-1 << 63: "-9223372036854775808", 0: "0"})
	said(t, "uint", map[uint]string{7: "7"})
	said(t, "uint8", map[uint8]string{255: "255"})
	said(t, "uint16", map[uint16]string{65535: "65535"})
	said(t, "uint32", map[uint32]string{1<<32 - 1: "4294967295"})
	said(t, "uint64", map[uint64]string{1<<64 - 1: "18446744073709551615", 0: "0"})
	said(t, "float32", map[float32]string{0.1: "0.1", -2.5: "-2.5", 3e30: "3e+30"})
	said(t, "float64", map[float64]string{0.1: "0.1", -2.5: "-2.5", 3e30: "3e+30"})
	said(t, "string", map[string]string{"a\nb": "a\nb"})
	said(t, "mapreduce.flag", map[flag]string{true: "true"})
	said(t, "mapreduce.tiny", map[tiny]string{-3: "-3"})
	said(t, "mapreduce.large", map[large]string{3: "3"})
	said(t, "mapreduce.part", map[part]string{0.1: "0.1"})
	said(t, "mapreduce.degree", map[degree]string{0.1: "0.1"})
	said(t, "none", map[None]string{{}: ""})
	if c := CodecFor[word](); c.TypeName() != "mapreduce.word" || string(c.AppendText(nil, c.Append(nil, "x"))) != "x" {
		t.Errorf("%s", c.TypeName())
	}
	for _, bad := range []int64{-129, 128} {
		if _, err := CodecFor[int8]().Decode(Int64.Append(nil, bad)); err == nil || !strings.Contains(err.Error(), fmt.Sprint(bad, " is no int8")) {
			t.Errorf("%d: %v", bad, err)
		}
	}
}
