package rpc

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A porter finds out who calls, which takes its time, and counts how often it does so at once.
type porter struct {
	takes     time.Duration
	now, most atomic.Int32
}

func (p *porter) authenticate(r *http.Request) (Caller, error) {
	n := p.now.Add(1)
	defer p.now.Add(-1)
	for m := p.most.Load(); n > m && !p.most.CompareAndSwap(m, n); m = p.most.Load() {
	}
	time.Sleep(p.takes)
	return Trusting(r)
}

const greeting = "POST /api/v1/echo HTTP/1.1\r\nHost: x\r\nMillrace-User: ann\r\nContent-Length: 2\r\n\r\n{}"

// greet makes a call on a connection of its own.
func (r *rig) greet(host string) {
	c := r.dial(host)
	defer c.Close()
	if _, err := io.WriteString(c, greeting); err != nil {
		r.t.Errorf("%s: %v", host, err)
	}
	if got := status(c); got != 200 {
		r.t.Errorf("%s: %d", host, got)
	}
}

// strangers says how many stand at the door, how many of them wait for a turn, and how many turns nobody has.
func (r *rig) strangers() (all, queue, turns int) {
	d := r.s.door
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting.Len(), len(d.queue), d.turns
}

// TestTurnsAtTheDoor: of a hundred strangers that come at once all are let in, one after the other; the first at once, the
// others with pauses. Who comes from elsewhere does not wait for them.
func TestTurnsAtTheDoor(t *testing.T) {
	p := &porter{takes: 5 * time.Millisecond}
	inMemory(t, ServerConfig{Authenticate: p.authenticate}, func(t *testing.T, r *rig, _ chan struct{}) {
		r.s.door.all, r.s.door.turns = 1, 1 // on any machine
		begin := time.Now()
		var many sync.WaitGroup
		for range 100 {
			many.Go(func() { r.greet("10.0.0.3") })
		}
		time.Sleep(200 * time.Millisecond)
		here := time.Now()
		r.greet("10.0.0.4")
		if took := time.Since(here); took > 25*time.Millisecond {
			t.Errorf("who comes from elsewhere waits for %s", took)
		}
		many.Wait()
		if took := time.Since(begin); took < 101*p.takes+60*maxPause || took > 101*(p.takes+maxPause)+10*time.Millisecond {
			t.Errorf("all were let in after %s", took)
		}
		if n := p.most.Load(); n != 1 {
			t.Errorf("%d at once", n)
		}
		time.Sleep(time.Second) // nobody comes
		begin = time.Now()
		for range 10 {
			many.Go(func() { r.greet("10.0.0.3") })
		}
		if many.Wait(); time.Since(begin) > 10*p.takes+5*time.Millisecond {
			t.Errorf("ten were let in after %s: there is no reason to pause", time.Since(begin))
		}
	})
}

// TestDoorKeepsWhoWaits: where there is no space those go that say nothing, and not those whose turn has not come.
func TestDoorKeepsWhoWaits(t *testing.T) {
	p := &porter{takes: time.Second}
	inMemory(t, ServerConfig{Authenticate: p.authenticate, Budget: Budget{Strangers: 16}}, func(t *testing.T, r *rig, _ chan struct{}) {
		r.s.door.all, r.s.door.turns = 1, 1 // on any machine
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() { r.greet("10.0.0.3") })
		}
		synctest.Wait()
		var mute []net.Conn
		for range 100 {
			mute = append(mute, r.dial("10.0.0.3"))
		}
		synctest.Wait()
		if n, _, _ := r.strangers(); n != 16 {
			t.Errorf("%d strangers", n)
		}
		wait.Wait()
		for _, c := range mute {
			c.Close()
		}
	})
}

// TestTurnsComeBack: who goes without a word, in its turn or while it waits for one, keeps none.
func TestTurnsComeBack(t *testing.T) {
	p := &porter{takes: 10 * time.Millisecond}
	inMemory(t, ServerConfig{Authenticate: p.authenticate}, func(t *testing.T, r *rig, _ chan struct{}) {
		r.s.door.all, r.s.door.turns = 1, 1 // on any machine
		for _, say := range []string{greeting, greeting[:20], "GET /nosuch HTTP/1.1\r\nHost: x\r\n\r\n"} {
			for range 20 {
				c := r.dial("10.0.0.3")
				if _, err := io.WriteString(c, say); err != nil {
					t.Error(err)
				}
				time.Sleep(time.Millisecond)
				c.Close()
			}
			synctest.Wait()
			r.greet("10.0.0.3")
		}
		time.Sleep(time.Second)
		if _, queue, turns := r.strangers(); turns != 1 || queue > 0 {
			t.Errorf("%d turns, %d wait for one", turns, queue)
		}
	})
}

// TestTurnsDoNotWait: who has said half a word, and who does not take what it is answered, has no turn meanwhile.
func TestTurnsDoNotWait(t *testing.T) {
	for what, say := range map[string]string{"half a word": greeting[:20], "answers not taken": strings.Repeat("GET /nosuch HTTP/1.1\r\nHost: x\r\n\r\n", 1e5)} {
		p := &porter{takes: time.Millisecond}
		inMemory(t, ServerConfig{Authenticate: p.authenticate}, func(t *testing.T, r *rig, _ chan struct{}) {
			r.s.door.all, r.s.door.turns = 1, 1 // on any machine
			c := r.dial("10.0.0.3")
			go func() { _, _ = io.WriteString(c, say) }() // it is never all taken
			synctest.Wait()
			begin := time.Now()
			r.greet("10.0.0.4")
			if took := time.Since(begin); took > 100*time.Millisecond {
				t.Errorf("%s: another waits for %s", what, took)
			}
			c.Close()
		})
	}
}

// TestConnectionsKeepLittle: what a large answer was put together in is not kept for the life of its connection.
func TestConnectionsKeepLittle(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	go func() { _, _ = io.Copy(io.Discard, there) }() // ends with the connection
	f := newFrameConn(here, nil, DefaultMaxMessage)
	for _, n := range []int{3 << 20, 1000, 1000} {
		if err := f.send(header{kind: replyFrame}, "", make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if kept := cap(f.buf) + cap(f.spare); kept > 2*maxSpare || kept == 0 {
		t.Errorf("it keeps %d bytes", kept)
	}
	here.Close()
}
