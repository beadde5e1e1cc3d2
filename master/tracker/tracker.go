package tracker

import (
	"errors"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// A Tracker is the state of the master. It has no locks: one goroutine uses it. What the comments on its parts say
// holds between calls.
type Tracker struct {
	cfg    Config
	engine *drive.Loop

	fleet             // the workers
	gauges            // measurements of the workers
	pulse             // when the workers were heard
	backlog           // the jobs
	tenants           // whose jobs they are
	restart           // how far this master has taken over
	turn              // the round under way
	outbox            // what the caller has to do
	plans   planning  // where announced jobs will run
	log     decisions // for users who ask why
	tally   Tally
	pause   string       // why nothing is started, and failures do not count; usually ""
	script  *wire.Choice // the policy, if it is a script
}

// fleet is every worker that was ever heard from or read of; none is forgotten. nodes holds a node at its index in
// topo; byName holds it by name. racks maps a name to topo's id of the rack; a name that no rack can have maps to the
// first rack.
type fleet struct {
	topo   *topology.Builder
	racks  map[string]topology.RackID
	nodes  []*node // by topology.NodeID
	byName map[wire.NodeName]*node
	byAddr map[string]*node // the last node to report from an address
}

// gauges are measured periodically and passed to the policies.
type gauges struct {
	monitor *netmon.Monitor
	watched time.Duration // when monitor was last sampled
	gaugeAt time.Duration // when the policies are next told of load and progress
	lacks   lacks
}

// pulse tells a silent worker from a master that did not run or a network that was down. Both fields only grow.
type pulse struct {
	newest time.Duration // when a node was last heard, as of the last Tick
	ticked time.Duration // when that was
}

// backlog is the jobs. Only records create jobs and change their state, so that a restart finds the same. forget drops
// the oldest in ended, with its request. A stage is in stages from when the policies are told of it until they are told
// of its end. Numbers are never reused, not even after a restart: those of attempts begin with the epoch of the master.
type backlog struct {
	jobs     map[wire.JobID]*job
	requests map[string]wire.JobID // by user and submission
	ended    []wire.JobID          // oldest first; none before Resume
	stages   map[scheduler.JobID]*stage
	bans     []ban // sorted by their ends
	lastJob  int64
	lastSID  scheduler.JobID // of this master only
	lastTry  uint64
}

// tenants are the users who have jobs or limits, or had jobs lately. Some idle ones may be among them.
type tenants struct {
	users     map[string]*user
	usersMost int // how many there may be before the idle ones are forgotten
}

// restart is how far this master has taken over. Until it has resumed, it asks policies nothing in rounds. Until
// graceEnd it offers nothing: what runs where is not known.
type restart struct {
	resumed    bool          // Replay is over
	resumedAt  time.Duration // when that was
	graceEnd   time.Duration // until when nodes not heard from keep their work; 0: the grace is over
	graceLeast time.Duration // the grace does not end before this
}

// turn is what a round has decided that must wait for its end, because it asks the policies again. It is empty between
// rounds.
type turn struct {
	rejected []rejected
	placed   []*stage // stages whose reduces it has started
}

// outbox is what calls have left to be done since the last Take. The records in it are already applied.
type outbox struct {
	out   Output
	noted int64 // records made since the start
}

// Output is what a call leaves to be done.
type Output struct {
	Records []Record        // to be journalled, in order; answers to clients and drivers wait for them
	Events  []Event         // for the history, beside the records
	Wake    []wire.NodeName // there is something new for these workers
	Drivers []wire.JobID    // there is something new for the drivers of these jobs
	Changed []wire.JobID    // for those who watch them
	Clean   []Leftover      // directories of the block store that nobody needs any longer
	Broken  []error         // rules that policies have broken, for the log
	// Replanned says that Readers may have changed.
	Replanned bool
	Notes     []string // for the log: what the cluster newly lacks for the policies, or no longer lacks, and for which outputs reduces wait
}

// New returns a tracker without jobs and nodes.
func New(cfg Config, p scheduler.Policy, a scheduler.Admission) (*Tracker, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	b := topology.NewBuilder()
	if err := b.SetOCS(cfg.Links.Optical); err != nil {
		return nil, err
	}
	monitor, err := netmon.New(b.Topology(), cfg.Monitor)
	if err != nil {
		return nil, err
	}
	state, err := scheduler.NewState(b.Topology(), cfg.Scheduler)
	if err != nil {
		return nil, err
	}
	c := &Tracker{
		cfg:     cfg,
		fleet:   fleet{topo: b, racks: map[string]topology.RackID{}, byName: map[wire.NodeName]*node{}, byAddr: map[string]*node{}},
		gauges:  gauges{monitor: monitor},
		backlog: backlog{jobs: map[wire.JobID]*job{}, requests: map[string]wire.JobID{}, stages: map[scheduler.JobID]*stage{}, lastTry: cfg.Epoch << 32},
		tenants: tenants{users: map[string]*user{}, usersMost: maxIdle},
	}
	c.engine = drive.New(scheduler.NewEngine(state, p, a), cfg.drive(c.progress, c.hear))
	return c, nil
}

// View returns what the policies see.
func (c *Tracker) View() *scheduler.View { return c.engine.View() }

// SetPolicy replaces the policy while jobs run.
func (c *Tracker) SetPolicy(now time.Duration, p scheduler.Policy) {
	if c.engine.SetPolicy(now, p); !c.resumed {
		return // Resume teaches and plans
	}
	c.teach(now)
	if len(c.plans.expected) > 0 {
		c.losePlans()
		c.replan(now)
	}
	c.offerAll(now)
}

// KeepScript records the script that decides from now on, also after a restart; nil: no script.
func (c *Tracker) KeepScript(now time.Duration, p *wire.Choice) {
	if p != nil || c.script != nil {
		c.note(Record{At: now, Kind: Scripted, Policy: p})
	}
}

// Script returns the script that decides, or nil.
func (c *Tracker) Script() *wire.Choice { return c.script }

// Broke counts and reports a broken rule that the rounds cannot see.
func (c *Tracker) Broke(now time.Duration, err error) { c.broken(now, err) }

// SetAdmission replaces the admission policy while jobs wait.
func (c *Tracker) SetAdmission(now time.Duration, a scheduler.Admission) {
	c.engine.SetAdmission(now, a)
	c.admit(now)
}

// Take returns what has to be done since the last Take.
func (c *Tracker) Take() Output {
	out := c.out
	c.out = Output{}
	return out
}

// feed tells the policies of an event. An event that the state refuses as stale is dropped; one that is impossible is
// logged.
func (c *Tracker) feed(now time.Duration, e scheduler.Event) bool {
	err := c.engine.Feed(now, e)
	if err != nil && !errors.Is(err, scheduler.ErrStale) {
		c.broken(now, err)
	}
	return err == nil
}

// Tick does the periodic work: silent nodes die, second attempts start, policies do their own. Call it several times a
// second.
func (c *Tracker) Tick(now time.Duration) {
	if !c.resumed {
		return
	}
	if c.graceEnd > 0 && now >= c.graceEnd {
		c.graceEnd = 0
		c.endGrace(now)
	}
	c.graceOver(now)
	c.markDead(now)
	c.unban(now)
	for _, n := range c.nodes {
		c.tellRest(now, n) // an exclusion may be over
	}
	c.giveUp(now)
	c.watchNet(now)
	c.gauge(now)
	parts := drive.All
	if c.graceEnd > 0 { // not yet known what runs where
		parts = drive.Tick | drive.Admit
	}
	if c.pause != "" {
		parts = drive.Tick
	}
	c.round(now, drive.Round{Parts: parts})
}

func (c *Tracker) wake(n *node) {
	if !n.woken {
		n.woken = true
		c.out.Wake = append(c.out.Wake, n.name)
	}
}

func (c *Tracker) changed(j *job) { c.out.Changed = append(c.out.Changed, j.id) }
