package pipe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/memnet"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// TestLineKeepsWhatWasSent: a block that is finished is whole at each replica, and nobody waits for a tick of a clock to say so.
func TestLineKeepsWhatWasSent(t *testing.T) {
	for _, n := range []int{0, 1, ChunkSize, ChunkSize + 1, 20*ChunkSize + 5} {
		inLine(t, 3, func(t *testing.T, l *line) {
			data := noise(n)
			s := l.mustOpen(WriteArgs{})
			begin := time.Now()
			if err := written(s, data); err != nil || time.Since(begin) > 10*ackDelay {
				t.Fatalf("%d bytes: %v after %s", n, err, time.Since(begin))
			}
			for i, m := range l.replicas {
				if !bytes.Equal(m.got, data) || !m.finished {
					t.Errorf("%d bytes, and replica %d has %d, finished %t", n, i+1, len(m.got), m.finished)
				}
			}
			if acked, done, err := s.State(); acked != int64(n) || !done || err != nil || !s.Close() {
				t.Errorf("%d acknowledged of %d, done %t, %v", acked, n, done, err)
			}
			if _, _, err := s.State(); err != nil {
				t.Errorf("closed when it was done: %v", err)
			}
			for i, ended := range l.ended {
				if err := <-ended; err != nil {
					t.Errorf("replica %d: %v", i+1, err)
				}
			}
		})
	}
}

// TestLineCarriesOn: a block that was begun is carried on from where it was, and that much is acknowledged from the beginning.
func TestLineCarriesOn(t *testing.T) {
	inLine(t, 2, func(t *testing.T, l *line) {
		s := l.mustOpen(WriteArgs{Start: 7, Resume: true})
		defer s.Close()
		if acked, _, _ := s.State(); acked != 7 {
			t.Errorf("%d acknowledged", acked)
		}
		b := new(Buffer)
		p := b.Seal(copy(b.Room(), "more"), 7, true)
		if err := s.Send(&p); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(11, true); err != nil {
			t.Fatal(err)
		}
		if acked, done, _ := s.State(); acked != 11 || !done || string(l.replicas[1].got) != "more" {
			t.Errorf("%d acknowledged, done %t, %q", acked, done, l.replicas[1].got)
		}
	})
}

// TestLineWithAFailingDisk: whichever replica's disk fails, the writer is told which and why, no more is acknowledged than it has, nobody finishes the
// block that the writer must take elsewhere, and what is sent later is refused with the same words.
func TestLineWithAFailingDisk(t *testing.T) {
	for at := range 3 {
		inLine(t, 3, func(t *testing.T, l *line) {
			l.replicas[at].hold = func(n int) error {
				if n >= 3*ChunkSize {
					return wire.Errorf(wire.NoSpace, "full")
				}
				return nil
			}
			s := l.mustOpen(WriteArgs{})
			defer s.Close()
			err := written(s, noise(100*ChunkSize))
			brokenAt(t, err, at, wire.NoSpace)
			if want := fmt.Sprintf("replica %d of the pipeline: full", at+1); err.Error() != want {
				t.Errorf("%v, want %s", err, want)
			}
			if acked, done, _ := s.State(); acked > 3*ChunkSize || done || slices.Contains(l.finished(), true) {
				t.Errorf("%d acknowledged, done %t, finished %v", acked, done, l.finished())
			}
			p := new(Buffer).Seal(1, 0, false)
			brokenAt(t, s.Send(&p), at, wire.NoSpace)
			for i, ended := range l.ended {
				if <-ended == nil {
					t.Errorf("replica %d takes the block for finished", i+1)
				}
			}
		})
	}
}

// TestLineThatCannotFinish: a block that one replica cannot make durable is not done.
func TestLineThatCannotFinish(t *testing.T) {
	for at := range 3 {
		inLine(t, 3, func(t *testing.T, l *line) {
			l.replicas[at].finish = func() error { return wire.Errorf(wire.Internal, "input/output error") }
			s := l.mustOpen(WriteArgs{})
			defer s.Close()
			brokenAt(t, written(s, noise(3*ChunkSize)), at, wire.Internal)
			if acked, done, _ := s.State(); done || l.finished()[at] {
				t.Errorf("done with %d acknowledged", acked)
			}
		})
	}
}

// TestLineWithASilentDisk: a disk that does not answer is given up after a minute, not before, and not those that wait for it.
func TestLineWithASilentDisk(t *testing.T) {
	for at := range 3 {
		inLine(t, 3, func(t *testing.T, l *line) {
			free := make(chan struct{})
			l.replicas[at].hold = func(int) error { <-free; return nil }
			s := l.mustOpen(WriteArgs{})
			begin := time.Now()
			brokenAt(t, written(s, noise(2*ChunkSize)), at, wire.Unavailable)
			if took := time.Since(begin); took < time.Minute || took > 65*time.Second {
				t.Errorf("given up after %s", took)
			}
			close(free)
			s.Close()
		})
	}
}

// TestLineThatIsCut: of a line that is cut the replica behind the cut is named, within 3 s.
func TestLineThatIsCut(t *testing.T) {
	for at := range 3 {
		inLine(t, 3, func(t *testing.T, l *line) {
			s := l.mustOpen(WriteArgs{})
			defer s.Close()
			b := new(Buffer)
			p := b.Seal(copy(b.Room(), "before"), 0, false)
			if err := s.Send(&p); err != nil || s.Wait(6, false) != nil {
				t.Fatal(err)
			}
			cut := fmt.Sprint("10.0.0.", at+1)
			before := fmt.Sprint("10.0.0.", at)
			if at == 0 {
				before = "10.0.0.100"
			}
			l.net.Shape(func(from, to string) memnet.Link {
				return memnet.Link{Cut: from == cut && to == before || from == before && to == cut}
			})
			begin := time.Now()
			p = b.Seal(copy(b.Room(), "after"), 6, true)
			err := s.Send(&p)
			if err == nil {
				err = s.Wait(11, true)
			}
			brokenAt(t, err, at, wire.Unavailable)
			if took := time.Since(begin); took > 3*time.Second || took < time.Second/2 {
				t.Errorf("found after %s", took)
			}
			if acked, done, _ := s.State(); acked != 6 || done {
				t.Errorf("%d acknowledged, done %t", acked, done)
			}
			l.net.Shape(func(string, string) memnet.Link { return memnet.Link{} })
		})
	}
}

// TestLineAtRest: a writer that has nothing to send for minutes gives signs of life, and goes on; one that is cut off is given up after a minute, by all.
func TestLineAtRest(t *testing.T) {
	inLine(t, 3, func(t *testing.T, l *line) {
		s, data := l.mustOpen(WriteArgs{}), noise(3*ChunkSize/2)
		defer s.Close()
		b := new(Buffer)
		for _, end := range []int{ChunkSize / 2, ChunkSize, len(data)} {
			time.Sleep(5 * time.Minute)
			at := int(s.sent)
			p := b.Seal(copy(b.Room(), data[at:end]), int64(at), false)
			if err := s.Send(&p); err != nil || s.Wait(int64(end), false) != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(5 * time.Minute)
		l.net.Shape(func(from, to string) memnet.Link { return memnet.Link{Cut: from == "10.0.0.100" || to == "10.0.0.100"} })
		time.Sleep(38 * time.Second) // the last sign of life may be 20 s old
		for i, ended := range l.ended {
			if len(ended) > 0 {
				t.Errorf("replica %d does not wait", i+1)
			}
		}
		time.Sleep(40 * time.Second)
		for i, ended := range l.ended {
			if len(ended) == 0 || <-ended == nil || l.finished()[i] || !bytes.Equal(l.replicas[i].got, data) {
				t.Errorf("replica %d: ended %d, finished %v, %d bytes", i+1, len(ended), l.finished()[i], len(l.replicas[i].got))
			}
		}
		l.net.Shape(func(string, string) memnet.Link { return memnet.Link{} })
	})
}

// TestLineGivenUp: what the writer gives up is finished nowhere, and nobody waits for more of it.
func TestLineGivenUp(t *testing.T) {
	inLine(t, 2, func(t *testing.T, l *line) {
		s := l.mustOpen(WriteArgs{})
		p := new(Buffer).Seal(10, 0, false)
		begin := time.Now()
		if err := s.Send(&p); err != nil || s.Wait(10, false) != nil || time.Since(begin) > 10*ackDelay {
			t.Fatalf("%v after %s", err, time.Since(begin))
		}
		begin = time.Now()
		if !s.Close() || time.Since(begin) > time.Second {
			t.Errorf("closed after %s", time.Since(begin))
		}
		brokenAt(t, s.Wait(11, false), 0, wire.Canceled)
		for i, ended := range l.ended {
			if err := <-ended; err == nil || l.finished()[i] || len(l.replicas[i].got) != 10 {
				t.Errorf("replica %d: %v, %d bytes", i+1, err, len(l.replicas[i].got))
			}
		}
	})
}

// TestPacketsOutOfPlace: a packet that does not begin where the one before ended is not written.
func TestPacketsOutOfPlace(t *testing.T) {
	for _, off := range []int64{0, 3, 5} {
		inLine(t, 1, func(t *testing.T, l *line) {
			s := l.mustOpen(WriteArgs{})
			defer s.Close()
			b := new(Buffer)
			p := b.Seal(copy(b.Room(), "four"), 0, false)
			if err := s.Send(&p); err != nil || s.Wait(4, false) != nil {
				t.Fatal(err)
			}
			p = b.Seal(copy(b.Room(), "next"), off, true)
			err := s.Send(&p)
			if err == nil {
				err = s.Wait(off+4, true)
			}
			brokenAt(t, err, 0, wire.Invalid)
			if string(l.replicas[0].got) != "four" || l.replicas[0].finished {
				t.Errorf("at %d: it has %q, finished %t", off, l.replicas[0].got, l.replicas[0].finished)
			}
		})
	}
}

// TestLinesThatCannotBegin: the writer is told which replica was not there.
func TestLinesThatCannotBegin(t *testing.T) {
	inLine(t, 2, func(t *testing.T, l *line) {
		l.hops = append(l.hops, Hop{Place: wire.Place{Node: "gone", Addr: "10.0.0.9:7"}})
		_, err := l.open(WriteArgs{})
		brokenAt(t, err, 2, wire.Unavailable)
		l.hops = l.hops[2:]
		_, err = l.open(WriteArgs{})
		brokenAt(t, err, 0, wire.Unavailable)
	})
}

// TestAReplicaThatSaysNothing: who takes the connection and is silent is given up after the time of a pipeline, later where others must fetch something first,
// and at once when the writer is asked to stop.
func TestAReplicaThatSaysNothing(t *testing.T) {
	for what, x := range map[string]struct {
		a       WriteArgs
		stop    time.Duration
		at, max time.Duration
	}{
		"a new block":     {WriteArgs{}, time.Hour, 1500 * time.Millisecond, 1600 * time.Millisecond},
		"one carried on":  {WriteArgs{Resume: true}, time.Hour, 21 * time.Second, 22 * time.Second},
		"asked to stop":   {WriteArgs{Resume: true}, 3 * time.Second, 3 * time.Second, 3100 * time.Millisecond},
		"asked at outset": {WriteArgs{}, 0, 0, 100 * time.Millisecond},
	} {
		inRogue(t, func(*rpc.Stream) {}, func(t *testing.T, c *rpc.Client, at wire.Place) {
			ctx, cancel := context.WithTimeout(t.Context(), x.stop)
			defer cancel()
			begin := time.Now()
			_, err := Open(ctx, c, at, x.a, Timing{}, nil)
			if b, ok := errors.AsType[*Broken](err); !ok || b.At != 0 {
				t.Errorf("%s: %v", what, err)
			}
			if took := time.Since(begin); took < x.at || took > x.max {
				t.Errorf("%s: given up after %s", what, took)
			}
		})
	}
}

// TestAcksThatCannotBe: a replica that says it has what was never sent, or says nonsense, is not believed.
func TestAcksThatCannotBe(t *testing.T) {
	for what, x := range map[string]struct {
		say  []byte
		kind wire.Kind
	}{
		"more than was sent": {(&Ack{Off: 100}).Append(nil), wire.Corrupt},
		"the end too early":  {(&Ack{Off: 3, Done: true}).Append(nil), wire.Corrupt},
		"nonsense":           {bytes.Repeat([]byte{0xff}, ackHeader), wire.Unavailable},
	} {
		inRogue(t, func(st *rpc.Stream) {
			_, _ = st.Write((&Ack{}).Append(nil))
			if _, err := ReadPacket(st, new(Buffer)); err == nil {
				_, _ = st.Write(x.say)
			}
		}, func(t *testing.T, c *rpc.Client, at wire.Place) {
			told := make(chan struct{}, 10)
			s, err := Open(t.Context(), c, at, WriteArgs{}, Timing{}, func() { told <- struct{}{} })
			if err != nil {
				t.Fatal(what, err)
			}
			defer s.Close()
			b := new(Buffer)
			p := b.Seal(copy(b.Room(), "abc"), 0, false)
			if err := s.Send(&p); err != nil {
				t.Fatal(what, err)
			}
			<-told
			acked, done, err2 := s.State()
			if err2 == nil || err2.At != 0 || acked != 0 || done {
				t.Errorf("%s: %d acknowledged, done %t, %v", what, acked, done, err2)
			}
			brokenAt(t, s.Wait(3, false), 0, x.kind)
		})
	}
}

// TestFetch: a range of a block comes as it was written, and whoever does not have it, or hangs up too early, says so by a kind.
func TestFetch(t *testing.T) {
	data := noise(2*ChunkSize + 100)
	b := wire.Block{ID: 5, Gen: 2, Len: int64(len(data))}
	inRogue(t, func(*rpc.Stream) {}, func(t *testing.T, c *rpc.Client, at wire.Place) {
		for what, x := range map[string]struct {
			token string
			kind  wire.Kind
		}{
			"all of it": {"", 0}, "who may not": {"denied", wire.Denied}, "cut in the checksums": {"3", wire.Unavailable}, "cut in a chunk": {"70000", wire.Unavailable},
		} {
			in, err := Fetch(t.Context(), c, at, Range{Block: b, Off: 7, Len: b.Len - 9, Token: x.token})
			var got []byte
			if err == nil {
				got, err = readPieces(in, 1000)
				if e := in.Close(); e != nil {
					t.Error(what, e)
				}
			}
			if whole := bytes.Equal(got, data[7:len(data)-2]); whole != (what == "all of it") || !whole && wire.KindOf(err) != x.kind || whole && err != nil || !bytes.HasPrefix(data[7:], got) {
				t.Errorf("%s: %d bytes, %v", what, len(got), err)
			}
		}
	}, func(srv *rpc.Server) { serveRanges(srv, data) })
}

// serveRanges answers as a block service does; the token says how it fails, or after how many bytes.
func serveRanges(srv *rpc.Server, data []byte) {
	srv.HandleHTTP(FetchPattern, rpc.Files, rpc.Block, func(w http.ResponseWriter, r *http.Request, _ rpc.Caller) {
		want, err := ParseFetch(r)
		if err == nil && want.Token == "denied" {
			err = wire.Errorf(wire.Denied, "not to ann")
		}
		if err != nil {
			rpc.WriteError(w, err)
			return
		}
		all := answer(data, want.Off, want.Len)
		if n, err := strconv.Atoi(want.Token); err == nil {
			all = all[:n]
		}
		_, _ = w.Write(all)
	})
}
