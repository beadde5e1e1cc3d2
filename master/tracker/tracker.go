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

// A Tracker is the state of the master. One goroutine uses it: it has no locks, and what is said of its parts holds between calls.
type Tracker struct {
	cfg    Config
	engine *drive.Loop

	fleet             // the workers
	gauges            // what is measured of them
	pulse             // when they were heard
	backlog           // the jobs
	tenants           // whose they are
	restart           // what the master before has left open
	turn              // the round under way
	outbox            // what is left to be done
	plans   planning  // where announced jobs will run
	log     decisions // for those who ask why
	tally   Tally
	script  *wire.Choice // the policy, if a script makes it
}

// fleet is every worker that was ever heard or read of; none is forgotten. A node stands in nodes at its place in topo, and in
// byName. racks has the id that topo has for a rack, and that of the first for a name that cannot be a rack's.
type fleet struct {
	topo   *topology.Builder
	racks  map[string]topology.RackID
	nodes  []*node // by topology.NodeID
	byName map[wire.NodeName]*node
	byAddr map[string]*node // who reported from there last
}

// gauges are measured as time goes by, and the policies are told.
type gauges struct {
	monitor *netmon.Monitor
	watched time.Duration // when it was last sampled
	gaugeAt time.Duration // when the policies are told of load and progress next
	lacks   lacks
}

// pulse is what tells a silent worker from a master that did not run, or a network that was down. Both only grow.
type pulse struct {
	newest time.Duration // when a node was heard last, as of the last Tick
	ticked time.Duration // when that was
}

// backlog is the jobs. Records alone make them and change their state, so that a restart finds the same; forget lets go of the
// oldest in ended, with its request. A stage is in stages from when the policies are told of it until they are told of its end.
// Numbers are given out once, also over restarts: those of attempts begin with the epoch of the master.
type backlog struct {
	jobs     map[wire.JobID]*job
	requests map[string]wire.JobID // by user and submission
	ended    []wire.JobID          // oldest first; none before Resume
	stages   map[scheduler.JobID]*stage
	bans     []ban // the one that ends first is first
	lastJob  int64
	lastSID  scheduler.JobID // of this master only
	lastTry  uint64
}

// tenants are the users who have jobs or limits, or had jobs lately, and some others.
type tenants struct {
	users     map[string]*user
	usersMost int // how many there may be before the idle ones are forgotten
}

// restart is how far this master has taken over. Policies are asked nothing in rounds before it has resumed. Before graceEnd nothing
// is offered: what runs where is not known.
type restart struct {
	resumed    bool          // Replay is over
	resumedAt  time.Duration // when that was
	graceEnd   time.Duration // until when unheard-of nodes keep their work; 0 when the grace is over
	graceLeast time.Duration // before which the grace does not end
}

// turn is what a round has decided that must wait for its end, as it asks the policies again. Empty between rounds.
type turn struct {
	rejected []rejected
	placed   []*stage // whose reduces it has started
}

// outbox is what calls have left to be done since the last Take. A record that is in it is applied already.
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
	Clean   []Leftover      // directories of the block store that nobody needs any more
	Broken  []error         // rules that policies have broken, for the log
	// Replanned says that Readers may be others.
	Replanned bool
	Notes     []string // what the cluster has begun to lack for the policies, or lacks no more, for the log
}

// New returns a master without jobs and nodes.
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

// View shows what the policies see.
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

// KeepScript writes down the script that decides from here on, also after a restart; nil: none does.
func (c *Tracker) KeepScript(now time.Duration, p *wire.Choice) {
	if p != nil || c.script != nil {
		c.note(Record{At: now, Kind: Scripted, Policy: p})
	}
}

// Script is the one that decides, or nil.
func (c *Tracker) Script() *wire.Choice { return c.script }

// Broke counts and reports that a policy has broken a rule of which the rounds know nothing.
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

// feed tells the policies. An event that the state refuses is old news and is dropped; one that cannot be is told to the log.
func (c *Tracker) feed(now time.Duration, e scheduler.Event) bool {
	err := c.engine.Feed(now, e)
	if err != nil && !errors.Is(err, scheduler.ErrStale) {
		c.broken(now, err)
	}
	return err == nil
}

// Tick does what time brings: silent nodes die, second attempts start, policies do their
// periodic work. Call it several times a second.
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
	if c.graceEnd > 0 { // what runs where is not known yet
		parts = drive.Tick | drive.Admit
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
