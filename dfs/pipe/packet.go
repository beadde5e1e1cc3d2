package pipe

import (
	"encoding/binary"
	"io"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// ChunkSize is how many bytes share a checksum, and the most that a packet carries.
const ChunkSize = 64 << 10

// Checksum is the CRC32C of a chunk.
func Checksum(chunk []byte) uint32 { return codec.Sum(chunk) }

// Extend continues crc, a checksum, with p.
func Extend(crc uint32, p []byte) uint32 { return codec.AddSum(crc, p) }

// Chunks returns the number of chunks in n bytes.
func Chunks(n int64) int64 { return (n + ChunkSize - 1) / ChunkSize }

// A Buffer holds one packet as it is on the wire, little endian: length of the data u32, CRC
// of the data u32, offset in the block u64, flags u8, three zero bytes, CRC of these 20
// bytes u32, data. A packet without data that is not the last keeps the connection alive.
type Buffer [packetHeader + ChunkSize]byte

// Room returns the space for a packet's data.
func (b *Buffer) Room() []byte { return b[packetHeader:] }

// A Packet is one chunk in flight. It is valid until its Buffer changes.
type Packet struct {
	Off  int64
	Data []byte
	CRC  uint32
	Last bool
	raw  []byte
}

// End returns where in the block the packet ends.
func (p *Packet) End() int64 { return p.Off + int64(len(p.Data)) }

const (
	packetHeader = 24
	lastFlag     = 1
)

// Seal makes a packet of the first n bytes of the Buffer's data.
func (b *Buffer) Seal(n int, off int64, last bool) Packet {
	p := Packet{Off: off, Data: b[packetHeader : packetHeader+n], Last: last, raw: b[:packetHeader+n]}
	p.CRC = Checksum(p.Data)
	binary.LittleEndian.PutUint32(b[0:], uint32(n))
	binary.LittleEndian.PutUint32(b[4:], p.CRC)
	binary.LittleEndian.PutUint64(b[8:], uint64(off))
	binary.LittleEndian.PutUint32(b[16:], 0)
	if last {
		b[16] = lastFlag
	}
	binary.LittleEndian.PutUint32(b[20:], Checksum(b[:20]))
	return p
}

// ReadPacket reads the next packet into b and verifies it. Damage is wire.Corrupt.
func ReadPacket(r io.Reader, b *Buffer) (Packet, error) {
	h := b[:packetHeader]
	if _, err := io.ReadFull(r, h); err != nil {
		return Packet{}, err
	}
	n, off := binary.LittleEndian.Uint32(h[0:]), int64(binary.LittleEndian.Uint64(h[8:]))
	if Checksum(h[:20]) != binary.LittleEndian.Uint32(h[20:]) || n > ChunkSize || off < 0 || h[16] > lastFlag {
		return Packet{}, wire.Errorf(wire.Corrupt, "the header of a packet is damaged")
	}
	p := Packet{Off: off, Data: b[packetHeader : packetHeader+n], CRC: binary.LittleEndian.Uint32(h[4:]), Last: h[16] == lastFlag, raw: b[:packetHeader+n]}
	if _, err := io.ReadFull(r, p.Data); err != nil {
		return Packet{}, wire.Errorf(wire.Unavailable, "packet at %d cut short: %w", off, err)
	}
	if Checksum(p.Data) != p.CRC {
		return Packet{}, wire.Errorf(wire.Corrupt, "packet at %d has another checksum than its sender saw", off)
	}
	return p, nil
}

// An Ack goes back up the pipeline. It says that its sender and all replicas behind it have the first Off
// bytes, or, with Failed set, that the replica At (0 is the sender itself) broke. On the wire: offset u64,
// state u8 (1 done, 2 failed), at u8, kind u8, zero u8, length of the text u32, CRC of these and the text u32,
// text.
type Ack struct {
	Off    int64
	Done   bool // the block is finished and on disk
	Failed bool
	At     int
	Kind   wire.Kind
	Text   string
}

const ackHeader = 20

// Append encodes the ack.
func (a *Ack) Append(buf []byte) []byte {
	text := a.Text[:min(len(a.Text), 1<<12)]
	at := len(buf)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(a.Off))
	state := byte(0)
	if a.Done {
		state = 1
	}
	if a.Failed {
		state = 2
	}
	buf = append(buf, state, byte(a.At), byte(a.Kind), 0)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(text)))
	buf = binary.LittleEndian.AppendUint32(buf, 0)
	buf = append(buf, text...)
	binary.LittleEndian.PutUint32(buf[at+16:], Extend(Checksum(buf[at:at+16]), buf[at+ackHeader:]))
	return buf
}

// ReadAck reads and verifies the next ack.
func ReadAck(r io.Reader) (Ack, error) {
	var h [ackHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Ack{}, err
	}
	n := binary.LittleEndian.Uint32(h[12:])
	if n > 1<<12 || h[8] > 2 {
		return Ack{}, wire.Errorf(wire.Corrupt, "an acknowledgement is damaged")
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return Ack{}, err
	}
	if Extend(Checksum(h[:16]), text) != binary.LittleEndian.Uint32(h[16:]) {
		return Ack{}, wire.Errorf(wire.Corrupt, "an acknowledgement is damaged")
	}
	return Ack{
		Off: int64(binary.LittleEndian.Uint64(h[:])), Done: h[8] == 1, Failed: h[8] == 2,
		At: int(h[9]), Kind: wire.Kind(h[10]), Text: string(text),
	}, nil
}
