//go:build !amd64 && !arm64

package prefetch

// At does nothing where we have no instruction for it.
func At(*byte) {}
