package pipe

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// A Replica is what a receiver writes to. One goroutine calls it.
type Replica interface {
	// Append adds a chunk whose checksum was verified.
	Append(chunk []byte, crc uint32) error
	// Finish makes the block durable and gives it its final name.
	Finish() error
}

// A receiver is one replica's part in a pipeline.
type receiver struct {
	up     *rpc.Stream
	next   *Sender // nil at the end of the pipeline
	timing Timing

	mu     sync.Mutex // guards the fields below
	own    int64      // what this replica has written
	ended  bool       // this replica has finished the block
	busy   time.Time  // start of the write or sync in progress; zero if there is none
	failed *Broken

	poke chan struct{} // signals a change
}

// Receive takes packets from a stream, passes them on, writes them, and acknowledges them. It returns nil when the
// block is finished here and behind. After an error the replica stays as it is, for whoever recovers the block. open
// returns the sender to the replicas behind, or nil, and calls notify when they acknowledge.
func Receive(st *rpc.Stream, start int64, w Replica, t Timing, open func(notify func()) (*Sender, error)) error {
	r := &receiver{up: st, timing: t, own: start, poke: make(chan struct{}, 1)}
	next, err := open(r.wake)
	if err != nil {
		b := behind(err)
		a := Ack{Failed: true, At: b.At, Kind: b.Kind, Text: b.Text}
		_, _ = st.Write(a.Append(nil)) // if it is lost, the broken connection says enough
		return err
	}
	if r.next = next; next != nil {
		defer next.Close()
	}
	ready := Ack{Off: start}
	if _, err := st.Write(ready.Append(nil)); err != nil {
		return err
	}
	stop, acks := make(chan struct{}), make(chan error, 1)
	go func() { acks <- r.sendAcks(stop) }()
	err = r.readPackets(w)
	if err == nil {
		err = <-acks
		close(stop)
		return err
	}
	r.giveUp(err)
	close(stop)
	<-acks // it can only return what giveUp recorded
	r.drain()
	return err
}

// behind turns a failure of the replicas behind this one into one counted from this one.
func behind(err error) *Broken {
	if b, ok := errors.AsType[*Broken](err); ok {
		return &Broken{b.At + 1, b.Kind, b.Text}
	}
	return &Broken{0, wire.KindOf(err), err.Error()}
}

func (r *receiver) wake() {
	select {
	case r.poke <- struct{}{}:
	default:
	}
}

// idlePatience is how long nothing may arrive, not even a sign of life. A sender gives one every third of it,
// even while the disk before it is slow.
const idlePatience = time.Minute

func (r *receiver) readPackets(w Replica) error {
	buf := new(Buffer)
	at := r.own
	for {
		_ = r.up.SetReadDeadline(time.Now().Add(idlePatience))
		p, err := ReadPacket(r.up, buf)
		if err != nil {
			return fmt.Errorf("from upstream: %w", err)
		}
		if p.Off != at {
			return wire.Errorf(wire.Invalid, "packet at %d, expected %d", p.Off, at)
		}
		if err := r.take(&p, w); err != nil || p.Last {
			return err
		}
		at = p.End()
	}
}

// take passes a packet on and writes it.
func (r *receiver) take(p *Packet, w Replica) error {
	if r.next != nil {
		if err := r.next.Send(p); err != nil {
			return behind(err)
		}
	}
	if len(p.Data) > 0 {
		if err := r.timed(func() error { return w.Append(p.Data, p.CRC) }); err != nil {
			return err
		}
	}
	r.advance(p.End(), false)
	if p.Last {
		if err := r.timed(w.Finish); err != nil {
			return err
		}
		r.advance(p.End(), true)
	}
	return nil
}

// timed notes when a disk operation begins, so that sendAcks can give up a slow disk.
func (r *receiver) timed(fn func() error) error {
	r.mu.Lock()
	r.busy = time.Now()
	r.mu.Unlock()
	err := fn()
	r.mu.Lock()
	r.busy = time.Time{}
	r.mu.Unlock()
	return err
}

// stuck reports whether the disk takes too long. The lock must be held.
func (r *receiver) stuck() bool { return !r.busy.IsZero() && time.Since(r.busy) > r.timing.disk() }

func (r *receiver) advance(to int64, ended bool) {
	r.mu.Lock()
	r.own, r.ended = to, ended
	r.mu.Unlock()
	r.wake()
}

func (r *receiver) giveUp(err error) {
	r.mu.Lock()
	if r.failed == nil {
		if r.failed, _ = errors.AsType[*Broken](err); r.failed == nil {
			r.failed = &Broken{0, wire.KindOf(err), err.Error()}
		}
	}
	r.mu.Unlock()
	r.wake()
}

// state returns the ack for this replica and all behind it.
func (r *receiver) state() Ack {
	r.mu.Lock()
	a := Ack{Off: r.own, Done: r.ended}
	failed := r.failed
	if failed == nil && r.stuck() {
		failed = &Broken{0, wire.Unavailable, "the disk does not answer"}
	}
	r.mu.Unlock()
	if r.next != nil {
		acked, done, err := r.next.State()
		if a.Off, a.Done = min(a.Off, acked), a.Done && done; failed == nil && err != nil {
			failed = behind(err)
		}
	}
	if failed != nil {
		return Ack{Off: a.Off, Failed: true, At: failed.At, Kind: failed.Kind, Text: failed.Text}
	}
	return a
}

// An ack waits for this many bytes, or for this long. One for each packet, at each replica, was a tenth of the cost
// of a write.
const (
	ackBytes = 4 * ChunkSize
	ackDelay = time.Millisecond
)

// sendAcks tells upstream what all replicas have, and periodically that this one lives. It ends at the end of
// the block or at the first failure.
func (r *receiver) sendAcks(stop <-chan struct{}) error {
	tick := time.NewTicker(r.timing.ack(0) / 4)
	defer tick.Stop()
	late := time.NewTimer(ackDelay)
	late.Stop()
	defer late.Stop()
	var buf []byte
	var told int64
	for waiting := false; ; {
		select {
		case <-r.poke:
			if r.canWait(told) {
				if !waiting {
					late.Reset(ackDelay)
					waiting = true
				}
				continue
			}
		case <-late.C:
			waiting = false
		case <-tick.C:
		case <-stop:
			r.lastWord()
			return nil
		}
		a := r.state()
		told = a.Off
		buf = a.Append(buf[:0])
		_ = r.up.SetWriteDeadline(time.Now().Add(r.timing.ack(0)))
		if _, err := r.up.Write(buf); err != nil {
			r.up.Close() // unblocks readPackets
			return err
		}
		if a.Done {
			return nil
		}
		if a.Failed {
			return &Broken{a.At, a.Kind, a.Text} // upstream hangs up when it has read this
		}
	}
}

// canWait reports whether little has changed since an ack of told bytes.
func (r *receiver) canWait(told int64) bool {
	a := r.state()
	return !a.Done && !a.Failed && a.Off-told < ackBytes
}

// lastWord tells upstream why this replica stops.
func (r *receiver) lastWord() {
	if a := r.state(); a.Failed {
		_ = r.up.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = r.up.Write(a.Append(nil)) // upstream may be what failed
	}
}

// drain reads until upstream hangs up. Closing a connection with unread packets would discard the last ack.
func (r *receiver) drain() {
	_ = r.up.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, r.up) // only its end matters
}
