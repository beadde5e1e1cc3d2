package rpc

import (
	"slices"
	"time"
)

// A turn lets a connection at the door make the server work: a handshake takes half a millisecond of a processor.
// While all processors are busy with handshakes, nobody notices what arrives on other connections, so there are half
// as many turns. A connection has its turn from the arrival of bytes until it waits for more, answers or leaves; it
// never waits for the network meanwhile. The address with the fewest connections at the door is next.
type turn struct {
	since time.Time     // since when it has a turn
	ready chan struct{} // closed when it gets its turn, or has left; nil unless it waits
}

// When there are many, turns pause, so that strangers take a quarter of the time that they could. The first ones do
// not: all workers of a cluster may come back at once, as may the tasks of a job.
const (
	turnShare = 4
	turnBurst = 100 * time.Millisecond // total length of turns before they pause
	maxPause  = 4 * time.Millisecond   // if others have the processors, a turn takes long and is little work
)

// work returns when the connection has a turn or needs none.
func (c *countedConn) work() {
	if c.server == nil || c.known.Load() {
		return
	}
	if ready := c.server.door.ask(c); ready != nil {
		<-ready
	}
}

// rest returns the turn that work took.
func (c *countedConn) rest() {
	if c.server == nil || c.known.Load() {
		return
	}
	d := c.server.door
	d.mu.Lock()
	defer d.mu.Unlock()
	d.giveUp(c)
}

// writing notes that a write begins or has ended. Meanwhile the connection has no turn, even if HTTP reads, because
// its peer may never accept what is written.
func (c *countedConn) writing(now bool) {
	if c.server == nil || c.known.Load() {
		return
	}
	d := c.server.door
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.writes = now; now {
		d.giveUp(c)
	}
}

// ask joins the queue for a turn. It returns what to wait for, or nil if the connection needs no turn.
func (d *door) ask(c *countedConn) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.place == nil || c.writes || !c.turn.since.IsZero() {
		return nil
	}
	ready := make(chan struct{})
	c.turn.ready = ready
	d.queue = append(d.queue, c)
	d.serve()
	return ready
}

// giveUp gives up a connection's turn, or its place in the queue for one.
func (d *door) giveUp(c *countedConn) {
	switch {
	case c.turn.ready != nil:
		d.queue = slices.DeleteFunc(d.queue, func(q *countedConn) bool { return q == c })
		close(c.turn.ready)
	case !c.turn.since.IsZero():
		if pause := d.pause(c.turn.since); pause > 0 {
			time.AfterFunc(pause, func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.back()
			})
		} else {
			defer d.back()
		}
	}
	c.turn = turn{}
}

// back makes a turn available again.
func (d *door) back() {
	d.turns++
	d.serve()
}

// pause returns how long to hold back a turn that began at since.
func (d *door) pause(since time.Time) time.Duration {
	now := time.Now()
	took := now.Sub(since)
	d.used = max(0, d.used-now.Sub(d.last)*time.Duration(d.all)/turnShare) + took
	d.last = now
	if d.used <= turnBurst {
		return 0
	}
	return min((turnShare-1)*took, maxPause)
}

// serve gives out turns.
func (d *door) serve() {
	for d.turns > 0 && len(d.queue) > 0 {
		c := d.next()
		close(c.turn.ready)
		c.turn = turn{since: time.Now()}
		d.turns--
	}
}

// next takes from the queue the oldest connection of the address with the fewest at the door.
func (d *door) next() *countedConn {
	at := 0
	for i, c := range d.queue {
		if d.byHost[c.host] < d.byHost[d.queue[at].host] {
			at = i
		}
	}
	c := d.queue[at]
	d.queue = slices.Delete(d.queue, at, at+1)
	return c
}
