package integration

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// A crowd is connections of one user that are opened and then left as they are.
type crowd struct {
	t    *testing.T
	addr string
	tls  *tls.Config

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

// join opens n connections that say the same. Those that are refused do not matter.
func (c *crowd) join(n int, say string, known bool) {
	var wg sync.WaitGroup
	queue := make(chan struct{}, n)
	for range n {
		queue <- struct{}{}
	}
	close(queue)
	for range 16 {
		wg.Go(func() {
			for range queue {
				conn, err := net.DialTimeout("tcp", c.addr, 10*time.Second)
				if err != nil {
					continue
				}
				if known {
					conn = tls.Client(conn, c.tls)
				}
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = conn.Write([]byte(say))
				c.mu.Lock()
				c.conns = append(c.conns, conn)
				c.mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func (c *crowd) leave() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// rss is what a process holds, in MB.
func rss(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "VmRSS:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

// p99 of calls that somebody else makes.
func p99(t *testing.T, cl *client.Client, calls int) time.Duration {
	t.Helper()
	var took []time.Duration
	for range calls {
		begin := time.Now()
		if _, err := cl.Nodes(t.Context()); err != nil {
			t.Errorf("a call beside the crowd: %v", err)
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// TestCrowdOfOneUser is FAULTS row 93: ann opens slow bodies, slow headers, padded calls and posts that she does not
// finish. The master does not grow, and bob does not wait.
func TestCrowdOfOneUser(t *testing.T) {
	require.Faults(t)
	slow, padded, unfinished := 600, 30, 20
	if require.Stressed() {
		slow, padded, unfinished = 5000, 100, 60
	}
	p, key := startKeyed(t, "--gossip", "")
	k, err := secure.Load(key)
	if err != nil {
		t.Fatal(err)
	}
	ann, err := k.Client(secure.User, "ann", "")
	if err != nil {
		t.Fatal(err)
	}
	bob, err := client.New(client.Config{Master: p.addr, User: "bob", Key: k, Patience: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer bob.Close()
	alone := p99(t, bob, 300)
	before := rss(t, p.run["master"].Process.Pid) // bob's calls are not the crowd's
	c := &crowd{t: t, addr: p.addr, tls: ann.TLS}
	defer c.leave()
	post := func(length int, body string) string {
		return fmt.Sprintf("POST /api/v1/job.status HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", length, body)
	}
	c.join(slow, post(1000, "{"), true)
	c.join(slow, "POST /api", false)
	c.join(unfinished, post(4<<20, strings.Repeat(" ", 1<<20)), true)
	cl := rpc.NewClient(ann)
	var wg sync.WaitGroup
	for range padded {
		wg.Go(func() { // answered or refused
			_, _ = rpc.Call[wire.JobRequest, wire.JobStatus](t.Context(), cl, p.addr, "job.status", wire.JobRequest{Job: wire.JobID(strings.Repeat("x", 3<<20))})
		})
	}
	wg.Wait()
	under, grown := p99(t, bob, 300), rss(t, p.run["master"].Process.Pid)-before
	cl.Close()
	t.Logf("bob's p99: %s alone, %s beside; the master grew by %d MB from %d", alone, under, grown, before)
	if grown > 64 {
		t.Errorf("the master grew by %d MB", grown)
	}
	if limit := max(2*alone, 100*time.Millisecond); under > limit {
		t.Errorf("bob's p99 is %s, alone %s", under, alone)
	}
}
