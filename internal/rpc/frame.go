package rpc

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/millrace/millrace/internal/codec"
	"github.com/millrace/millrace/internal/wire"
)

// A frame is a header of 24 bytes, little endian, and a payload:
//
//	0  length of the payload   u32
//	4  CRC32C of all but this  u32
//	8  id of the call          u64
//	16 milliseconds it may take, 0 for no limit (calls only)  u32
//	20 kind                    u8
//	21 length of the method's name, which begins the payload (calls only)  u8
//	22 form of the payload     u8
//	23 zero                    u8
const headerSize = 24

type frameKind uint8

const (
	callFrame   frameKind = iota + 1 // method name and request
	replyFrame                       // response
	errorFrame                       // a wire.Error
	cancelFrame                      // the caller no longer wants the answer
)

type header struct {
	length  uint32
	crc     uint32
	id      uint64
	millis  uint32
	kind    frameKind
	nameLen uint8
	form    form
}

// appendFrame appends a frame to buf.
func appendFrame(buf []byte, h header, name string, payload []byte) []byte {
	at := len(buf)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(name)+len(payload)))
	buf = binary.LittleEndian.AppendUint32(buf, 0)
	buf = binary.LittleEndian.AppendUint64(buf, h.id)
	buf = binary.LittleEndian.AppendUint32(buf, h.millis)
	buf = append(buf, byte(h.kind), byte(len(name)), byte(h.form), 0)
	buf = append(buf, name...)
	buf = append(buf, payload...)
	crc := codec.AddSum(codec.Sum(buf[at:at+4]), buf[at+8:])
	binary.LittleEndian.PutUint32(buf[at+4:], crc)
	return buf
}

// readFrame reads one frame whose payload is at most limit bytes. The payload is fresh
// memory. Damage is wire.Corrupt; the connection cannot be used after it.
func readFrame(r io.Reader, limit int) (header, []byte, error) {
	h, raw, err := readHeader(r, limit)
	if err != nil {
		return h, nil, err
	}
	payload, err := readPayload(r, h, int(h.length), headerSum(raw))
	return h, payload, err
}

// readHeader reads the header of a frame.
func readHeader(r io.Reader, limit int) (h header, raw [headerSize]byte, err error) {
	if _, err := io.ReadFull(r, raw[:]); err != nil {
		return h, raw, err
	}
	h = header{
		length:  binary.LittleEndian.Uint32(raw[0:]),
		crc:     binary.LittleEndian.Uint32(raw[4:]),
		id:      binary.LittleEndian.Uint64(raw[8:]),
		millis:  binary.LittleEndian.Uint32(raw[16:]),
		kind:    frameKind(raw[20]),
		nameLen: raw[21],
		form:    form(raw[22]),
	}
	if h.kind < callFrame || h.kind > cancelFrame || h.form > knownForms || uint32(h.nameLen) > h.length {
		return h, raw, wire.Errorf(wire.Corrupt, "frame of kind %d with a name of %d in %d bytes", h.kind, h.nameLen, h.length)
	}
	if int64(h.length) > int64(limit) {
		return h, raw, wire.Errorf(wire.TooLarge, "frame of %d bytes, the limit is %d", h.length, limit)
	}
	return h, raw, nil
}

// headerSum returns the checksum of a header.
func headerSum(raw [headerSize]byte) uint32 { return codec.AddSum(codec.Sum(raw[:4]), raw[8:]) }

// readPayload reads the last n bytes of a frame; sum is the checksum of what came before.
func readPayload(r io.Reader, h header, n int, sum uint32) ([]byte, error) {
	payload, err := codec.ReadN(r, nil, n)
	if err != nil {
		return nil, fmt.Errorf("frame cut short: %w", err)
	}
	if sum = codec.AddSum(sum, payload); sum != h.crc {
		return nil, wire.Errorf(wire.Corrupt, "frame of %d bytes has checksum %08x, should be %08x", h.length, sum, h.crc)
	}
	return payload, nil
}
