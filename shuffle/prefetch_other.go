//go:build !amd64 && !arm64

package shuffle

// prefetch does nothing where we have no instruction for it.
func prefetch(*byte) {}
