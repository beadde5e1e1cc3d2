package master

import (
	"context"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A parked report waits for something to do.
type parked struct {
	reply   chan wire.Answer // room for one
	refused chan error       // room for one
	session string
}

// report answers a worker: at once if there is something to say, else when there is, or when the worker should report
// again.
func (m *Master) report(ctx context.Context, c rpc.Caller, r wire.Report) (wire.Answer, error) {
	if c.Node != string(r.Node) {
		return wire.Answer{}, wire.Errorf(wire.Denied, "node %s reports as %s", c.Node, r.Node)
	}
	if err := m.names.Meet(r.Node, r.Seen); err != nil {
		return wire.Answer{}, err
	}
	ans, err := m.held(ctx, &r)
	if ans.Epoch > 0 {
		ans.Name = m.names.Reign().Name
	}
	return ans, err
}

// held passes a report on and waits for the answer.
func (m *Master) held(ctx context.Context, r *wire.Report) (wire.Answer, error) {
	p := &parked{make(chan wire.Answer, 1), make(chan error, 1), r.Session}
	ok := m.do(func(now time.Duration) {
		if failed(r) {
			m.pause(now) // they may have failed for want of room, since the last tick
		}
		ans, err := m.jobs.Report(now, r, m.durable())
		if err != nil {
			p.refused <- err
			return
		}
		m.release(r.Node)             // the worker has reported again
		if r.Fresh || hasNews(&ans) { // a worker opens its block store once the master has accepted it
			p.reply <- ans
		} else {
			m.parked[r.Node] = p
		}
	})
	if !ok {
		return wire.Answer{}, wire.Errorf(wire.Unavailable, "the master is stopping")
	}
	hold := time.NewTimer(m.cfg.Hold)
	defer hold.Stop()
	select {
	case ans := <-p.reply:
		return ans, nil
	case err := <-p.refused:
		return wire.Answer{}, err
	case <-hold.C:
	case <-ctx.Done():
		m.lostTouch(r.Node, p)
		return wire.Answer{}, ctx.Err()
	}
	return m.overdue(ctx, r.Node, p)
}

// overdue answers a report that has waited long enough.
func (m *Master) overdue(ctx context.Context, n wire.NodeName, p *parked) (wire.Answer, error) {
	m.do(func(time.Duration) {
		if m.parked[n] == p {
			m.unpark(n, true)
		}
	})
	select {
	case ans := <-p.reply:
		return ans, nil
	case err := <-p.refused: // it came as the wait ended
		return wire.Answer{}, err
	case <-ctx.Done():
		m.lostTouch(n, p)
		return wire.Answer{}, ctx.Err()
	case <-m.ctx.Done(): // nobody is left to answer
		return wire.Answer{}, wire.Errorf(wire.Unavailable, "the master is stopping")
	}
}

func hasNews(a *wire.Answer) bool {
	return a.Full || len(a.Ended)+len(a.Launch)+len(a.Kill)+len(a.Drop) > 0
}

// unpark, called in the loop, answers the waiting report if there is something to say or it has waited long enough.
func (m *Master) unpark(n wire.NodeName, late bool) {
	p := m.parked[n]
	if p == nil {
		return
	}
	if ans := m.jobs.AnswerTo(n, m.durable()); late || hasNews(&ans) {
		delete(m.parked, n)
		p.reply <- ans
	}
}

// release answers, with an empty answer, a report that a newer one has overtaken.
func (m *Master) release(n wire.NodeName) {
	if p := m.parked[n]; p != nil {
		delete(m.parked, n)
		p.reply <- wire.Answer{}
	}
}

// lostTouch handles a broken connection of a waiting report. The worker is dead if it does not report again soon.
func (m *Master) lostTouch(n wire.NodeName, p *parked) {
	if m.ctx.Err() != nil {
		return
	}
	m.later(func(time.Duration) {
		if m.parked[n] == p {
			m.jobs.Loose(n, p.session)
		}
	})
	t := time.NewTimer(m.cfg.Gone)
	m.wg.Go(func() {
		defer t.Stop()
		select {
		case <-t.C:
		case <-m.ctx.Done():
			return
		}
		m.do(func(now time.Duration) {
			if m.parked[n] == p { // nothing newer has come
				delete(m.parked, n)
				m.cfg.Log.Warn("worker is gone", "node", n)
				m.jobs.NodeGone(now, n, p.session, "its connection broke")
				m.names.Lost(n)
			}
		})
	})
}
