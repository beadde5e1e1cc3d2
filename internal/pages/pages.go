// Package pages gives memory back to the system before the garbage collector would: a few large buffers that nobody will look at
// again are most of a small budget, and the collector frees them only when it is next about to run out.
package pages

// Large is where the memory of one buffer matters.
const Large = 1 << 20

// Drop gives a buffer back that nobody will look at again, if it is large.
func Drop(b []byte) {
	if b = b[:cap(b)]; len(b) >= Large {
		Return(b)
	}
}

// Spare is the memory of a buffer for n bytes that are to be appended, without what is in it. Of a large buffer that a small record is to use nothing is
// kept.
func Spare(b []byte, n int) []byte {
	if cap(b) >= Large && n < Large {
		Drop(b)
		return nil
	}
	return b[:0]
}
