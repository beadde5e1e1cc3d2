package attempt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/task"
)

// pacedReader gives a byte after each pause, and then waits for ever, or until its context ends.
type pacedReader struct {
	ctx    context.Context
	pauses []time.Duration
}

func (r *pacedReader) Read(b []byte) (int, error) {
	if len(r.pauses) == 0 {
		<-r.ctx.Done()
		return 0, r.ctx.Err()
	}
	time.Sleep(r.pauses[0])
	r.pauses = r.pauses[1:]
	b[0] = 'x'
	return 1, nil
}

// TestStall: a source may take its time for each byte, but not for ever; the time that we take ourselves is not its own.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := 0
		s := newStall(t.Context(), 0, "w2:1")
		s.slow = func() { slow++ }
		in := &pacedReader{s.ctx, []time.Duration{2 * time.Second, 2 * time.Second, 9 * time.Second}}
		r, b := s.reader(in), make([]byte, 8)
		for range 3 {
			if n, err := r.Read(b); n != 1 || err != nil || s.explain(err) != nil {
				t.Fatal(n, err)
			}
			time.Sleep(time.Minute) // we have no place for it
		}
		if s.got != 3 || s.waited != 13*time.Second || slow != 1 {
			t.Errorf("%d bytes in %v, slow %d times", s.got, s.waited, slow)
		}
		_, err := r.Read(b)
		if err = s.explain(err); wire.KindOf(err) != wire.Unavailable || !strings.Contains(err.Error(), "no byte from w2:1 for 10s") || s.waited != 23*time.Second {
			t.Errorf("%v after %v", err, s.waited)
		}
		s.close()

		s = newStall(t.Context(), time.Second, "w2:1") // it waits from the beginning
		time.Sleep(time.Second)
		synctest.Wait()
		if err := s.explain(errors.New("x")); !errors.Is(err, s.why) || s.explain(nil) != nil {
			t.Error(err)
		}
		s.close()

		s = newStall(t.Context(), time.Second, "w2:1")
		if _, err := s.reader(iotest.ErrReader(io.ErrUnexpectedEOF)).Read(b); !errors.Is(s.explain(err), io.ErrUnexpectedEOF) {
			t.Error(err)
		}
		s.close()
		time.Sleep(time.Hour)
		if err := s.explain(io.ErrUnexpectedEOF); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("after its end: %v", err)
		}
	})
}

// TestBlame: an error is the job's for good, the job's this time, or the machine's.
func TestBlame(t *testing.T) {
	for _, c := range []struct {
		err         error
		final, lost bool
	}{
		{errors.New("x"), false, false},
		{wire.Errorf(wire.Invalid, "x"), true, false},
		{fmt.Errorf("y: %w", shuffle.ErrScratch), false, true},
		{context.Canceled, false, true},
		{wire.Errorf(wire.Stale, "x"), false, true},
		{wire.Errorf(wire.Unavailable, "x"), false, true},
		{wire.Errorf(wire.Canceled, "x"), false, true},
		{wire.Errorf(wire.NotFound, "x"), true, false},
		{syscall.EACCES, true, false},
		{syscall.EIO, false, false},
	} {
		if final(c.err) != c.final || lost(c.err) != c.lost {
			t.Errorf("%v: final %v, lost %v", c.err, final(c.err), lost(c.err))
		}
	}
	stack := &task.AttemptError{Stack: "main.go:7"}
	if got := describe(fmt.Errorf("map 3: %w", stack)); !strings.HasPrefix(got, "map 3: ") || !strings.HasSuffix(got, "\nmain.go:7") {
		t.Errorf("%q", got)
	}
	for in, want := range map[string]string{"abc": "abc", "abcd": "abcd", "abcde": "abcd", "abcé": "abc", "": ""} {
		if got := cut(in, 4); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestPlanParts: a long plan goes in parts, each as large as fits, none empty, and all of it.
func TestPlanParts(t *testing.T) {
	split := func(files int) wire.Split {
		s := wire.Split{Hosts: []string{"w1", "w2"}}
		for range files {
			s.Ranges = append(s.Ranges, wire.Range{Path: strings.Repeat("p", 52)})
		}
		return s
	}
	rest := func(more int) wire.Split { // beside a split of one file
		return wire.Split{Ranges: []wire.Range{{Path: strings.Repeat("p", partBytes-(52+48)-2*(2+4)-32-48-32+more)}}}
	}
	large := partBytes/100 + 1
	for name, c := range map[string]struct {
		splits []wire.Split
		want   int
	}{
		"none":             {nil, 0},
		"one":              {[]wire.Split{split(1)}, 1},
		"one that is long": {[]wire.Split{split(large)}, 1},
		"a long one last":  {[]wire.Split{split(1), split(large), split(1)}, 1},
		"a long one first": {[]wire.Split{split(large), split(1)}, 1},
		"all fit":          {[]wire.Split{split(large / 4), split(large / 4), split(large / 4)}, 3},
		"to the byte":      {[]wire.Split{split(1), rest(0), split(1)}, 2},
		"a byte too many":  {[]wire.Split{split(1), rest(1), split(1)}, 1},
	} {
		if got := partOf(c.splits); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// TestOtherOutput: what a map has put out counts once. If it runs again and puts out something else, the reduce begins anew; if that is the same, or
// nobody knows, it goes on.
func TestOtherOutput(t *testing.T) {
	for name, c := range map[string]struct {
		now  wire.MapOutput
		anew bool
	}{
		"the same":     {wire.MapOutput{Sum: 7}, false},
		"another":      {wire.MapOutput{Sum: 8}, true},
		"nobody knows": {wire.MapOutput{}, false},
		"lost":         {wire.MapOutput{Sum: 8, Lost: true}, false},
	} {
		f := newFetcher(&runner{}, 2)
		f.ctx, f.cancel = context.WithCancelCause(t.Context())
		f.have[1] = wire.MapOutput{Map: 1, Sum: 7}
		c.now.Map = 1
		f.learn([]wire.MapOutput{c.now, {Map: 0, Addr: "w1:1"}})
		if anew := errors.Is(context.Cause(f.ctx), errOther); anew != c.anew || !f.in(1) || f.in(0) || len(f.want) != 1 {
			t.Errorf("%s: begins anew %v, wants %v", name, anew, f.want)
		}
		f.learn([]wire.MapOutput{{Map: 0, Lost: true}})
		if len(f.want) != 0 {
			t.Errorf("%s: it still wants %v", name, f.want)
		}
		f.reset()
		if len(f.have) != 0 || f.slots != parallel {
			t.Errorf("%s: after a new beginning it has %v", name, f.have)
		}
		f.cancel(nil)
	}
}
