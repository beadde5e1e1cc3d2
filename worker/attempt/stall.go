package attempt

import (
	"cmp"
	"context"
	"errors"
	"io"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A stall ends a fetch whose source is silent for too long. An open but silent connection would hold up a
// reduce forever. The time that this process takes to make room for the data does not count against the source.
type stall struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	after  time.Duration
	timer  *time.Timer
	why    error // error that ends the fetch

	got    int64         // bytes
	waited time.Duration // time waited for them
	slow   func()        // called as bytes arrive after slowAfter; may be nil
}

// newStall returns a guard that has begun to wait.
func newStall(ctx context.Context, after time.Duration, addr string) *stall {
	s := &stall{after: cmp.Or(after, 10*time.Second)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.why = wire.Errorf(wire.Unavailable, "no byte from %s for %s: the source stands still", addr, s.after)
	s.timer = time.AfterFunc(s.after, func() { s.cancel(s.why) })
	return s
}

func (s *stall) close() {
	s.timer.Stop()
	s.cancel(nil)
}

// explain replaces an error that the guard has caused by the guard's own.
func (s *stall) explain(err error) error {
	if err != nil && errors.Is(context.Cause(s.ctx), s.why) {
		return s.why
	}
	return err
}

// reader watches r: the timer runs while a read waits.
func (s *stall) reader(r io.Reader) io.Reader {
	s.timer.Stop()
	return &stallReader{s, r}
}

type stallReader struct {
	s *stall
	r io.Reader
}

func (r *stallReader) Read(b []byte) (int, error) {
	r.s.timer.Reset(r.s.after)
	begin := time.Now()
	n, err := r.r.Read(b)
	r.s.timer.Stop()
	r.s.got += int64(n)
	r.s.waited += time.Since(begin)
	if r.s.slow != nil && r.s.waited >= slowAfter {
		r.s.slow()
	}
	return n, err
}
