package wire

import (
	"encoding/binary"
	"math"

	"github.com/millrace/millrace/internal/codec"
)

// The calls that clients make most often have a binary form beside JSON, which costs a tenth of the time. A message
// is a byte for its kind, then its fields in order: numbers as varints, texts with their length in front, flags as
// bits of one byte, the first in the lowest.
const (
	pathForm byte = iota + 1
	infoForm
	createForm
	createdForm
	completeForm
)

// open starts reading a message of a kind.
func open(b []byte, kind byte) codec.Reader {
	r := codec.NewReader(b)
	if r.Byte() != kind {
		r.Fail()
	}
	return r
}

// ended returns an error unless a message is complete and nothing follows.
func ended(r *codec.Reader, what string) error {
	if err := r.End(); err != nil {
		return Errorf(Invalid, "the binary form of %s: %w", what, err)
	}
	return nil
}

// AppendBinary encodes the request.
func (r *PathRequest) AppendBinary(b []byte) ([]byte, error) {
	return codec.AppendText(codec.AppendText(append(b, pathForm), r.Path), r.User), nil
}

// UnmarshalBinary decodes the request.
func (r *PathRequest) UnmarshalBinary(b []byte) error {
	f := open(b, pathForm)
	r.Path, r.User = f.Text(), f.Text()
	return ended(&f, "a request")
}

// AppendBinary encodes the description.
func (i *FileInfo) AppendBinary(b []byte) ([]byte, error) {
	return i.fields(append(b, infoForm)), nil
}

func (i *FileInfo) fields(b []byte) []byte {
	b = codec.AppendBits(b, i.Dir, i.Open, i.HasCRC)
	b = codec.AppendText(codec.AppendText(codec.AppendText(b, i.Path), i.User), i.Group)
	b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(i.ID)), uint64(i.Mode))
	for _, v := range []int64{i.Len, int64(i.Replication), i.BlockSize, int64(i.Blocks), i.ModTime} {
		b = binary.AppendVarint(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, i.CRC)
}

// UnmarshalBinary decodes the description.
func (i *FileInfo) UnmarshalBinary(b []byte) error {
	f := open(b, infoForm)
	i.read(&f)
	return ended(&f, "a file's description")
}

func (i *FileInfo) read(f *codec.Reader) {
	bits := f.Bits(3)
	i.Dir, i.Open, i.HasCRC = bits&1 != 0, bits&2 != 0, bits&4 != 0
	i.Path, i.User, i.Group = f.Text(), f.Text(), f.Text()
	i.ID, i.Mode = FileID(f.Uint()), uint16(f.AtMost(math.MaxUint16))
	i.Len, i.Replication, i.BlockSize = f.Int(), int(f.Int()), f.Int()
	i.Blocks, i.ModTime, i.CRC = int(f.Int()), f.Int(), f.Uint32()
}

// AppendBinary encodes the request.
func (r *CreateRequest) AppendBinary(b []byte) ([]byte, error) {
	b = codec.AppendBits(append(b, createForm), r.Overwrite, r.Parents, r.Umask != "")
	b = codec.AppendText(codec.AppendText(b, r.Path), r.User)
	b = codec.AppendText(codec.AppendText(b, r.Holder), r.Request)
	b = binary.AppendVarint(binary.AppendVarint(b, int64(r.Replication)), r.BlockSize)
	if r.Umask != "" { // older masters understand only requests without it
		b = codec.AppendText(b, r.Umask)
	}
	return b, nil
}

// UnmarshalBinary decodes the request.
func (r *CreateRequest) UnmarshalBinary(b []byte) error {
	f := open(b, createForm)
	bits := f.Bits(3)
	r.Overwrite, r.Parents, r.Umask = bits&1 != 0, bits&2 != 0, ""
	r.Path, r.User, r.Holder, r.Request = f.Text(), f.Text(), f.Text(), f.Text()
	r.Replication, r.BlockSize = int(f.Int()), f.Int()
	if bits&4 != 0 {
		r.Umask = Umask(f.Text())
	}
	return ended(&f, "a request to create")
}

// AppendBinary encodes the answer.
func (r *CreateResponse) AppendBinary(b []byte) ([]byte, error) {
	return r.File.fields(append(b, createdForm)), nil
}

// UnmarshalBinary decodes the answer.
func (r *CreateResponse) UnmarshalBinary(b []byte) error {
	f := open(b, createdForm)
	r.File.read(&f)
	return ended(&f, "a created file")
}

// AppendBinary encodes the request.
func (r *CompleteRequest) AppendBinary(b []byte) ([]byte, error) {
	b = codec.AppendBits(append(b, completeForm), r.Last != nil)
	b = codec.AppendText(binary.AppendUvarint(b, uint64(r.File)), r.Holder)
	b = binary.LittleEndian.AppendUint32(b, r.CRC)
	b = binary.AppendUvarint(b, uint64(len(r.Stored)))
	for _, n := range r.Stored {
		b = codec.AppendText(b, n)
	}
	if r.Last != nil {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.Last.ID)), r.Last.Gen)
		b = binary.AppendVarint(b, r.Last.Len)
	}
	return b, nil
}

// UnmarshalBinary decodes the request.
func (r *CompleteRequest) UnmarshalBinary(b []byte) error {
	f := open(b, completeForm)
	bits := f.Bits(1)
	r.File, r.Holder, r.CRC, r.Stored, r.Last = FileID(f.Uint()), f.Text(), f.Uint32(), nil, nil
	for range f.Count() {
		r.Stored = append(r.Stored, NodeName(f.Text()))
	}
	if bits != 0 {
		r.Last = &Block{ID: BlockID(f.Uint()), Gen: f.Uint(), Len: f.Int()}
	}
	return ended(&f, "a request to complete")
}
