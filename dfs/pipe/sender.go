package pipe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// StreamName names the transfer that writes a block.
const StreamName = "block.write"

// A Hop is one replica of a pipeline. If set, From is where it fetches the bytes before Start, which the others
// have.
type Hop struct {
	wire.Place
	From *wire.Place `json:"from,omitempty"`
}

// WriteArgs opens a pipeline at one replica.
type WriteArgs struct {
	Block wire.Block `json:"block"` // with the generation to write under
	// Start is the offset of the first packet. With Resume, an earlier generation of the block is cut to Start
	// bytes and continued.
	Start  int64       `json:"start,omitempty"`
	Resume bool        `json:"resume,omitempty"`
	From   *wire.Place `json:"from,omitempty"`
	Next   []Hop       `json:"next,omitempty"`
	Token  string      `json:"token,omitempty"` // allows writing the block at its generation
}

// Behind returns the arguments for the first replica of Next.
func (a WriteArgs) Behind() WriteArgs {
	a.From, a.Next = a.Next[0].From, a.Next[1:]
	return a
}

// Broken says which replica of a pipeline failed, counted from the first.
type Broken struct {
	At   int
	Kind wire.Kind
	Text string
}

func (b *Broken) Error() string { return fmt.Sprintf("replica %d of the pipeline: %s", b.At+1, b.Text) }

// Unwrap returns the kind, for errors.Is.
func (b *Broken) Unwrap() error { return b.Kind }

// Timing is how patient a pipeline is.
type Timing struct {
	// Ack is how long the last replica may be silent while it owes an answer. Each replica before it gets half
	// as much more, so that the one next to the culprit reports first. 0 means 1 s: a stopped replica then
	// holds up a pipeline of three for 3 s at most.
	Ack time.Duration
	// Disk is how long one write or sync may take before a replica gives itself up; 0 means 60 s.
	Disk time.Duration
}

func (t Timing) ack(behind int) time.Duration {
	base := t.Ack
	if base == 0 {
		base = time.Second
	}
	return base + base*time.Duration(behind)/2
}

func (t Timing) disk() time.Duration {
	if t.Disk == 0 {
		return time.Minute
	}
	return t.Disk
}

// A Sender is the sending end of a pipeline. One goroutine calls Send.
type Sender struct {
	st      *rpc.Stream
	timeout time.Duration
	wg      sync.WaitGroup
	out     sync.Mutex // held while a packet is written; taken before mu

	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // signalled when one of them changes
	sent    int64      // end of what has been sent
	last    bool       // the last packet was sent
	acked   int64      // Invariant: acked <= sent.
	done    bool
	wrote   time.Time // when the last packet was written
	owed    time.Time // since when the replica owes an answer; zero if it owes none
	err     *Broken
	notify  func()
}

// Open asks the first replica of a pipeline to open it and waits until all replicas are ready. notify, if not
// nil, is called at each acknowledgement and at the end, without locks held.
func Open(ctx context.Context, c *rpc.Client, first wire.Place, a WriteArgs, t Timing, notify func()) (*Sender, error) {
	timeout := t.ack(1 + len(a.Next))
	deadline := time.Now().Add(timeout + a.patience())
	opening, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	st, err := c.Stream(opening, first.Addr, StreamName, a)
	if err != nil {
		return nil, &Broken{0, wire.KindOf(err), fmt.Sprintf("%s: %v", first.Node, err)}
	}
	s := &Sender{st: st, timeout: timeout, notify: notify, sent: a.Start, acked: a.Start, owed: time.Now(), wrote: time.Now()}
	if s.changed.L = &s.mu; notify == nil {
		s.notify = func() {}
	}
	// The first ack says that all replicas are ready.
	_ = st.SetReadDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { st.Close() })
	defer stop()
	ready, err := ReadAck(st)
	if err == nil && ready.Failed {
		err = &Broken{ready.At, ready.Kind, ready.Text}
	} else if err != nil {
		err = &Broken{0, wire.Unavailable, fmt.Sprintf("%s: %v", first.Node, err)}
	}
	if err != nil {
		st.Close()
		return nil, err
	}
	s.owed = time.Time{}
	s.wg.Go(s.readAcks)
	return s, nil
}

// resumePatience is added when replicas must wait for a sync in progress, or fetch what others have, before
// they can answer.
const resumePatience = 20 * time.Second

func (a *WriteArgs) patience() time.Duration {
	if a.Resume || a.From != nil || slices.ContainsFunc(a.Next, func(h Hop) bool { return h.From != nil }) {
		return resumePatience
	}
	return 0
}

// Send sends a packet. After an error the pipeline is broken; State says how.
func (s *Sender) Send(p *Packet) error {
	s.out.Lock()
	defer s.out.Unlock()
	s.mu.Lock()
	if s.err != nil {
		defer s.mu.Unlock()
		return s.err
	}
	s.sent, s.wrote = max(s.sent, p.End()), time.Now()
	s.last = s.last || p.Last
	if s.owed.IsZero() && (s.sent > s.acked || s.last) {
		s.owed = time.Now()
	}
	s.mu.Unlock()
	_ = s.st.SetWriteDeadline(time.Now().Add(s.timeout))
	if _, err := s.st.Write(p.raw); err != nil {
		// The replica may have said why before it hung up: wait a moment for that.
		t := time.AfterFunc(200*time.Millisecond, func() { s.fail(&Broken{0, wire.Unavailable, err.Error()}) })
		defer t.Stop()
		return s.Wait(1<<62, true)
	}
	return nil
}

// live sends an empty packet as a sign of life when nothing was sent for a while. The user's code may take any
// time for the next record, and replicas wait only for a writer that lives.
func (s *Sender) live() error {
	if !s.out.TryLock() {
		return nil // a packet is on its way
	}
	defer s.out.Unlock()
	s.mu.Lock()
	at, quiet := s.sent, s.err == nil && !s.last && time.Since(s.wrote) > idlePatience/3
	if quiet {
		s.wrote = time.Now()
	}
	s.mu.Unlock()
	if !quiet {
		return nil
	}
	p := new(Buffer).Seal(0, at, false)
	_ = s.st.SetWriteDeadline(time.Now().Add(s.timeout))
	_, err := s.st.Write(p.raw)
	return err
}

func (s *Sender) readAcks() {
	for {
		err := s.readAck()
		if err == nil {
			err = s.live()
		}
		if err == nil {
			continue
		}
		if b, ok := errors.AsType[*Broken](err); ok {
			s.fail(b)
		} else {
			s.fail(&Broken{0, wire.Unavailable, err.Error()})
		}
		return
	}
}

// readAck handles one acknowledgement, or fails if one is overdue.
func (s *Sender) readAck() error {
	_ = s.st.SetReadDeadline(time.Now().Add(s.timeout / 8))
	if _, err := s.st.In.Peek(ackHeader); errors.Is(err, os.ErrDeadlineExceeded) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.owed.IsZero() && time.Since(s.owed) > s.timeout {
			return &Broken{0, wire.Unavailable, fmt.Sprintf("silent for %s", s.timeout)}
		}
		return nil
	}
	_ = s.st.SetReadDeadline(time.Now().Add(s.timeout))
	a, err := ReadAck(s.st)
	if err != nil {
		return err
	}
	if a.Failed {
		return &Broken{a.At, a.Kind, a.Text}
	}
	return s.take(a)
}

func (s *Sender) take(a Ack) error {
	s.mu.Lock()
	if a.Off > s.sent || a.Off < s.acked || a.Done && !s.last {
		s.mu.Unlock()
		return &Broken{0, wire.Corrupt, fmt.Sprintf("acknowledges %d bytes of %d", a.Off, s.sent)}
	}
	s.acked, s.done = a.Off, s.done || a.Done
	s.owed = time.Now()
	if s.done || s.acked == s.sent && !s.last {
		s.owed = time.Time{}
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.notify()
	return nil
}

func (s *Sender) fail(b *Broken) {
	s.mu.Lock()
	if s.err == nil && !s.done {
		s.err = b
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	s.st.Close()
	s.notify()
}

// Wait blocks until off bytes are acknowledged and, with done, until the block is
// finished on every replica.
func (s *Sender) Wait(off int64, done bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.err == nil && !s.done && (done || s.acked < off) {
		s.changed.Wait()
	}
	if s.err != nil {
		return s.err
	}
	return nil
}

// State returns how much is acknowledged, whether the block is finished, and how the pipeline broke, if it did.
func (s *Sender) State() (acked int64, done bool, err *Broken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.acked, s.done, s.err
}

// Close gives the pipeline up, unless it is finished, and waits for its goroutine. It returns true, since
// nothing uses the packets afterwards.
func (s *Sender) Close() bool {
	s.fail(&Broken{0, wire.Canceled, "given up"})
	s.wg.Wait()
	return true
}
