package wire

import "encoding/binary"

// The calls that clients make most often have a binary form beside JSON: it costs a tenth of the time. A
// message is a byte that says which it is, then its fields in order: numbers as varints, texts
// with their length in front, flags as bits of one byte, the first in the lowest.
const (
	pathForm byte = iota + 1
	infoForm
	createForm
	createdForm
	completeForm
)

func putText[T ~string](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func putBits(b []byte, bits ...bool) []byte {
	var all byte
	for i, on := range bits {
		if on {
			all |= 1 << i
		}
	}
	return append(b, all)
}

// AppendBinary encodes the request.
func (r *PathRequest) AppendBinary(b []byte) ([]byte, error) {
	return putText(putText(append(b, pathForm), r.Path), r.User), nil
}

// UnmarshalBinary decodes it.
func (r *PathRequest) UnmarshalBinary(b []byte) error {
	f := open(b, pathForm)
	r.Path, r.User = f.Text(), f.Text()
	return f.End("a request")
}

// AppendBinary encodes the description.
func (i *FileInfo) AppendBinary(b []byte) ([]byte, error) {
	return i.fields(append(b, infoForm)), nil
}

func (i *FileInfo) fields(b []byte) []byte {
	b = putBits(b, i.Dir, i.Open, i.HasCRC)
	b = putText(putText(b, i.Path), i.User)
	b = binary.AppendUvarint(b, uint64(i.ID))
	for _, v := range []int64{i.Len, int64(i.Replication), i.BlockSize, int64(i.Blocks), i.ModTime} {
		b = binary.AppendVarint(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, i.CRC)
}

// UnmarshalBinary decodes it.
func (i *FileInfo) UnmarshalBinary(b []byte) error {
	f := open(b, infoForm)
	i.read(&f)
	return f.End("a file's description")
}

func (i *FileInfo) read(f *Form) {
	bits := f.Bits(3)
	i.Dir, i.Open, i.HasCRC = bits&1 != 0, bits&2 != 0, bits&4 != 0
	i.Path, i.User, i.ID = f.Text(), f.Text(), FileID(f.Number())
	i.Len, i.Replication, i.BlockSize = f.Signed(), int(f.Signed()), f.Signed()
	i.Blocks, i.ModTime, i.CRC = int(f.Signed()), f.Signed(), f.crc()
}

func (f *Form) crc() uint32 {
	if len(f.rest) < 4 {
		f.Fail()
		return 0
	}
	v := binary.LittleEndian.Uint32(f.rest)
	f.rest = f.rest[4:]
	return v
}

// AppendBinary encodes the request.
func (r *CreateRequest) AppendBinary(b []byte) ([]byte, error) {
	b = putBits(append(b, createForm), r.Overwrite, r.Parents)
	b = putText(putText(b, r.Path), r.User)
	b = putText(putText(b, r.Holder), r.Request)
	return binary.AppendVarint(binary.AppendVarint(b, int64(r.Replication)), r.BlockSize), nil
}

// UnmarshalBinary decodes it.
func (r *CreateRequest) UnmarshalBinary(b []byte) error {
	f := open(b, createForm)
	bits := f.Bits(2)
	r.Overwrite, r.Parents = bits&1 != 0, bits&2 != 0
	r.Path, r.User, r.Holder, r.Request = f.Text(), f.Text(), f.Text(), f.Text()
	r.Replication, r.BlockSize = int(f.Signed()), f.Signed()
	return f.End("a request to create")
}

// AppendBinary encodes the answer.
func (r *CreateResponse) AppendBinary(b []byte) ([]byte, error) {
	return r.File.fields(append(b, createdForm)), nil
}

// UnmarshalBinary decodes it.
func (r *CreateResponse) UnmarshalBinary(b []byte) error {
	f := open(b, createdForm)
	r.File.read(&f)
	return f.End("a created file")
}

// AppendBinary encodes the request.
func (r *CompleteRequest) AppendBinary(b []byte) ([]byte, error) {
	b = putBits(append(b, completeForm), r.Last != nil)
	b = putText(binary.AppendUvarint(b, uint64(r.File)), r.Holder)
	b = binary.LittleEndian.AppendUint32(b, r.CRC)
	b = binary.AppendUvarint(b, uint64(len(r.Stored)))
	for _, n := range r.Stored {
		b = putText(b, n)
	}
	if r.Last != nil {
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(r.Last.ID)), r.Last.Gen)
		b = binary.AppendVarint(b, r.Last.Len)
	}
	return b, nil
}

// UnmarshalBinary decodes it.
func (r *CompleteRequest) UnmarshalBinary(b []byte) error {
	f := open(b, completeForm)
	bits := f.Bits(1)
	r.File, r.Holder, r.CRC, r.Stored, r.Last = FileID(f.Number()), f.Text(), f.crc(), nil, nil
	n := f.Number()
	for range min(n, uint64(len(f.rest))) { // a text takes a byte at least
		r.Stored = append(r.Stored, NodeName(f.Text()))
	}
	if uint64(len(r.Stored)) != n {
		f.Fail()
	}
	if bits != 0 {
		r.Last = &Block{ID: BlockID(f.Number()), Gen: f.Number(), Len: f.Signed()}
	}
	return f.End("a request to complete")
}
