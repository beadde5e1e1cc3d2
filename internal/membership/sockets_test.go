package membership

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
)

// farNet is this machine's own network, with sockets, as far away as another continent: what is sent arrives 75 ms later,
// 50 more or less, in any order, and one packet in five twice.
type farNet struct{}

func far() time.Duration { return 25*time.Millisecond + rand.N(100*time.Millisecond) }

func (farNet) Listen(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

func (farNet) ListenPacket(addr string) (net.PacketConn, error) {
	c, err := net.ListenPacket("udp", addr)
	return farPackets{c}, err
}

func (farNet) Dial(ctx context.Context, addr string) (net.Conn, error) {
	time.Sleep(far())
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return farConn{c}, nil
}

type farPackets struct{ net.PacketConn }

func (p farPackets) WriteTo(b []byte, to net.Addr) (int, error) {
	b = append([]byte(nil), b...)
	times := 1
	if rand.N(5) == 0 {
		times = 2
	}
	for range times {
		time.AfterFunc(far(), func() { _, _ = p.PacketConn.WriteTo(b, to) }) // as UDP: sent or not
	}
	return len(b), nil
}

type farConn struct{ net.Conn }

func (c farConn) Write(b []byte) (int, error) {
	time.Sleep(far())
	return c.Conn.Write(b)
}

// TestDelayOverSockets is FAULTS row 58 with real sockets and in real time: delayed, doubled and reordered packets are
// nobody's death.
func TestDelayOverSockets(t *testing.T) {
	require.Stress(t) // a machine that is busy with other tests is late by itself
	const long = 2 * time.Minute
	key := sha256.Sum256([]byte("secret"))
	var mu sync.Mutex // guards gone
	var gone []string
	var lists []*List
	stopping := false
	defer func() {
		mu.Lock()
		stopping = true
		mu.Unlock()
		var wg sync.WaitGroup
		for _, l := range lists {
			wg.Go(func() { _ = l.Close() }) // a farewell may find nobody
		}
		wg.Wait()
	}()
	for i := range 6 {
		cfg := Config{
			Member: Member{Name: fmt.Sprint("n", i), Role: "worker"}, Bind: "127.0.0.1:0", Label: "test", Keys: [][]byte{key[:]}, Network: farNet{},
			Events: func(e Event) {
				mu.Lock()
				defer mu.Unlock()
				if e.Kind == Gone && !stopping {
					gone = append(gone, fmt.Sprintf("%s by n%d", e.Member.Name, i))
				}
			},
		}
		if i > 0 {
			seed := lists[0].Addr()
			cfg.Seeds = func() []string { return []string{seed} }
		}
		l, err := Start(cfg)
		if err != nil {
			t.Fatal(err)
		}
		lists = append(lists, l)
	}
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		whole := true
		for _, l := range lists {
			whole = whole && len(l.Members()) == len(lists)
		}
		if whole {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatal("they do not find each other")
		}
	}
	mu.Lock()
	gone = nil // before all were in
	mu.Unlock()
	time.Sleep(long)
	mu.Lock()
	defer mu.Unlock()
	if len(gone) > 0 {
		t.Errorf("given up: %s", gone)
	}
}
