package integration

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// A proxy stands between two parts of a cluster and does harm to what they say to each other.
type proxy struct {
	t      *testing.T
	l      net.Listener
	target string
	wg     sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	thaw   sync.Cond
	frozen bool
	conns  map[net.Conn]bool
	closed bool
	// harm, if set, gets what the target answers to requests of the shuffle, piece by piece: the number of the
	// request, and how many bytes of its answer came before. It may change the piece; false cuts the connection.
	harm     func(request int, at int64, piece []byte) bool
	shuffles int
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, l: l, target: target, conns: map[net.Conn]bool{}}
	p.thaw.L = &p.mu
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) close() {
	p.l.Close()
	p.mu.Lock()
	p.closed, p.frozen = true, false
	for c := range p.conns {
		c.Close()
	}
	p.thaw.Broadcast()
	p.mu.Unlock()
	p.wg.Wait()
}

// freeze stops all traffic, without a word to anybody, or lets it go on.
func (p *proxy) freeze(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen = on
	p.thaw.Broadcast()
}

func (p *proxy) setHarm(fn func(request int, at int64, piece []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.harm, p.shuffles = fn, 0
}

func (p *proxy) accept() {
	for {
		in, err := p.l.Accept()
		if err != nil {
			return
		}
		out, err := net.DialTimeout("tcp", p.target, 5*time.Second)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns[in], p.conns[out] = true, true
		if p.closed {
			in.Close()
			out.Close()
		}
		p.mu.Unlock()
		pair := &link{p: p, in: in, out: out}
		p.wg.Go(pair.forward)
		p.wg.Go(pair.back)
	}
}

// A link is one connection through a proxy.
type link struct {
	p       *proxy
	in, out net.Conn

	mu      sync.Mutex
	request int   // of the shuffle's, from 1; 0: nothing of it was asked for
	at      int64 // of its answer
}

func (l *link) end() {
	l.in.Close()
	l.out.Close()
	l.p.mu.Lock()
	delete(l.p.conns, l.in)
	delete(l.p.conns, l.out)
	l.p.mu.Unlock()
}

func (l *link) forward() {
	defer l.end()
	l.copy(l.out, l.in, func(piece []byte) bool {
		if bytes.Contains(piece, []byte("GET /shuffle/")) {
			l.mark()
		}
		return true
	})
}

func (l *link) mark() {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.p.shuffles++
	l.request, l.at = l.p.shuffles, 0
}

func (l *link) back() {
	defer l.end()
	l.copy(l.in, l.out, func(piece []byte) bool {
		l.mu.Lock()
		request, at := l.request, l.at
		l.at += int64(len(piece))
		l.mu.Unlock()
		l.p.mu.Lock()
		harm := l.p.harm
		l.p.mu.Unlock()
		return request == 0 || harm == nil || harm(request, at, piece)
	})
}

func (l *link) copy(to io.Writer, from io.Reader, look func(piece []byte) bool) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		l.p.mu.Lock()
		for l.p.frozen {
			l.p.thaw.Wait()
		}
		l.p.mu.Unlock()
		if n > 0 {
			if !look(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
