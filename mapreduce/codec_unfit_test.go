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
