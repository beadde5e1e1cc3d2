package sizebased

// A ring holds the sizes of the last jobs that finished, K-1 at most
// (spec/slowdown 3.5).
type ring struct {
	sizes []float64
	next  int // the oldest, once the ring is full
	room  int
}

func newRing(room int) *ring { return &ring{sizes: make([]float64, 0, room), room: room} }

// push adds the size of a finished job and drops the oldest.
func (r *ring) push(size float64) {
	switch {
	case r.room == 0:
	case len(r.sizes) < r.room:
		r.sizes = append(r.sizes, size)
	default:
		r.sizes[r.next] = size
		r.next = (r.next + 1) % r.room
	}
}

// rank returns how many of the sizes are smaller than size. Ties count as not
// larger; a short ring counts what it has (spec/slowdown 3.5).
func (r *ring) rank(size float64) int {
	m := 0
	for _, s := range r.sizes {
		if size > s {
			m++
		}
	}
	return m
}
