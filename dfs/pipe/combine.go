package pipe

// Checksums are remainders of polynomials. So the checksum of two adjacent pieces follows from theirs: the
// first times x to the number of bits of the second, plus the second. This is zlib's crc32_combine for CRC32C.
// Polynomials are written as the checksum is: the highest bit is the coefficient of 1.

const (
	castagnoliPoly = 0x82f63b78
	one            = 1 << 31
)

// times multiplies two polynomials modulo the checksum's.
func times(a, b uint32) (p uint32) {
	for bit := uint32(one); bit != 0; bit >>= 1 {
		if a&bit != 0 {
			p ^= b
		}
		if b = b>>1 ^ castagnoliPoly*(b&1); a&(bit-1) == 0 {
			break
		}
	}
	return p
}

// shift returns x to the 8n, which moves a product up by n bytes.
func shift(n int64) uint32 {
	p, square := uint32(one), uint32(one>>8)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = times(square, p)
		}
		square = times(square, square)
	}
	return p
}

// pastChunk is shift(ChunkSize), as most pieces are chunks.
var pastChunk = shift(ChunkSize)

// Combine returns the checksum of a piece with checksum a followed by n bytes with checksum b.
func Combine(a, b uint32, n int64) uint32 {
	if n == ChunkSize {
		return times(pastChunk, a) ^ b
	}
	return times(shift(n), a) ^ b
}

// CombineChunks returns the checksum of a block of size bytes from those of its chunks.
func CombineChunks(crcs []uint32, size int64) (all uint32) {
	for i, crc := range crcs {
		all = Combine(all, crc, min(ChunkSize, size-int64(i)*ChunkSize))
	}
	return all
}
