//go:build !linux

package shuffle

// adviseHuge does nothing on systems without such advice.
func adviseHuge([]byte) {}
