package wire

import (
	"bytes"
	"encoding"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type binaryMessage interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// binaryMessages are all that have a binary form, filled, and an empty one of the same kind.
func binaryMessages() [][2]binaryMessage {
	info := FileInfo{
		Path: "/a/ü", ID: 1 << 60, Dir: true, Open: true, Len: -1, Replication: 3, BlockSize: 1 << 40, Blocks: 7, ModTime: 1_700_000_000_000,
		User: "ann", CRC: 0xdeadbeef, HasCRC: true,
	}
	last := Block{ID: 9, Gen: 1 << 63, Len: 1 << 30}
	return [][2]binaryMessage{
		{&PathRequest{Path: "/x", User: "ann"}, &PathRequest{}},
		{&info, &FileInfo{}},
		{&CreateRequest{Path: "/x", User: "u", Holder: "h", Replication: -2, BlockSize: 5, Overwrite: true, Parents: true, Request: "r"}, &CreateRequest{}},
		{&CreateRequest{Path: "/x", Umask: "077"}, &CreateRequest{}},
		{&CreateResponse{File: info}, &CreateResponse{}},
		{&CompleteRequest{File: 3, Holder: "h", Last: &last, Stored: []NodeName{"n1", "n2"}, CRC: 1}, &CompleteRequest{}},
		{&CompleteRequest{File: 3}, &CompleteRequest{}},
	}
}

func TestBinaryForms(t *testing.T) {
	for _, m := range binaryMessages() {
		b, err := m[0].AppendBinary([]byte("before"))
		if err != nil || !bytes.HasPrefix(b, []byte("before")) {
			t.Fatalf("%T: %q, %v", m[0], b, err)
		}
		b = b[len("before"):]
		if err := m[1].UnmarshalBinary(b); err != nil || !cmp.Equal(m[0], m[1]) {
			t.Errorf("%T: %v, %s", m[0], err, cmp.Diff(m[0], m[1]))
		}
		for n := range b {
			if err := m[1].UnmarshalBinary(b[:n]); KindOf(err) != Invalid {
				t.Errorf("%T cut to %d of %d bytes: %v", m[0], n, len(b), err)
			}
		}
		if err := m[1].UnmarshalBinary(append(b, 0)); KindOf(err) != Invalid {
			t.Errorf("%T with a byte behind it: %v", m[0], err)
		}
	}
}

// TestBinaryFormsAreTold: what one message encodes no other decodes.
func TestBinaryFormsAreTold(t *testing.T) {
	all := binaryMessages()
	for _, m := range all {
		b, err := m[0].AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range all {
			if same := reflect.TypeOf(m[0]) == reflect.TypeOf(other[1]); !same && other[1].UnmarshalBinary(b) == nil {
				t.Errorf("%T was taken for %T", m[0], other[1])
			}
		}
	}
}

func FuzzBinaryForms(f *testing.F) {
	for _, m := range binaryMessages() {
		b, err := m[0].AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range binaryMessages() {
			if m[1].UnmarshalBinary(b) != nil {
				continue
			}
			again, err := m[1].AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := m[0].UnmarshalBinary(again); err != nil || !cmp.Equal(m[0], m[1]) {
				t.Errorf("%T: %x came out as %x, %v", m[1], b, again, err)
			}
		}
	})
}
