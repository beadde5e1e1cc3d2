// Package testcluster runs a real master and some workers in one process, on loopback and on the test's own disks. A
// worker can be stopped without notice and started again.
package testcluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// Config configures a cluster.
type Config struct {
	Workers int
	Racks   int // 0 means 1
	Master  func(c *master.Config)
	Worker  func(c *worker.Config)
	// Key makes the cluster a secure one.
	Key *secure.Key
	// Build makes jobs. Nil means the built-in ones.
	Build func(p *wire.Program) ([]mapreduce.Job, error)
}

// A Cluster is a running cluster. It ends with the test.
type Cluster struct {
	t       testing.TB
	cfg     Config
	dir     string
	Addr    string
	Master  *master.Master
	Workers []*Node
	Client  *rpc.Client
	DFS     *dfs.Client
}

// A Node is one worker.
type Node struct {
	c      *Cluster
	Name   wire.NodeName
	Rack   string
	Dir    string
	Worker *worker.Worker // nil while it is stopped
}

// Start starts a cluster and waits until every worker has reported.
func Start(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	c := &Cluster{t: t, cfg: cfg, dir: t.TempDir()}
	t.Cleanup(c.stop)
	c.StartMaster()
	c.Client = c.NewClient(secure.User, "ann")
	c.DFS = dfs.NewClient(dfs.Config{Master: c.Addr, Client: c.Client, User: "ann"})
	var wg sync.WaitGroup
	for i := range cfg.Workers {
		n := &Node{c: c, Name: wire.NodeName(fmt.Sprint("w", i+1)), Rack: fmt.Sprint("r", i%max(1, cfg.Racks)+1)}
		n.Dir = filepath.Join(c.dir, string(n.Name))
		c.Workers = append(c.Workers, n)
		wg.Go(n.Start)
	}
	wg.Wait()
	c.Wait("all workers are up", func() bool {
		up := 0
		for _, n := range c.Nodes() {
			if n.State == "up" {
				up++
			}
		}
		mode, err := c.Master.Names().SafeMode(wire.SafeModeRequest{})
		return up == cfg.Workers && err == nil && !mode.On && len(c.Master.Names().Nodes()) == cfg.Workers
	})
	return c
}

// Key returns the key of a secure cluster.
func (c *Cluster) Key() *secure.Key { return c.cfg.Key }

// NewClient returns a client with this role. The caller must close it.
func (c *Cluster) NewClient(role secure.Role, name string) *rpc.Client {
	cfg := rpc.ClientConfig{}
	if c.cfg.Key != nil {
		var err error
		if cfg, err = c.cfg.Key.Client(role, name, ""); err != nil {
			c.t.Fatal(err)
		}
	}
	if role != secure.Node {
		cfg.User = name
	} else {
		cfg.Node = name
	}
	return rpc.NewClient(cfg)
}

func (c *Cluster) stop() {
	errs := []error{}
	if c.DFS != nil {
		errs = append(errs, c.DFS.Close())
	}
	if c.Client != nil {
		errs = append(errs, c.Client.Close())
	}
	for _, n := range c.Workers {
		n.Stop()
	}
	errs = append(errs, c.Master.Close())
	if err := errors.Join(errs...); err != nil {
		c.t.Error(err)
	}
}

// StartMaster starts the master, at its former address if it ran before.
func (c *Cluster) StartMaster() {
	c.t.Helper()
	cfg := master.DefaultConfig()
	cfg.Dir, cfg.Listen = filepath.Join(c.dir, "master"), "127.0.0.1:0"
	if c.Addr != "" {
		cfg.Listen = c.Addr
	}
	cfg.Jobs.Silence, cfg.Jobs.Grace = 10*time.Second, 2*time.Second
	cfg.Names = func(n *names.Config) {
		n.Superuser = "ann" // the user of Client and DFS
		n.SafeExtension, n.DeadAfter, n.LeaseTimeout, n.DeleteDelay = 50*time.Millisecond, 10*time.Second, 10*time.Second, 200*time.Millisecond
	}
	cfg.Program = c.program
	if c.cfg.Master != nil {
		c.cfg.Master(&cfg)
	}
	cfg.Key = c.cfg.Key
	m, err := startMaster(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Master, c.Addr = m, m.Addr()
}

// startMaster waits for the previous master's address to become free.
func startMaster(cfg master.Config) (m *master.Master, err error) {
	for range 100 {
		var op *net.OpError
		if m, err = master.Start(cfg); err == nil || !errors.As(err, &op) {
			return m, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return m, err
}

// Build makes the jobs of a program.
func (c *Cluster) Build(p *wire.Program) ([]mapreduce.Job, error) {
	if c.cfg.Build != nil {
		return c.cfg.Build(p)
	}
	return jobs.Parse(p.Builtin, p.Args)
}

// program tells the master what a program reads.
func (c *Cluster) program(p *wire.Program) (master.Program, error) {
	stages, err := c.Build(p)
	if err != nil || len(stages) == 0 {
		return master.Program{}, err
	}
	return master.Describe(stages), nil
}

// Start starts the worker, on its former disk if it ran before.
func (n *Node) Start() {
	c := n.c
	cfg := worker.DefaultConfig()
	cfg.Node, cfg.Rack, cfg.Master, cfg.Dir, cfg.Build = n.Name, n.Rack, c.Addr, n.Dir, c.Build
	cfg.Memory, cfg.Reserve = 64<<20, 0
	cfg.Capacity = wire.Capacity{Containers: 3}
	cfg.Blocks = func(b *blocks.Config) { b.BeatEvery = 200 * time.Millisecond }
	cfg.Key = c.cfg.Key
	if c.cfg.Worker != nil {
		c.cfg.Worker(&cfg)
	}
	w, err := startWorker(cfg)
	if err != nil {
		c.t.Error(err)
		return
	}
	n.Worker = w
}

// startWorker waits for the previous worker's directory to become free. A command just being started holds its lock
// until it runs.
func startWorker(cfg worker.Config) (w *worker.Worker, err error) {
	for range 100 {
		if w, err = worker.Start(cfg); err == nil || !strings.Contains(err.Error(), "is in use by") {
			return w, err
		}
		time.Sleep(20 * time.Millisecond)
	}
	return w, err
}

// Stop stops the worker without notice.
func (n *Node) Stop() {
	if n.Worker == nil {
		return
	}
	if err := n.Worker.Close(); err != nil {
		n.c.t.Errorf("%s: %v", n.Name, err)
	}
	n.Worker = nil
}

// Nodes asks the master for its workers.
func (c *Cluster) Nodes() []wire.NodeStatus {
	list, err := api.NodeList.Call(context.Background(), c.Client, c.Addr, struct{}{})
	if err != nil {
		return nil
	}
	return list
}

// Submit submits a built-in job with its arguments.
func (c *Cluster) Submit(spec wire.JobSpec, words ...string) wire.JobID {
	c.t.Helper()
	spec.Program = wire.Program{Builtin: words[0], Args: words[1:]}
	stages, err := c.Build(&spec.Program)
	if err != nil {
		c.t.Fatal(err)
	}
	if spec.Name == "" {
		spec.Name = words[0]
	}
	spec.Stages, spec.Output = len(stages), stages[len(stages)-1].Output
	got, err := api.JobSubmit.Call(context.Background(), c.Client, c.Addr, spec)
	if err != nil {
		c.t.Fatal(err)
	}
	return got.Job
}

// Finish waits for a job's end.
func (c *Cluster) Finish(id wire.JobID) wire.JobStatus {
	c.t.Helper()
	var s wire.JobStatus
	begin := time.Now()
	for time.Since(begin) < 3*time.Minute {
		var err error
		s, err = api.JobStatus.Call(context.Background(), c.Client, c.Addr, wire.JobRequest{Job: id, Wait: 1000})
		if err != nil {
			time.Sleep(50 * time.Millisecond) // the master may be away
			continue
		}
		if s.State.Ended() {
			return s
		}
	}
	c.t.Fatalf("%s has not ended after three minutes: %+v", id, s)
	return s
}

// Wait waits until done returns true.
func (c *Cluster) Wait(what string, done func() bool) {
	c.t.Helper()
	for begin := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute { // for the race detector on a busy machine
			c.t.Fatalf("waited two minutes: %s", what)
		}
	}
}

// Status returns a job's status, or the zero value if the master does not answer.
func (c *Cluster) Status(id wire.JobID) wire.JobStatus {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := api.JobStatus.Call(ctx, c.Client, c.Addr, wire.JobRequest{Job: id})
	if err != nil {
		return wire.JobStatus{}
	}
	return s
}
