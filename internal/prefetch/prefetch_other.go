//go:build !amd64 && !arm64

package prefetch

// At does nothing on processors for which there is no implementation.
func At(*byte) {}
