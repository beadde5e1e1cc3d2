//go:build !linux

package shuffle

// adviseHuge does nothing where there is no such advice.
func adviseHuge([]byte) {}

// returnMemory leaves blocks to the garbage collector.
func returnMemory([]byte) bool { return false }
