package integration

import (
	"crypto/tls"
	"fmt"
	"io"
	"maps"
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

// A crowd is connections of one user that are opened and then left as they are, for as long as the master bears them.
type crowd struct {
	addr    string
	tls     *tls.Config
	coming  sync.WaitGroup
	staying sync.WaitGroup

	mu    sync.Mutex // guards what follows
	conns []net.Conn
	now   map[string]int // that the master bears, by kind
	most  map[string]int // that it bore at once
}

// join begins to open n connections of a kind that say the same, eight at a time. Those that are refused do not matter.
func (c *crowd) join(kind string, n int, say string) {
	queue := make(chan struct{}, n)
	for range n {
		queue <- struct{}{}
	}
	close(queue)
	for range 8 {
		c.coming.Go(func() {
			for range queue {
				c.enter(kind, say)
			}
		})
	}
}

// enter opens one, and counts it until the master ends it.
func (c *crowd) enter(kind, say string) {
	plain, err := net.DialTimeout("tcp", c.addr, 10*time.Second)
	if err != nil {
		return
	}
	conn := tls.Client(plain, c.tls)
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second)) // it is open
	if _, err := conn.Write([]byte(say)); err != nil {
		_ = plain.Close() // it was refused
		return
	}
	_ = conn.SetDeadline(time.Time{}) // as above
	c.mu.Lock()
	c.conns = append(c.conns, plain)
	c.mu.Unlock()
	c.count(kind, 1)
	c.staying.Go(func() {
		_, _ = io.Copy(io.Discard, conn) // that it ends is what counts
		c.count(kind, -1)
	})
}

func (c *crowd) count(kind string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[kind] += by
	c.most[kind] = max(c.most[kind], c.now[kind])
}

// there are those of each kind that the master bears now, and the most that it bore at once.
func (c *crowd) there() (now, most map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.now), maps.Clone(c.most)
}

func (c *crowd) leave() {
	c.coming.Wait()
	for _, conn := range c.conns {
		_ = conn.Close() // the master may have been first
	}
	c.staying.Wait()
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

// A neighbour is somebody else who calls the master, and looks at how large it is.
type neighbour struct {
	took  []time.Duration
	large int // MB, at most
}

// calls makes calls for as long as there is a reason to.
func (n *neighbour) calls(t *testing.T, cl *client.Client, pid int, more func() bool) {
	t.Helper()
	for more() {
		begin := time.Now()
		if _, err := cl.Nodes(t.Context()); err != nil {
			t.Errorf("a call beside the crowd: %v", err)
		}
		n.took = append(n.took, time.Since(begin))
		if len(n.took)%20 == 1 {
			n.large = max(n.large, rss(t, pid))
		}
	}
	slices.Sort(n.took)
}

func (n *neighbour) p99() time.Duration { return n.took[len(n.took)*99/100] }

// invade opens, all at once, slow bodies, slow headers and posts that are not finished, and makes padded calls. It returns when all have
// come; those that the master bears stay.
func (c *crowd) invade(t *testing.T, slow, padded, unfinished int, ann rpc.ClientConfig) {
	post := func(length int, body string) string {
		return fmt.Sprintf("POST /api/v1/job.status HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", length, body)
	}
	c.join("bodies", slow, post(1000, "{"))
	c.join("headers", slow, "POST /api")
	c.join("posts", unfinished, post(4<<20, strings.Repeat(" ", 1<<20)))
	cl := rpc.NewClient(ann)
	defer cl.Close()
	for range padded {
		c.coming.Go(func() { // answered or refused
			_, _ = rpc.Call[wire.JobRequest, wire.JobStatus](t.Context(), cl, c.addr, "job.status", wire.JobRequest{Job: wire.JobID(strings.Repeat("x", 3<<20))})
		})
	}
	c.coming.Wait()
}

// TestCrowdOfOneUser is FAULTS row 93: ann opens slow bodies, slow headers, padded calls and posts that she does not
// finish, all at once. While they come and stay the master does not grow, and bob is served; while they stay he does not wait. They come
// from this machine, so that bob shares its processors with what it takes them to come: some thousand handshakes.
func TestCrowdOfOneUser(t *testing.T) {
	require.Faults(t)
	slow, padded, unfinished, growth := 600, 30, 20, 64
	if require.Stressed() {
		slow, padded, unfinished, growth = 5000, 100, 60, 96
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
	pid := p.run["master"].Process.Pid
	var alone, coming, staying neighbour
	alone.calls(t, bob, pid, func() bool { return len(alone.took) < 1000 })
	c := &crowd{addr: p.addr, tls: ann.TLS, now: map[string]int{}, most: map[string]int{}}
	defer c.leave()
	begin, came := time.Now(), make(chan struct{})
	go func() {
		defer close(came)
		c.invade(t, slow, padded, unfinished, ann)
	}()
	coming.calls(t, bob, pid, func() bool {
		select {
		case <-came:
			return false
		default:
			return true
		}
	})
	took := time.Since(begin)
	now, most := c.there()
	staying.calls(t, bob, pid, func() bool { return len(staying.took) < 1000 })
	grown := max(coming.large, staying.large) - alone.large
	t.Logf("bob's p99: %s alone, %s while they come, for %s, %s while %v stay (at most %v); the master grew by %d MB from %d",
		alone.p99(), coming.p99(), took, staying.p99(), now, most, grown, alone.large)
	for _, kind := range []string{"bodies", "headers"} {
		if now[kind] < 100 {
			t.Errorf("there are only %d slow %s: the test shows nothing", now[kind], kind)
		}
	}
	if grown > growth {
		t.Errorf("the master grew by %d MB", grown)
	}
	if staying.p99() > max(2*alone.p99(), 100*time.Millisecond) || coming.p99() > time.Second {
		t.Errorf("bob's p99 is %s while they stay and %s while they come, alone %s", staying.p99(), coming.p99(), alone.p99())
	}
}
