package rpc

import (
	"slices"
	"time"
)

// A turn lets a connection at the door make the server work: to find out whose it is takes a handshake of half a millisecond of a
// processor. While all processors are at handshakes nobody looks for what has come on other connections, so there are half as many turns. A connection
// has one from when bytes of it are there until it waits for more, answers or leaves; none waits for the network
// meanwhile. Whose address has fewest at the door is next.
type turn struct {
	since time.Time     // it has it
	ready chan struct{} // closed when it has it, or has left; nil unless it waits
}

// When there are many, turns pause, so that strangers take a quarter of the time that turns could. The first do not: all workers of a
// cluster come back at once, and so do the tasks of a job.
const (
	turnShare = 4
	turnBurst = 100 * time.Millisecond // of turns, before they pause
	maxPause  = 4 * time.Millisecond   // where others have the processors, a turn takes long and is little work
)

// work returns when the connection has its turn, or needs none.
func (c *countedConn) work() {
	if c.server == nil || c.known.Load() {
		return
	}
	if ready := c.server.door.ask(c); ready != nil {
		<-ready
	}
}

// rest gives back what work took.
func (c *countedConn) rest() {
	if c.server == nil || c.known.Load() {
		return
	}
	d := c.server.door
	d.mu.Lock()
	defer d.mu.Unlock()
	d.giveUp(c)
}

// writing says that a write begins or has ended. Meanwhile the connection has no turn, also if HTTP reads on beside: its peer may never
// take what is written.
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

// ask gets into the queue for a turn. Unless it is there at once, ask returns what to wait for.
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

// giveUp takes a connection's turn, or its place in the queue for one.
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

// back is for a turn that is to be had again.
func (d *door) back() {
	d.turns++
	d.serve()
}

// pause is how long a turn that began then is nobody's.
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

// serve hands out turns.
func (d *door) serve() {
	for d.turns > 0 && len(d.queue) > 0 {
		c := d.next()
		close(c.turn.ready)
		c.turn = turn{since: time.Now()}
		d.turns--
	}
}

// next takes out of the queue who has waited longest of the address with the fewest connections here.
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
