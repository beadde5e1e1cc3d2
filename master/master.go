package master

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/core"
	"github.com/millrace/millrace/master/history"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// A Master is a running master.
type Master struct {
	cfg       Config
	names     *names.Service
	core      *core.Core
	log       jobLog
	past      *history.Store // nil if it cannot be opened: pastError says why
	peers     *rpc.Client    // to workers
	disks     []*disk.Root
	server    *rpc.Server
	members   *membership.List // nil without gossip
	addr      string
	pastError error
	made      platforms
	begin     time.Time
	base      time.Duration // the cluster's age when this master began

	calls  chan func(now time.Duration) // into the loop
	lateMu sync.Mutex                   // guards late
	late   []func(now time.Duration)    // for the loop, from those who may not wait
	poke   chan struct{}                // there is something in late
	commit chan batch
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	failed chan error

	// Of the loop only:
	parked   map[wire.NodeName]*parked
	knocking map[wire.NodeName]bool
	drivers  map[wire.JobID][]chan struct{}
	watchers map[wire.JobID][]chan struct{} // who waits for map output
	people   map[wire.JobID]*audience       // who waits for a status
	releases []func()
	last     uint64 // record of the journal
	firstSeq uint64 // the last record before this master's own
	told     uint32 // events for the history that are not in the journal
	policy   wire.Choice
	admit    wire.Choice
	load     loadLog
}

// Start opens what is on disk and begins to serve.
func Start(cfg Config) (*Master, error) {
	if err := cfg.checkListen(); err != nil {
		return nil, err
	}
	m := &Master{
		cfg: cfg, begin: time.Now(), calls: make(chan func(time.Duration), 1024), commit: make(chan batch, 64), poke: make(chan struct{}, 1), failed: make(chan error, 1),
		parked: map[wire.NodeName]*parked{}, knocking: map[wire.NodeName]bool{}, drivers: map[wire.JobID][]chan struct{}{}, watchers: map[wire.JobID][]chan struct{}{}, people: map[wire.JobID]*audience{},
	}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	l, err := m.open()
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	m.addr = l.Addr().String()
	if err := m.gossip(); err != nil {
		return nil, errors.Join(err, l.Close(), m.Close())
	}
	m.wg.Go(m.loop)
	m.wg.Go(m.committer)
	m.wg.Go(m.ticker)
	m.wg.Go(func() {
		if err := m.server.Serve(l); err != nil {
			m.fail(err)
		}
	})
	return m, nil
}

func (m *Master) open() (net.Listener, error) {
	if err := m.openNames(); err != nil {
		return nil, fmt.Errorf("namespace: %w", err)
	}
	if err := m.openJobs(); err != nil {
		return nil, fmt.Errorf("jobs: %w", err)
	}
	sc := rpc.ServerConfig{}
	if m.cfg.Key == nil && !m.cfg.Insecure && m.cfg.Listener == nil {
		sc.Authenticate = rpc.ThisMachine
	}
	if m.cfg.Key != nil {
		var err error
		if sc, err = m.cfg.Key.Server("master"); err != nil {
			return nil, err
		}
	}
	if err := m.openPeers(); err != nil {
		return nil, err
	}
	sc.Panicked = func(method string, v any, stack []byte) {
		m.cfg.Log.Error("panic in a handler", "method", method, "value", fmt.Sprint(v), "stack", string(stack))
	}
	m.server = rpc.NewServer(sc)
	m.names.Routes(m.server)
	m.routes()
	if m.cfg.Listener != nil {
		return m.cfg.Listener, nil
	}
	return net.Listen("tcp", m.cfg.Listen)
}

func (m *Master) root(name string) (*disk.Root, error) {
	r, err := disk.OpenRoot(filepath.Join(m.cfg.Dir, name))
	if err == nil {
		m.disks = append(m.disks, r)
	}
	return r, err
}

func (m *Master) openNames() error {
	root, err := m.root("names")
	if err != nil {
		return err
	}
	place, err := policies.Placement(m.cfg.Placement, m.cfg.PlacementParams)
	if err != nil {
		return err
	}
	cfg := names.DefaultConfig()
	cfg.Disk, cfg.Checkpoint = root, filepath.Join(m.cfg.Dir, "names", "checkpoint.db")
	cfg.Now, cfg.Wall = func() time.Duration { return time.Since(m.begin) }, time.Now
	cfg.Placement = func(t *topology.Topology) (placement.Policy, error) { return place(t) }
	if m.cfg.Names != nil {
		m.cfg.Names(&cfg)
	}
	m.names, err = names.Open(cfg)
	return err
}

// openJobs brings back the jobs of an earlier master. Epochs are the name service's: it counts
// how often it was opened.
func (m *Master) openJobs() error {
	root, err := m.root("jobs")
	if err != nil {
		return err
	}
	m.policy = wire.Choice{Name: m.cfg.Policy, Params: policies.LiveParams(m.cfg.Policy, m.cfg.PolicyParams)}
	m.admit = wire.Choice{Name: m.cfg.Admission, Params: policies.LiveParams(m.cfg.Admission, m.cfg.AdmissionParams)}
	p, err := policies.Policy(m.policy.Name, m.policy.Params)
	if err != nil {
		return err
	}
	a, err := policies.Admission(m.admit.Name, m.admit.Params)
	if err != nil {
		return err
	}
	cc := m.cfg.Core
	cc.Epoch = m.names.Epoch()
	if m.core, err = core.New(cc, p, a); err != nil {
		return err
	}
	if err := m.openJobLog(root, journal.Config{SegmentBytes: jobsSegment, Fence: m.names.Fence}); err != nil {
		return err
	}
	m.openPast()
	m.core.Resume(m.now())
	return nil
}

// now is the age of the cluster: it goes on where the last master's records ended.
func (m *Master) now() time.Duration { return m.base + time.Since(m.begin) }

// Routes lists every way in.
func (m *Master) Routes() []rpc.Route { return m.server.Routes() }

// Addr is where the master listens.
func (m *Master) Addr() string { return m.addr }

// Names is the name service.
func (m *Master) Names() *names.Service { return m.names }

// Failed gives the error that made the master stop by itself.
func (m *Master) Failed() <-chan error { return m.failed }

func (m *Master) fail(err error) {
	select {
	case m.failed <- err:
	default:
	}
	m.cancel()
}

// Close stops the master and waits. What was acknowledged is on disk. It may be called twice.
func (m *Master) Close() error {
	m.cancel()
	var errs []error
	if m.members != nil {
		errs = append(errs, m.members.Close())
	}
	if m.server != nil {
		errs = append(errs, m.server.Close())
	}
	m.wg.Wait()
	if m.past != nil {
		errs = append(errs, m.past.Close())
	}
	if m.log.journal != nil {
		errs = append(errs, m.log.journal.Close())
	}
	if m.peers != nil {
		errs = append(errs, m.peers.Close())
	}
	if m.names != nil {
		errs = append(errs, m.names.Close())
	}
	for _, d := range m.disks {
		errs = append(errs, d.Close())
	}
	m.past, m.log.journal, m.peers, m.names, m.disks = nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
