package worker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/dfs/blocks"
	"github.com/millrace/millrace/internal/audit"
	"github.com/millrace/millrace/internal/disk"
	"github.com/millrace/millrace/internal/emulate"
	"github.com/millrace/millrace/internal/program"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/worker/roster"
)

// A Worker is a running worker. What open sets does not change until Close, except for duties.
type Worker struct {
	cfg  Config
	pool *shuffle.Pool // of the attempts in this process
	jail *jail         // of those in processes of their own
	connections
	holdings
	emulated
	lifetime
	duties
}

// connections are how this worker calls others and is called. Each start has a new session, so that the master
// can recognize what an earlier worker of that name has said.
type connections struct {
	client  *rpc.Client
	server  *rpc.Server
	addr    string
	session string
	audit   *audit.Log // of refused calls
}

// holdings are what the worker has on its disks. It holds the lock of its directory while it uses any of them. Those
// that several goroutines use have locks of their own.
type holdings struct {
	lock    *disk.Lock
	disks   []*disk.Root // of blocks
	store   *blocks.Store
	blocks  *blocks.Service
	dfs     *dfs.Client
	outputs *outputs // of maps
	logs    *logStore
	shipped *shipped
	local   localDisks
}

// emulated is what makes the machine slower than it is. Parts that are not emulated are nil. shaper and links
// go together.
type emulated struct {
	links   *emulate.Links
	shaper  *emulate.Shaper
	machine *machine
}

// lifetime is the start and end of a worker. What Start starts is in wg and ends with ctx, as do attempts.
type lifetime struct {
	begin  time.Time
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	taken  chan struct{} // closed when the master has accepted this worker
	takeIn sync.Once     // closes it
	asks   sync.Once     // logs that it waits for its name
	waits  sync.Once     // logs why it is not accepted yet
	// refusal is the last reason not to obey a master that was logged.
	refusal atomic.Value
	failed  chan error // why it stops by itself
}

// duties are what the worker does for the master and reports to it. An attempt is in runs while a goroutine
// runs it or waits for its process. It leaves runs and the roster's running attempts in one step.
type duties struct {
	news chan struct{} // signals news for the master

	mu      sync.Mutex // guards the fields below; taken after the locks of holdings, never held during calls to others
	roster  *roster.Roster
	traffic *traffic
	runs    map[wire.AttemptID]run
	stages  map[wire.StageRef]*stageCache
}

// Start opens the disks and starts to serve and to report.
func Start(cfg Config) (*Worker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	var err error
	if cfg.Dir, err = filepath.Abs(cfg.Dir); err != nil { // tasks run in other directories
		return nil, fmt.Errorf("worker directory %s: %w", cfg.Dir, err)
	}
	w := &Worker{
		cfg: cfg, pool: cfg.budget.Pool(),
		lifetime: lifetime{begin: time.Now(), taken: make(chan struct{}), failed: make(chan error, 1)},
		duties:   duties{news: make(chan struct{}, 1), runs: map[wire.AttemptID]run{}, stages: map[wire.StageRef]*stageCache{}},
	}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	l, err := w.open()
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	w.wg.Go(func() {
		if err := w.server.Serve(l); err != nil {
			w.fail(err)
		}
	})
	w.wg.Go(w.runBlocks)
	w.wg.Go(w.reporter)
	w.wg.Go(w.logSweeper)
	if w.cfg.Gossip != "" {
		w.wg.Go(func() { w.gossip(w.session) })
	}
	return w, nil
}

// runBlocks serves blocks once the master has accepted the worker. Before that, another worker may have the
// name and its blocks.
func (w *Worker) runBlocks() {
	select {
	case <-w.taken:
	case <-w.ctx.Done():
		return
	}
	if err := w.blocks.Run(w.ctx); err != nil {
		w.cfg.Log.Error("the block store has failed", "error", err)
		w.setSick(err.Error())
	}
}

func (w *Worker) open() (net.Listener, error) {
	var err error
	if w.lock, err = disk.LockDir(w.cfg.Dir, lockNote+string(w.cfg.Node)); err != nil {
		return nil, err
	}
	l := w.cfg.Listener
	if l == nil {
		if l, err = net.Listen("tcp", w.cfg.Listen); err != nil {
			return nil, err
		}
	}
	if w.addr, err = w.cfg.advertised(l.Addr()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	var cc rpc.ClientConfig
	var sc rpc.ServerConfig
	if w.cfg.Key == nil && !w.cfg.Insecure && w.cfg.Listener == nil {
		sc.Authenticate = rpc.ThisMachine
	}
	if k := w.cfg.Key; k != nil {
		var err1, err2 error
		cc, err1 = k.Client(secure.Node, string(w.cfg.Node), "")
		sc, err2 = k.Server(string(w.cfg.Node))
		if err := errors.Join(err1, err2); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	cc.Node = string(w.cfg.Node)
	if err := w.emulate(&cc, &sc); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	w.client = rpc.NewClient(cc)
	sc.Meter = &rpc.Meter{}
	w.machine = newMachine(w.cfg.Speed, w.cfg.Capacity, time.Now())
	if w.machine != nil && w.cfg.Idle == nil {
		w.cfg.Idle = func() (float64, bool) { return w.machine.idle(time.Now()) }
	}
	w.traffic = newTraffic(w.cfg.Idle, w.client.Meter(), sc.Meter)
	if err := w.openStore(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	// Before the scratch space is cleared, since programs that a killed worker left there may still write.
	if w.jail, err = newJail(&w.cfg); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	w.jail.reach = func(ctx context.Context, addr string) bool { return addr == w.cfg.Master || w.blocks.Member(ctx, addr) }
	scratch := filepath.Join(w.cfg.Dir, "scratch")
	var held []wire.AttemptID
	if w.outputs, held, err = openOutputs(scratch, w.cfg.SmallOutput); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if w.logs, err = openLogs(filepath.Join(w.cfg.Dir, "logs")); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if w.shipped, err = openShipped(w.cfg.Dir, w.jobRuns); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	here := program.Here()
	w.session = rand.Text()
	w.roster = roster.New(roster.Config{
		Node: w.cfg.Node, Session: w.session, Rack: w.cfg.Rack, Addr: w.addr, Machine: w.cfg.Machine, Speed: w.cfg.Speed,
		Capacity: w.cfg.Capacity, Held: held, Isolation: w.jail.mode,
		Platform: here.Platform, Lacks: here.Lacks,
	})
	if w.audit, err = audit.Open(filepath.Join(w.cfg.Dir, "audit.log"), nil, w.cfg.Log); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	sc.Called, sc.Audited = w.audit.Called, w.audit.Audited
	w.server = rpc.NewServer(sc)
	w.blocks.Register(w.server)
	w.routes()
	return l, nil
}

func (w *Worker) openStore() error {
	data := w.cfg.Data
	if len(data) == 0 {
		data = []string{filepath.Join(w.cfg.Dir, "blocks")}
		if err := makeDir(data[0]); err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
	}
	sc := blocks.StoreConfig{Node: w.cfg.Node, Reserve: w.cfg.Reserve, NewID: rand.Text}
	for _, d := range data {
		root, err := disk.OpenRoot(d)
		if err != nil {
			return fmt.Errorf("data directory: %w", err)
		}
		w.disks = append(w.disks, root)
		sc.Dirs = append(sc.Dirs, blocks.Dir{Path: d, FS: root})
	}
	var err error
	if w.store, err = blocks.OpenStore(sc); err != nil {
		return err
	}
	bc := blocks.Config{
		Node: w.cfg.Node, Rack: w.cfg.Rack, Addr: w.addr, Machine: w.cfg.Machine, Client: w.client,
		Names: blocks.Remote{Client: w.client, Addr: w.cfg.Master},
		Event: func(e blocks.Event) {
			w.cfg.Log.Warn("block store", "what", e.What, "block", e.Block.String(), "error", e.Err)
		},
	}
	if w.cfg.Blocks != nil {
		w.cfg.Blocks(&bc)
	}
	w.blocks = blocks.NewService(w.store, bc)
	w.dfs = dfs.NewClient(dfs.Config{Master: w.cfg.Master, Client: w.client, Node: w.cfg.Node, Own: w.blocks.Write, Patience: time.Minute, Timing: bc.Timing})
	return nil
}

// Routes lists every route of the worker.
func (w *Worker) Routes() []rpc.Route { return w.server.Routes() }

// Addr returns where the worker listens.
func (w *Worker) Addr() string { return w.addr }

// Budget returns how the memory of this process is divided.
func (w *Worker) Budget() shuffle.Budget { return w.cfg.budget }

// Ready returns a channel that is closed when the master has accepted the worker.
func (w *Worker) Ready() <-chan struct{} { return w.taken }

// Failed returns the channel of the error that stopped the worker.
func (w *Worker) Failed() <-chan error { return w.failed }

func (w *Worker) fail(err error) {
	select {
	case w.failed <- err:
	default:
	}
	w.cancel()
}

func (w *Worker) setSick(why string) {
	w.mu.Lock()
	w.roster.SetSick(why)
	w.mu.Unlock()
	w.nudge()
}

// Drain asks for no new attempts. Idle reports when nothing runs.
func (w *Worker) Drain() {
	w.mu.Lock()
	w.roster.Drain(true)
	w.mu.Unlock()
	w.nudge()
}

// Idle reports whether nothing runs here.
func (w *Worker) Idle() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.roster.Busy() == 0
}

// Close stops everything at once and waits. Map output stays on disk for the next start. Close may be called
// twice.
func (w *Worker) Close() error {
	w.cancel()
	var errs []error
	if w.client != nil {
		errs = append(errs, w.client.Close())
	}
	if w.server != nil {
		errs = append(errs, w.server.Close())
	}
	w.wg.Wait()
	errs = append(errs, w.audit.Close())
	w.jail.close()
	if w.logs != nil {
		errs = append(errs, w.logs.close())
	}
	if w.dfs != nil {
		errs = append(errs, w.dfs.Close())
	}
	if w.store != nil {
		errs = append(errs, w.store.Close())
	}
	for _, d := range w.disks {
		errs = append(errs, d.Close())
	}
	if w.outputs != nil {
		errs = append(errs, w.outputs.files.close())
	}
	if w.links != nil {
		errs = append(errs, w.links.Close())
	}
	errs = append(errs, w.lock.Close())
	w.lock = nil
	return errors.Join(errs...)
}

// makeDir makes a directory that only the worker may enter: it holds users' data, and tasks of others run here.
func makeDir(name string) error { return disk.OwnDir(name) }
