//go:build !linux

package shuffle

// adviseHuge does nothing where there is no such advice.
func adviseHuge([]byte) {}
