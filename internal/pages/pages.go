// Package pages returns memory to the system before the garbage collector would. A few large unused buffers are most
// of a small budget, and the collector frees them only when it is next about to run out.
package pages

// Large is the size from which a single buffer matters.
const Large = 1 << 20

// Drop frees a buffer that is no longer used, if it is large.
func Drop(b []byte) {
	if b = b[:cap(b)]; len(b) >= Large {
		Return(b)
	}
}

// Spare returns the memory of a buffer for n bytes to be appended, without its content. It keeps nothing of a large
// buffer for a small record.
func Spare(b []byte, n int) []byte {
	if cap(b) >= Large && n < Large {
		Drop(b)
		return nil
	}
	return b[:0]
}
