package master

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/millrace/millrace/master/core"
)

// A worker whose report waits here is missed as soon as its connection breaks. One that died between two reports has no
// connection to break: when it is overdue the master knocks at its door, and if nobody listens there any more it is dead.
// A door that does not answer at all says nothing; then only silence does.

// knock, in the loop, looks after workers that should have reported by now.
func (m *Master) knock(now time.Duration) {
	for _, o := range m.core.Overdue(now, m.cfg.Hold+m.cfg.Gone) {
		if m.knocking[o.Node] {
			continue
		}
		m.knocking[o.Node] = true
		m.wg.Go(func() {
			gone := m.refused(o.Addr)
			m.do(func(now time.Duration) { m.knocked(now, o, gone) })
		})
	}
}

func (m *Master) knocked(now time.Duration, o core.Late, gone bool) {
	delete(m.knocking, o.Node)
	if !gone {
		return
	}
	for _, still := range m.core.Overdue(now, m.cfg.Hold+m.cfg.Gone) {
		if still == o {
			m.cfg.Log.Warn("worker is gone", "node", o.Node)
			m.core.NodeGone(now, o.Node, o.Session, "nobody listens at its address")
			m.names.Lost(o.Node)
		}
	}
}

// refused reports whether the machine of an address says that nobody listens there.
func (m *Master) refused(addr string) bool {
	ctx, cancel := context.WithTimeout(m.ctx, time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = c.Close() // nothing was said
	return false
}
