package pipe

import (
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A Head is the first replica of a pipeline, in the writer's own process. Packets go to it without a connection
// or a copy. Like a Sender, it is used by one goroutine.
type Head struct {
	r     receiver
	in    chan Packet
	over  chan struct{} // closed by Close
	gone  chan struct{} // closed when nothing more will be written
	close func()
}

// NewHead returns a head that writes from start on. open is as for Receive. closed is called once the head no
// longer uses the replica.
func NewHead(start int64, w Replica, t Timing, open func(notify func()) (*Sender, error), closed func()) (*Head, error) {
	h := &Head{in: make(chan Packet, 8), over: make(chan struct{}), gone: make(chan struct{})}
	h.r = receiver{timing: t, own: start, poke: make(chan struct{}, 1)}
	next, err := open(h.r.wake)
	if err != nil {
		closed()
		return nil, behind(err)
	}
	h.r.next = next
	h.close = sync.OnceFunc(func() {
		close(h.over)
		if next != nil {
			next.Close()
		}
	})
	go func() {
		defer closed()
		defer close(h.gone)
		h.write(w)
	}()
	return h, nil
}

// write writes packets until the last one, a failure, or Close.
func (h *Head) write(w Replica) {
	for {
		select {
		case <-h.over:
			return
		case p := <-h.in:
			if err := h.r.take(&p, w); err != nil {
				h.r.giveUp(err)
				return
			}
			if p.Last {
				return
			}
		}
	}
}

// Send gives a packet to the replica. Its Buffer must not change until the packet is acknowledged.
func (h *Head) Send(p *Packet) error {
	tick := time.NewTicker(h.r.timing.ack(0))
	defer tick.Stop()
	for {
		if _, _, err := h.State(); err != nil {
			return err
		}
		select {
		case h.in <- *p:
			return nil
		case <-h.gone:
			if _, _, err := h.State(); err != nil {
				return err
			}
			return &Broken{0, wire.Invalid, "a packet after the last"}
		case <-tick.C: // the disk may have stopped answering
		}
	}
}

// Wait is like Sender.Wait.
func (h *Head) Wait(off int64, done bool) error {
	tick := time.NewTicker(h.r.timing.ack(0) / 4)
	defer tick.Stop()
	for {
		acked, ended, err := h.State()
		switch {
		case err != nil:
			return err
		case ended || !done && acked >= off:
			return nil
		}
		select {
		case <-h.r.poke:
		case <-tick.C:
		}
	}
}

// State is like Sender.State.
func (h *Head) State() (acked int64, done bool, err *Broken) {
	a := h.r.state()
	if a.Failed {
		err = &Broken{a.At, a.Kind, a.Text}
	}
	return a.Off, a.Done, err
}

// Close gives the replica up, unless it is finished. It is false if a disk that does not answer still uses a packet.
func (h *Head) Close() bool {
	h.close()
	for {
		h.r.mu.Lock()
		stuck := h.r.stuck()
		h.r.mu.Unlock()
		if stuck {
			return false
		}
		select {
		case <-h.gone:
			return true
		case <-time.After(h.r.timing.ack(0) / 4):
		}
	}
}
