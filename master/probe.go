package master

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"github.com/millrace/millrace/master/tracker"
)

// A connection that breaks tells the master at once that the worker whose report waits on it is gone. A worker that
// dies between two reports has no connection to break. When its report is overdue, the master connects to its address.
// If the machine says that nobody listens there, the worker is dead. A machine that does not answer at all proves
// nothing; the worker is then dead when it has been silent for too long.

// probe, called in the loop, probes workers that should have reported by now.
func (m *Master) probe(now time.Duration) {
	for _, o := range m.jobs.Overdue(now, m.cfg.Hold+m.cfg.Gone) {
		if m.probing[o.Node] {
			continue
		}
		m.probing[o.Node] = true
		m.wg.Go(func() {
			gone := m.refused(o.Addr)
			m.do(func(now time.Duration) { m.probed(now, o, gone) })
		})
	}
}

func (m *Master) probed(now time.Duration, o tracker.Late, gone bool) {
	delete(m.probing, o.Node)
	if !gone {
		return
	}
	for _, still := range m.jobs.Overdue(now, m.cfg.Hold+m.cfg.Gone) {
		if still == o {
			m.cfg.Log.Warn("worker is gone", "node", o.Node)
			m.jobs.NodeGone(now, o.Node, o.Session, "nobody listens at its address")
			m.names.Lost(o.Node)
		}
	}
}

// refused reports whether the machine at an address says that nobody listens there.
func (m *Master) refused(addr string) bool {
	ctx, cancel := context.WithTimeout(m.ctx, time.Second)
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return errors.Is(err, syscall.ECONNREFUSED)
	}
	_ = c.Close() // nothing was sent
	return false
}
