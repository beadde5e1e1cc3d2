package rpc

import (
	"container/list"
	"net"
	"sync"
	"time"
)

// A door holds connections that have not authenticated yet. When it is full, it closes the oldest connection of the
// address that has the most, so that no address can keep others out. Handshakes take turns.
type door struct {
	space int
	all   int // turns

	mu      sync.Mutex // guards the fields below
	waiting *list.List // of *countedConn, longest first
	byHost  map[string]int
	turns   int            // free turns
	queue   []*countedConn // for a turn, longest first
	used    time.Duration  // time used by turns, less what was free
	last    time.Time      // when used last changed
}

func newDoor(space, turns int) *door {
	return &door{space: space, waiting: list.New(), byHost: map[string]int{}, all: turns, turns: turns}
}

// enter admits a connection. If there is no space, it closes another one, which then leaves.
func (d *door) enter(c *countedConn) {
	d.mu.Lock()
	c.place = d.waiting.PushBack(c)
	d.byHost[c.host]++
	var out net.Conn
	if d.waiting.Len() > d.space {
		out = d.longest()
	}
	d.mu.Unlock()
	if out != nil {
		_ = out.Close() // it belongs to a stranger
	}
}

// longest removes and returns the oldest connection of the address that has the most. It prefers connections that
// have sent nothing to those that wait for their turn.
func (d *door) longest() net.Conn {
	most := ""
	for host, n := range d.byHost {
		if n > d.byHost[most] || n == d.byHost[most] && host < most {
			most = host
		}
	}
	var out *countedConn
	for e := d.waiting.Front(); e != nil; e = e.Next() {
		c := e.Value.(*countedConn)
		if idle := c.turn == (turn{}); c.host == most && (idle || out == nil) {
			if out = c; idle {
				break
			}
		}
	}
	d.remove(out)
	return out
}

// leave removes a connection that is authenticated now, or closed. A second call does nothing.
func (d *door) leave(c *countedConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(c)
}

func (d *door) remove(c *countedConn) {
	if c.place == nil {
		return
	}
	d.waiting.Remove(c.place)
	c.place = nil
	c.known.Store(true)
	d.giveUp(c)
	if d.byHost[c.host]--; d.byHost[c.host] == 0 {
		delete(d.byHost, c.host)
	}
}

// A doorListener counts connections and passes them to the door.
type doorListener struct {
	net.Listener
	s *Server
}

func (l doorListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	host := hostOf(c.RemoteAddr().String())
	cc := countConn(c, l.s.cfg.Meter, l.s.cfg.Shaper, Peer{host, Control})
	cc.server, cc.host = l.s, host
	l.s.door.enter(cc)
	return cc, nil
}
