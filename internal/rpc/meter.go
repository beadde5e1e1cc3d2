package rpc

import (
	"container/list"
	"io"
	"maps"
	"net"
	"sync"
	"sync/atomic"

	"github.com/millrace/millrace/internal/wire"
)

// Bytes counts what went to and came from one peer.
type Bytes struct{ Sent, Received int64 }

// Traffic is what bytes are for.
type Traffic string

// The kinds of traffic.
const (
	Control Traffic = "control"           // calls
	Block   Traffic = "block"             // blocks, read and written
	Shuffle Traffic = "shuffle"           // map output
	Circuit Traffic = wire.CircuitTraffic // map output by an optical circuit
)

// A Peer is one line of a Meter: with whom bytes were exchanged (the node's name if known, else the address), and
// for what.
type Peer struct {
	Name string
	What Traffic
}

// A Meter counts bytes by peer and kind. The zero Meter is ready for use.
type Meter struct {
	mu    sync.Mutex // guards peers
	peers map[Peer]*counts
}

// maxPeers bounds a Meter, since callers choose their names.
const maxPeers = 8192

type counts struct{ sent, received atomic.Int64 }

func (m *Meter) of(p Peer) *counts {
	if m == nil {
		return &counts{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.peers[p]
	if c == nil {
		if m.peers == nil {
			m.peers = map[Peer]*counts{}
		}
		c = &counts{}
		if len(m.peers) < maxPeers {
			m.peers[p] = c
		}
	}
	return c
}

// Read returns the totals so far.
func (m *Meter) Read() map[Peer]Bytes {
	m.mu.Lock()
	peers := maps.Clone(m.peers)
	m.mu.Unlock()
	out := make(map[Peer]Bytes, len(peers))
	for p, c := range peers {
		out[p] = Bytes{c.sent.Load(), c.received.Load()}
	}
	return out
}

// A Shaper delays a transfer of n bytes between this process and a peer, as a slower network would. It may block. It
// returns early when the transfer is given up.
type Shaper interface {
	// Route returns as what traffic an answer of that many bytes goes to a peer. together says that it counts as one
	// with others.
	Route(p Peer, bytes int64, together bool) Traffic
	// Send is called for n bytes of an answer that was announced, or with nil for anything else.
	Send(p Peer, n int, t *Transfer)
	Receive(p Peer, n int)
}

// A Transfer is an answer whose length was announced. It tells the Shaper what is still to come.
type Transfer struct {
	Due  int64 // bytes not sent yet
	Seen int64 // for the Shaper's own use
}

// shapeStep is how many bytes move between two calls of the Shaper, and are counted when they have moved. On a slow
// link that many share, a larger step would take seconds, and an observer would see the link idle and then overfull.
const shapeStep = 16 << 10

// sendStep is how many bytes move between two counts without a Shaper.
const sendStep = 1 << 20

// A countedConn counts and shapes what passes. It implements ReadFrom, without which files would not be sent with
// sendfile.
type countedConn struct {
	net.Conn
	peer   atomic.Pointer[peerCounts]
	shaper Shaper
	answer atomic.Pointer[Transfer] // the one being sent, if it was announced

	// Of connections to a server.
	server *Server
	host   string
	place  *list.Element           // at the door, whose mutex guards it
	turn   turn                    // likewise
	writes bool                    // likewise
	known  atomic.Bool             // has left the door
	owner  atomic.Pointer[account] // for whom it is counted
}

type peerCounts struct {
	Peer
	*counts
}

func countConn(c net.Conn, m *Meter, s Shaper, peer Peer) *countedConn {
	cc := &countedConn{Conn: c, shaper: s}
	cc.rename(m, peer)
	return cc
}

// rename sets who the peer turned out to be, and the kind of traffic. What was counted before stays where it is.
func (c *countedConn) rename(m *Meter, peer Peer) {
	if old := c.peer.Load(); old == nil || old.Peer != peer {
		c.peer.Store(&peerCounts{peer, m.of(peer)})
	}
}

// belongs sets the owner of the connection, once.
func (c *countedConn) belongs(a account) error {
	c.server.door.leave(c)
	if c.owner.Load() != nil {
		return nil
	}
	one := holding{conns: 1}
	if err := c.server.books.take(a, one); err != nil {
		return err
	}
	if !c.owner.CompareAndSwap(nil, &a) { // it was closed meanwhile
		c.server.books.give(a, one)
	}
	return nil
}

// Close releases what the connection is counted for.
func (c *countedConn) Close() error {
	if c.server != nil {
		c.server.door.leave(c)
		if a := c.owner.Swap(&account{}); a != nil {
			c.server.books.give(*a, holding{conns: 1})
		}
	}
	return c.Conn.Close()
}

func (c *countedConn) Read(p []byte) (int, error) {
	c.rest()
	n, err := c.Conn.Read(p)
	peer := c.peer.Load()
	peer.received.Add(int64(n))
	if c.shaper != nil && n > 0 {
		c.shaper.Receive(peer.Peer, n)
	}
	if n > 0 {
		c.work()
	}
	return n, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writing(true)
	defer c.writing(false)
	peer := c.peer.Load()
	if c.shaper == nil {
		n, err := c.Conn.Write(p)
		peer.sent.Add(int64(n))
		return n, err
	}
	done := 0
	for done < len(p) {
		step := p[done:min(len(p), done+shapeStep)]
		c.shaper.Send(peer.Peer, len(step), c.answer.Load())
		n, err := c.Conn.Write(step)
		done += n
		peer.sent.Add(int64(n))
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// ReadFrom passes a file to the system in steps.
func (c *countedConn) ReadFrom(r io.Reader) (int64, error) {
	rf, ok := c.Conn.(io.ReaderFrom)
	if !ok {
		return io.Copy(struct{ io.Writer }{c}, r)
	}
	peer := c.peer.Load()
	left := int64(1<<63 - 1)
	if lr, ok := r.(*io.LimitedReader); ok {
		r, left = lr.R, lr.N
		defer func() { lr.N = left }()
	}
	var total int64
	for left > 0 {
		step := min(left, sendStep)
		if c.shaper != nil {
			step = min(left, shapeStep)
			c.shaper.Send(peer.Peer, int(step), c.answer.Load())
		}
		n, err := rf.ReadFrom(&io.LimitedReader{R: r, N: step})
		total, left = total+n, left-n
		peer.sent.Add(n)
		if err != nil || n < step {
			return total, err
		}
	}
	return total, nil
}
