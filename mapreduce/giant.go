package mapreduce

// giantBuffer is where the room of one record matters: a few at once, one in use and others that wait for the garbage
// collector, would be most of a small budget.
const giantBuffer = 8 << 20

// giveBack returns the pages behind a giant buffer that nobody will look at again to the system, now: the
// collector would do so only when it is next about to run out.
func giveBack(b []byte) {
	if len(b) >= giantBuffer {
		returnPages(b)
	}
}
