// Command crowd is one user who makes a master hold as much as it will: slow bodies, slow headers, padded calls and
// unfinished posts, all at once. When all have come it prints how many of each the master bears, and keeps them until
// its input ends. It is a separate process with the lowest priority: on a real cluster a crowd comes from other
// machines.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
)

// A crowd is connections that are opened and then left open for as long as the master bears them.
type crowd struct {
	addr   string
	tls    *tls.Config
	coming sync.WaitGroup

	mu   sync.Mutex // guards what follows
	now  map[string]int
	most map[string]int
}

func main() {
	addr, key := flag.String("master", "", "address of the master"), flag.String("key", "", "file of the cluster's key")
	slow, padded, unfinished := flag.Int("slow", 0, "slow bodies, and slow headers"), flag.Int("padded", 0, "padded calls"), flag.Int("unfinished", 0, "posts that are not finished")
	flag.Parse()
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) // without permission it is only louder
	k, err := secure.Load(*key)
	if err != nil {
		fatal(err)
	}
	ann, err := k.Client(secure.User, "ann", "")
	if err != nil {
		fatal(err)
	}
	c := &crowd{addr: *addr, tls: ann.TLS, now: map[string]int{}, most: map[string]int{}}
	c.invade(*slow, *padded, *unfinished, ann)
	if err := json.NewEncoder(os.Stdout).Encode(c.there()); err != nil {
		fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes the input
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// there returns how many of each kind the master bears now, and the most that it bore at once.
func (c *crowd) there() (out struct{ Now, Most map[string]int }) {
	c.mu.Lock()
	defer c.mu.Unlock()
	out.Now, out.Most = maps.Clone(c.now), maps.Clone(c.most)
	return out
}

// invade opens all connections, and returns when all have come; those that the master bears stay.
func (c *crowd) invade(slow, padded, unfinished int, ann rpc.ClientConfig) {
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
			_, _ = rpc.Call[wire.JobRequest, wire.JobStatus](context.Background(), cl, c.addr, "job.status", wire.JobRequest{Job: wire.JobID(strings.Repeat("x", 3<<20))})
		})
	}
	c.coming.Wait()
}

// join starts to open n connections of a kind, with the same bytes, eight at a time. Refused ones do not matter.
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

// enter opens one connection, and counts it until the master ends it.
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
	c.count(kind, 1)
	go func() {
		_, _ = io.Copy(io.Discard, conn) // only its end matters
		c.count(kind, -1)
		_ = plain.Close() // the master has closed it
	}()
}

func (c *crowd) count(kind string, by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now[kind] += by
	c.most[kind] = max(c.most[kind], c.now[kind])
}
