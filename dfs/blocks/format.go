package blocks

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/wire"
)

// A block file is a header, the data, a table of the chunks' checksums, and a footer, all
// little endian:
//
//	header  0  "MRBLOCK1"              8 bytes
//	        8  block id                u64
//	        16 size of a chunk         u32
//	        20 zero                    u64
//	        28 CRC32C of these         u32
//	data    as written
//	table   CRC32C of each chunk       u32 each
//	footer  0  block id                u64
//	        8  generation              u64
//	        16 length of the data      u64
//	        24 CRC32C of the table     u32
//	        28 "MREND001"              8 bytes
//	        36 CRC32C of these         u32
const (
	headerSize = 32
	footerSize = 40
	magic      = "MRBLOCK1"
	endMagic   = "MREND001"
)

// maxBlock bounds what a footer may claim: 1 TiB, far above any block size.
const maxBlock = 1 << 40

func encodeHeader(id wire.BlockID) []byte {
	b := append([]byte(magic), make([]byte, headerSize-len(magic))...)
	binary.LittleEndian.PutUint64(b[8:], uint64(id))
	binary.LittleEndian.PutUint32(b[16:], pipe.ChunkSize)
	binary.LittleEndian.PutUint32(b[28:], pipe.Checksum(b[:28]))
	return b
}

func checkHeader(b []byte, id wire.BlockID) error {
	switch {
	case len(b) != headerSize || string(b[:7]) != magic[:7]:
		return wire.Errorf(wire.Corrupt, "not a block file")
	case b[7] != magic[7]:
		return wire.Errorf(wire.Invalid, "block file of version %q; this program reads %q", b[7], magic[7])
	case pipe.Checksum(b[:28]) != binary.LittleEndian.Uint32(b[28:]):
		return wire.Errorf(wire.Corrupt, "the header is damaged")
	case binary.LittleEndian.Uint32(b[16:]) != pipe.ChunkSize:
		return wire.Errorf(wire.Invalid, "chunks of %d bytes; this program reads %d", binary.LittleEndian.Uint32(b[16:]), pipe.ChunkSize)
	case binary.LittleEndian.Uint64(b[8:]) != uint64(id):
		return wire.Errorf(wire.Corrupt, "holds %s", wire.BlockID(binary.LittleEndian.Uint64(b[8:])))
	}
	return nil
}

// encodeTail returns the table and the footer.
func encodeTail(b wire.Block, crcs []uint32) []byte {
	out := make([]byte, 0, 4*len(crcs)+footerSize)
	for _, c := range crcs {
		out = binary.LittleEndian.AppendUint32(out, c)
	}
	table := pipe.Checksum(out)
	at := len(out)
	out = binary.LittleEndian.AppendUint64(out, uint64(b.ID))
	out = binary.LittleEndian.AppendUint64(out, b.Gen)
	out = binary.LittleEndian.AppendUint64(out, uint64(b.Len))
	out = binary.LittleEndian.AppendUint32(out, table)
	out = append(out, endMagic...)
	return binary.LittleEndian.AppendUint32(out, pipe.Checksum(out[at:]))
}

// decodeFooter returns the block and the checksum of its table.
func decodeFooter(f []byte) (wire.Block, uint32, error) {
	if len(f) != footerSize || string(f[28:36]) != endMagic || pipe.Checksum(f[:36]) != binary.LittleEndian.Uint32(f[36:]) {
		return wire.Block{}, 0, wire.Errorf(wire.Corrupt, "the footer is damaged")
	}
	b := wire.Block{
		ID:  wire.BlockID(binary.LittleEndian.Uint64(f[0:])),
		Gen: binary.LittleEndian.Uint64(f[8:]),
		Len: int64(binary.LittleEndian.Uint64(f[16:])),
	}
	if b.Len < 0 || b.Len > maxBlock {
		return wire.Block{}, 0, wire.Errorf(wire.Corrupt, "the footer claims %d bytes", b.Len)
	}
	return b, binary.LittleEndian.Uint32(f[24:]), nil
}

// fileSize returns the size of a file with n bytes of data.
func fileSize(n int64) int64 { return headerSize + n + 4*pipe.Chunks(n) + footerSize }

// Sized is a file to be checked.
type Sized interface {
	io.ReaderAt
	Size() (int64, error)
}

// readFooter reads the footer of a finished file and checks that it fits the file.
func readFooter(f Sized) (wire.Block, uint32, error) {
	size, err := f.Size()
	if err != nil {
		return wire.Block{}, 0, err
	}
	if size < headerSize+footerSize {
		return wire.Block{}, 0, wire.Errorf(wire.Corrupt, "%d bytes are too few for a block file", size)
	}
	var foot [footerSize]byte
	if err := readAt(f, foot[:], size-footerSize); err != nil {
		return wire.Block{}, 0, err
	}
	b, table, err := decodeFooter(foot[:])
	if err == nil && fileSize(b.Len) != size {
		err = wire.Errorf(wire.Corrupt, "%d bytes long, a block of %d needs %d", size, b.Len, fileSize(b.Len))
	}
	return b, table, err
}

// readAt fills p. Too few bytes count as damage.
func readAt(f io.ReaderAt, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF {
		return wire.Errorf(wire.Corrupt, "ends at %d, expected %d bytes more", off+int64(n), len(p)-n)
	}
	return err
}

// CheckFile verifies a whole block file against the block it should hold. It calls report with the size of each
// piece read; report may wait.
func CheckFile(f Sized, want wire.Block, report func(n int)) error {
	var head [headerSize]byte
	if err := readAt(f, head[:], 0); err != nil {
		return err
	}
	if err := checkHeader(head[:], want.ID); err != nil {
		return err
	}
	b, tableCRC, err := readFooter(f)
	if err != nil {
		return err
	}
	if b != want {
		return wire.Errorf(wire.Corrupt, "holds %v, should hold %v", b, want)
	}
	table := make([]byte, 4*pipe.Chunks(b.Len))
	if err := readAt(f, table, headerSize+b.Len); err != nil {
		return err
	}
	if pipe.Checksum(table) != tableCRC {
		return wire.Errorf(wire.Corrupt, "the table of checksums is damaged")
	}
	chunk := make([]byte, pipe.ChunkSize)
	for at := int64(0); at < b.Len; at += pipe.ChunkSize {
		chunk = chunk[:min(pipe.ChunkSize, b.Len-at)]
		if err := readAt(f, chunk, headerSize+at); err != nil {
			return err
		}
		if got, want := pipe.Checksum(chunk), binary.LittleEndian.Uint32(table[4*(at/pipe.ChunkSize):]); got != want {
			return wire.Errorf(wire.Corrupt, "chunk at %d has checksum %08x, should be %08x", at, got, want)
		}
		report(len(chunk))
	}
	return nil
}

// fileName returns a replica's name in its directory. parseName is its inverse.
func fileName(b wire.Block) string { return fmt.Sprintf("%016x_%d.blk", uint64(b.ID), b.Gen) }

func parseName(name string) (wire.Block, bool) {
	var b wire.Block
	var id uint64
	n, err := fmt.Sscanf(name, "%016x_%d.blk", &id, &b.Gen)
	b.ID = wire.BlockID(id)
	return b, n == 2 && err == nil && fileName(b) == name
}

// dirOf returns the directory of a block, one of 256.
func dirOf(b wire.Block) string { return fmt.Sprintf("blocks/%02x", byte(b.ID)) }
