// Package dfstest runs a whole block store in one process, for tests: the real name service and block services,
// on loopback and the test's own disks.
package dfstest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/dfs/pipe"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/tick"
	"github.com/millrace/millrace/internal/wire"
)

// Config configures a store.
type Config struct {
	Nodes int
	Racks int // 0 means 1
	// Names and Blocks change the services' configuration, if set.
	Names  func(c *names.Config)
	Blocks func(c *blocks.Config)
	// Disk gives a node another disk than a temporary directory. Dir gives it another directory.
	Disk func(i int) disk.FS
	Dir  func(i int) string
}

// A Cluster is a running store.
type Cluster struct {
	t     testing.TB
	cfg   Config
	dir   string
	Names *names.Service
	Addr  string // of the name service
	Nodes []*Node

	stopNames func()
}

// A Node is one block service. It can be stopped and started again on the same disk.
type Node struct {
	c       *Cluster
	Name    wire.NodeName
	Rack    string
	Dir     string
	FS      disk.FS
	service *blocks.Service
	meter   *rpc.Meter
	stop    func()
}

// Timing is quick, as tests need, but slow enough for a shared machine.
var Timing = pipe.Timing{Ack: 2 * time.Second}

// Start starts a store that ends with the test.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c := &Cluster{t: t, cfg: cfg, dir: t.TempDir()}
	t.Cleanup(c.stopAll)
	c.StartNames()
	for i := range cfg.Nodes {
		n := &Node{c: c, Name: wire.NodeName(fmt.Sprint("n", i+1)), Rack: fmt.Sprint("r", i%max(1, cfg.Racks)+1), Dir: filepath.Join(c.dir, fmt.Sprint("n", i+1))}
		if cfg.Disk != nil {
			n.FS = cfg.Disk(i)
		}
		if cfg.Dir != nil && cfg.Dir(i) != "" {
			n.Dir = cfg.Dir(i)
		}
		c.Nodes = append(c.Nodes, n)
		n.Start()
	}
	c.Wait("all nodes have registered", func() bool {
		live := 0
		for _, n := range c.Names.Nodes() {
			if n.State == "live" {
				live++
			}
		}
		mode, err := c.Names.SafeMode(wire.SafeModeRequest{})
		return live == cfg.Nodes && err == nil && !mode.On
	})
	return c
}

func (c *Cluster) stopAll() {
	for _, n := range c.Nodes {
		n.Stop()
	}
	c.StopNames()
}

// StartNames starts the name service, at its former address if it ran before.
func (c *Cluster) StartNames() {
	c.t.Helper()
	root, err := disk.OpenRoot(c.NamesDir())
	if err != nil {
		c.t.Fatal(err)
	}
	begin := time.Now()
	cfg := names.DefaultConfig()
	cfg.Disk, cfg.Checkpoint = root, filepath.Join(c.NamesDir(), "checkpoint.db")
	cfg.Now, cfg.Wall = func() time.Duration { return time.Since(begin) }, time.Now
	cfg.SafeExtension, cfg.DeadAfter, cfg.LeaseTimeout = 50*time.Millisecond, 2*time.Second, 3*time.Second
	cfg.DeleteDelay = 200 * time.Millisecond
	cfg.Superuser = "ann" // the user of Client's clients
	if c.cfg.Names != nil {
		c.cfg.Names(&cfg)
	}
	if c.Names, err = names.Open(cfg); err != nil {
		c.t.Fatal(err)
	}
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Addr = l.Addr().String()
	srv := rpc.NewServer(rpc.ServerConfig{})
	c.Names.Routes(srv)
	var wg sync.WaitGroup
	wg.Go(func() { c.check(srv.Serve(l)) })
	ctx, cancel := context.WithCancel(context.Background())
	svc := c.Names
	wg.Go(func() { c.tick(ctx, svc) })
	c.stopNames = sync.OnceFunc(func() {
		cancel()
		c.check(srv.Close())
		wg.Wait()
		c.check(errors.Join(svc.Close(), root.Close()))
	})
}

func (c *Cluster) tick(ctx context.Context, svc *names.Service) {
	for range tick.Every(ctx, 50*time.Millisecond) {
		c.check(svc.Tick())
	}
}

func (c *Cluster) check(err error) {
	if err != nil {
		c.t.Error(err)
	}
}

// NamesDir is where the name service keeps its state.
func (c *Cluster) NamesDir() string { return filepath.Join(c.dir, "names") }

// StopNames stops the name service.
func (c *Cluster) StopNames() { c.stopNames() }

// Start starts the node.
func (n *Node) Start() {
	c := n.c
	c.t.Helper()
	fsys := n.FS
	closeDisk := func() error { return nil }
	if fsys == nil {
		root, err := disk.OpenRoot(n.Dir)
		if err != nil {
			c.t.Fatal(err)
		}
		fsys, closeDisk = root, root.Close
	}
	store, err := blocks.OpenStore(blocks.StoreConfig{Node: n.Name, Dirs: []blocks.Dir{{Path: n.Dir, FS: fsys}}, NewID: rand.Text})
	if err != nil {
		c.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	client := rpc.NewClient(rpc.ClientConfig{Node: string(n.Name)})
	cfg := blocks.Config{
		Node: n.Name, Rack: n.Rack, Addr: l.Addr().String(), Client: client, Names: blocks.Remote{Client: client, Addr: c.Addr},
		BeatEvery: 100 * time.Millisecond, ProbeEvery: 500 * time.Millisecond, Timing: Timing,
	}
	if c.cfg.Blocks != nil {
		c.cfg.Blocks(&cfg)
	}
	svc := blocks.NewService(store, cfg)
	n.meter = &rpc.Meter{}
	srv := rpc.NewServer(rpc.ServerConfig{Meter: n.meter})
	svc.Register(srv)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	wg.Go(func() { c.check(srv.Serve(l)) })
	wg.Go(func() {
		if err := svc.Run(ctx); err != nil {
			c.t.Logf("%s: %v", n.Name, err)
		}
	})
	n.service = svc
	n.stop = sync.OnceFunc(func() {
		cancel()
		client.Close()
		c.check(srv.Close())
		wg.Wait()
		c.check(errors.Join(store.Close(), closeDisk()))
	})
}

// Stop ends the node as a crash does, without a farewell.
func (n *Node) Stop() {
	if n.stop != nil {
		n.stop()
	}
}

// BytesSent returns how many bytes of blocks the node has sent since it was started.
func (n *Node) BytesSent() (sum int64) {
	for p, b := range n.meter.Read() {
		if p.What == rpc.Block {
			sum += b.Sent
		}
	}
	return sum
}

// Inside makes a client run in the node's own process.
func (n *Node) Inside(c *dfs.Config) {
	c.Node = n.Name
	c.Own = func(ctx context.Context, a pipe.WriteArgs) (*pipe.Head, error) { return n.service.Write(ctx, a) }
}

// Client returns a client that runs on the named node, or on none if the name is empty. It ends with the test.
func (c *Cluster) Client(on wire.NodeName, change ...func(*dfs.Config)) *dfs.Client {
	c.t.Helper()
	rc := rpc.NewClient(rpc.ClientConfig{User: "ann"})
	cfg := dfs.Config{Master: c.Addr, Client: rc, User: "ann", Node: on, Timing: Timing, LeaseEvery: 200 * time.Millisecond, Patience: 10 * time.Second}
	for _, fn := range change {
		fn(&cfg)
	}
	cl := dfs.NewClient(cfg)
	c.t.Cleanup(func() { c.check(errors.Join(cl.Close(), rc.Close())) })
	return cl
}

// Wait waits until done returns true, and fails the test after half a minute.
func (c *Cluster) Wait(what string, done func() bool) {
	c.t.Helper()
	for begin := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			c.t.Fatalf("waited half a minute: %s", what)
		}
	}
}

// Healthy waits until fsck finds no fault.
func (c *Cluster) Healthy() {
	c.t.Helper()
	c.Wait("fsck reports all files healthy", func() bool {
		r, err := c.Names.Fsck(wire.FsckRequest{Path: "/", User: "ann"})
		if err != nil {
			return false
		}
		return r.Under+r.Over+r.Missing+r.Corrupt == 0 && len(r.Files) == 0
	})
}
