package worker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestRefusals: a worker that the master will never take in ends, one whose name may become free asks again for a while, and one that was taken in
// goes on whatever the master says.
func TestRefusals(t *testing.T) {
	for _, x := range []struct {
		what  string
		err   error
		ago   time.Duration
		taken bool
		ends  bool
	}{
		{"invalid", wire.Errorf(wire.Invalid, "no"), 0, false, true},
		{"a name that lives", wire.Errorf(wire.Exists, "no"), 10 * time.Second, false, false},
		{"the same, later", wire.Errorf(wire.Exists, "no"), 10*time.Second + 1, false, true},
		{"no answer", wire.Errorf(wire.Unavailable, "no"), time.Hour, false, false},
		{"invalid, later", wire.Errorf(wire.Invalid, "no"), 0, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &Worker{cfg: DefaultConfig(), lifetime: lifetime{begin: time.Now(), taken: make(chan struct{}), failed: make(chan error, 1)}}
			w.ctx, w.cancel = context.WithCancel(t.Context())
			defer w.cancel()
			if x.taken {
				close(w.taken)
			}
			time.Sleep(x.ago)
			w.refused(x.err)
			w.refused(x.err) // nobody has looked at the first
			select {
			case err := <-w.Failed():
				if !x.ends || !errors.Is(err, x.err) || w.ctx.Err() == nil {
					t.Errorf("%s: it ends with %v", x.what, err)
				}
			default:
				if x.ends || w.ctx.Err() != nil {
					t.Errorf("%s: it goes on", x.what)
				}
			}
		})
	}
}

// TestPauses: after an answer that says something the next report goes at once; after one that does not it waits, for news or a moment; and after
// none it waits whatever happens here.
func TestPauses(t *testing.T) {
	for _, x := range []struct {
		how         outcome
		news, ended bool
		want        time.Duration
	}{
		{answered, false, false, 0},
		{repeated, false, false, 100 * time.Millisecond},
		{repeated, true, false, 0},
		{unheard, true, false, 100 * time.Millisecond},
		{unheard, false, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := &Worker{cfg: DefaultConfig(), duties: duties{news: make(chan struct{}, 1)}}
			w.ctx, w.cancel = context.WithCancel(t.Context())
			defer w.cancel()
			if x.news {
				w.nudge()
				w.nudge() // the same news
			}
			if x.ended {
				w.cancel()
			}
			begin := time.Now()
			if w.pause(x.how); time.Since(begin) != x.want {
				t.Errorf("%+v: it waits %s", x, time.Since(begin))
			}
		})
	}
}
