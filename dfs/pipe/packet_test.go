package pipe

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/internal/wire"
)

func TestPacketsRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var b, got Buffer
		n := copy(b.Room(), rapid.SliceOfN(rapid.Byte(), 0, 1000).Draw(rt, "data"))
		p := b.Seal(n, rapid.Int64Range(0, 1<<40).Draw(rt, "off"), rapid.Bool().Draw(rt, "last"))
		q, err := ReadPacket(bytes.NewReader(p.raw), &got)
		if err != nil || q.Off != p.Off || q.Last != p.Last || !bytes.Equal(q.Data, p.Data) || q.CRC != p.CRC {
			rt.Fatalf("%v came back as %v, %v", p, q, err)
		}
		flip := rapid.IntRange(0, len(p.raw)*8-1).Draw(rt, "flip")
		p.raw[flip/8] ^= 1 << (flip % 8)
		if q, err := ReadPacket(bytes.NewReader(p.raw), &got); err == nil {
			rt.Fatalf("bit %d flipped, read as %v", flip, q)
		}
	})
}

func TestAcksRoundTrip(t *testing.T) {
	for _, a := range []Ack{
		{}, {Off: 1 << 40}, {Off: 7, Done: true}, {Failed: true, At: 2, Kind: wire.NoSpace, Text: "full"},
	} {
		raw := a.Append(nil)
		got, err := ReadAck(bytes.NewReader(raw))
		if err != nil || got != a {
			t.Errorf("%v came back as %v, %v", a, got, err)
		}
		for bit := range len(raw) * 8 {
			bad := bytes.Clone(raw)
			bad[bit/8] ^= 1 << (bit % 8)
			if got, err := ReadAck(bytes.NewReader(bad)); err == nil {
				t.Errorf("%v with bit %d flipped was read as %v", a, bit, got)
			}
		}
	}
}

// FuzzPacket and FuzzAck: no bytes make the readers panic.
func FuzzPacket(f *testing.F) {
	var b Buffer
	p := b.Seal(copy(b.Room(), "data"), 65536, true)
	f.Add(p.raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var b Buffer
		if p, err := ReadPacket(bytes.NewReader(raw), &b); err == nil && Checksum(p.Data) != p.CRC {
			t.Error("a packet with a wrong checksum passed")
		}
	})
}

func FuzzAck(f *testing.F) {
	f.Add((&Ack{Off: 3, Failed: true, Text: "x"}).Append(nil))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if a, err := ReadAck(bytes.NewReader(raw)); err == nil && len(a.Text) > len(raw) {
			t.Errorf("%d bytes of text in %d", len(a.Text), len(raw))
		}
	})
}

// answer is what a block service sends for a range.
func answer(data []byte, off, length int64) []byte {
	from, to := Cover(int64(len(data)), off, length)
	var out []byte
	for at := from; at < to; at += ChunkSize {
		out = binary.LittleEndian.AppendUint32(out, Checksum(data[at:min(at+ChunkSize, to)]))
	}
	return append(out, data[from:to]...)
}

// readPieces reads all there is with a buffer of that size.
func readPieces(r io.Reader, size int) (all []byte, err error) {
	for p := make([]byte, size); ; {
		n, err := r.Read(p)
		all = append(all, p[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func TestCheckedReadsAnyRange(t *testing.T) {
	data := make([]byte, 3*ChunkSize+123)
	for i := range data {
		data[i] = byte(i * i >> 3)
	}
	b := wire.Block{ID: 1, Gen: 1, Len: int64(len(data))}
	rapid.Check(t, func(rt *rapid.T) {
		off := rapid.Int64Range(0, b.Len-1).Draw(rt, "off")
		length := rapid.Int64Range(1, b.Len-off).Draw(rt, "length")
		raw := answer(data, off, length)
		r, err := NewChecked(io.NopCloser(bytes.NewReader(raw)), b, off, length, "b")
		if err != nil {
			rt.Fatal(err)
		}
		piece := rapid.SampledFrom([]int{1000, ChunkSize - 1, ChunkSize, ChunkSize + 1, 3 * ChunkSize, 1 << 20}).Draw(rt, "piece")
		got, err := readPieces(r, piece)
		if err != nil || !bytes.Equal(got, data[off:off+length]) {
			rt.Fatalf("read %d bytes of %d, %v", len(got), length, err)
		}
		at := rapid.IntRange(0, len(raw)-1).Draw(rt, "flip")
		raw[at] ^= 4
		if r, err = NewChecked(io.NopCloser(bytes.NewReader(raw)), b, off, length, "b"); err == nil {
			got, err = readPieces(r, piece)
		}
		if err == nil || !bytes.HasPrefix(data[off:], got) {
			rt.Fatalf("byte %d flipped, %d bytes handed out, %v", at, len(got), err)
		}
	})
}
