package shuffle

// slabBytes is how much memory a large pool takes from the heap at a time. Records are sorted by reference and then
// read in random order. With pages of 4 KiB nearly every such read also misses the translation cache, so slabs ask
// for huge pages.
const slabBytes = 16 << 20

// newBlocks allocates blocks: a slab of them in a large pool, one in a small pool.
func newBlocks(blockSize int, limit int64) [][]byte {
	if limit < 4*slabBytes {
		return [][]byte{make([]byte, blockSize)}
	}
	slab := make([]byte, slabBytes)
	adviseHuge(slab)
	blocks := make([][]byte, 0, slabBytes/blockSize)
	for len(slab) > 0 {
		blocks = append(blocks, slab[:blockSize:blockSize])
		slab = slab[blockSize:]
	}
	return blocks
}
