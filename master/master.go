package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/millrace/millrace/dfs/names"
	"github.com/millrace/millrace/dfs/placement"
	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/journal"
	"github.com/millrace/millrace/internal/membership"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/history"
	"github.com/millrace/millrace/master/tracker"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
	"github.com/millrace/millrace/topology"
)

// A Master is a running master.
type Master struct {
	cfg       Config
	names     *names.Service
	jobs      *tracker.Tracker
	log       jobLog
	texts     texts // of scripts
	audit     *audit.Log
	spool     *spool // of the decision log
	readers   readers
	tasks     taskLife
	past      *history.Store // nil if it cannot be opened: pastError says why
	peers     *rpc.Client    // to workers
	disks     []*disk.Root
	server    *rpc.Server
	members   *membership.List // nil without gossip
	addr      string
	pastError error
	made      needed
	groups    *groups // nil without a file of groups
	kept      historyLimits
	begin     time.Time
	base      time.Duration // the cluster's age when this master began

	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	failed  chan error
	inbox   // how work reaches the loop
	waiting // who waits for answers; used by the loop only
	place   // in the journal; used by the loop only
	choices // as they were made; used by the loop only
}

// inbox carries work into the loop, which alone changes the jobs, and from there to the journal. A function that was
// taken is called once. When the master stops, the others are dropped and their callers get an error.
type inbox struct {
	calls  chan func(now time.Duration)
	lateMu sync.Mutex                // guards late
	late   []func(now time.Duration) // from callers that may not wait
	poke   chan struct{}             // there is something in late
	commit chan batch
}

// waiting lists who waits for an answer. A waiter is answered or called once and then leaves the list.
type waiting struct {
	parked        map[wire.NodeName]*parked // reports, at most one for each node
	probing       map[wire.NodeName]bool
	drivers       map[wire.JobID][]chan struct{}
	watchers      map[wire.JobID][]chan struct{} // callers that wait for map output
	statusWaiters map[wire.JobID]*waiters        // callers that wait for a status
	releases      []func()
}

func newWaiting() waiting {
	return waiting{
		parked: map[wire.NodeName]*parked{}, probing: map[wire.NodeName]bool{},
		drivers: map[wire.JobID][]chan struct{}{}, watchers: map[wire.JobID][]chan struct{}{}, statusWaiters: map[wire.JobID]*waiters{},
	}
}

// place is how far the journal has come. It only grows.
type place struct {
	last     uint64 // record of the journal
	firstSeq uint64 // the last record before this master's own
	told     uint32 // events for the history that are not in the journal
}

// choices are the policies in use, and what they led to.
type choices struct {
	policy wire.Choice
	admit  wire.Choice
	script scripted
	load   loadLog
	broken broken
}

// Start opens what is on disk and begins to serve.
func Start(cfg Config) (*Master, error) {
	if err := errors.Join(cfg.checkListen(), cfg.LocalPaths.validate()); err != nil {
		return nil, err
	}
	m := &Master{
		cfg: cfg, begin: time.Now(), failed: make(chan error, 1),
		inbox:   inbox{calls: make(chan func(time.Duration), 1024), commit: make(chan batch, 64), poke: make(chan struct{}, 1)},
		waiting: newWaiting(),
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
		revoked := sc.Revoked
		sc.Revoked = func(c rpc.Caller) error { return cmp.Or(revoked(c), m.tasks.refuses(c, time.Now())) }
	}
	if err := m.openPeers(); err != nil {
		return nil, err
	}
	var err error
	if m.audit, err = audit.Open(filepath.Join(m.cfg.Dir, "audit.log"), audited, m.cfg.Log); err != nil {
		return nil, err
	}
	sc.Called, sc.Audited = m.audit.Called, m.audit.Audited
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
	dir := filepath.Join(m.cfg.Dir, name)
	if err := disk.OwnDir(dir); err != nil {
		return nil, err
	}
	r, err := disk.OpenRoot(dir)
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
	cfg.Readers = m.readers.racks
	cfg.Superuser, cfg.Admins = cmp.Or(m.cfg.Superuser, currentUser()), m.cfg.Key != nil
	if m.cfg.Groups != "" {
		if m.groups, err = loadGroups(m.cfg.Groups); err != nil {
			return err
		}
		cfg.Groups = m.groups.of
		m.wg.Go(func() { m.groups.follow(m.ctx, m.cfg.Log) })
	}
	cfg.TakeOver, cfg.Over = m.cfg.TakeOver, m.cfg.Above
	cfg.Told = func(err error) { m.cfg.Log.Error("a worker does not obey this master", "error", err) }
	if m.cfg.Names != nil {
		m.cfg.Names(&cfg)
	}
	m.names, err = names.Open(cfg)
	return err
}

// openJobs restores the jobs of an earlier master. Epochs come from the name service, which counts how often it was
// opened.
func (m *Master) openJobs() error {
	root, err := m.root("jobs")
	if err != nil {
		return err
	}
	var p scheduler.Policy
	if m.policy, p, err = m.usual(); err != nil {
		return err
	}
	m.admit = wire.Choice{Name: m.cfg.Admission, Params: policies.LiveParams(m.cfg.Admission, m.cfg.AdmissionParams)}
	a, err := policies.Admission(m.admit.Name, m.admit.Params)
	if err != nil {
		return err
	}
	cc := m.cfg.Jobs
	m.kept.exempt, cc.Exempt = m.names.Superuser, m.names.Superuser
	cc.Epoch, cc.Heartbeat = m.names.Epoch(), m.cfg.Hold // a worker with nothing to say reports that often
	if cc.Spill, err = m.openSpool(); err != nil {
		return err
	}
	if m.jobs, err = tracker.New(cc, p, a); err != nil {
		return err
	}
	m.jobs.Announce(0, m.policy, m.admit)
	if err := m.openJobLog(root, journal.Config{SegmentBytes: jobsSegment, MaxRecord: journalRecord, Fence: m.names.Fence}); err != nil {
		return err
	}
	m.noteLimits()
	m.openPast()
	for _, what := range m.wounds() {
		m.cfg.Log.Warn("something was missing on disk", "what", what)
	}
	m.restoreScript()
	m.jobs.Resume(m.now())
	m.readers.set(m.jobs.Readers())
	for _, j := range m.jobs.List(wire.JobsRequest{Active: true}) {
		m.tasks.begin(j.Job, j.User)
	}
	return nil
}

// now returns the age of the cluster. It continues where the last master's records ended and counts the time without a
// master.
func (m *Master) now() time.Duration { return m.base + time.Since(m.begin) }

// Routes returns every route of the server.
func (m *Master) Routes() []rpc.Route { return m.server.Routes() }

// Addr returns the address on which the master listens.
func (m *Master) Addr() string { return m.addr }

// Names returns the name service.
func (m *Master) Names() *names.Service { return m.names }

// TakeOverAbove returns the epoch that a master which is to take over must be above, if it stopped for that reason.
func (m *Master) TakeOverAbove() (epoch uint64, ok bool) { return m.names.Above() }

// Failed returns a channel that delivers the error that stopped the master.
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
	errs = append(errs, m.audit.Close(), m.spool.Close())
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
	m.past, m.log.journal, m.peers, m.names, m.disks, m.spool = nil, nil, nil, nil, nil, nil
	return errors.Join(errs...)
}
