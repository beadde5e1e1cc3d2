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

// A Tracker is the state of the master.
type Tracker struct {
	cfg    Config
	engine *drive.Loop
	topo   *topology.Builder
	racks  map[string]topology.RackID

	nodes  []*node // by topology.NodeID
	byName map[wire.NodeName]*node
	byAddr map[string]*node

	monitor *netmon.Monitor
	watched time.Duration // when it was last sampled
	gaugeAt time.Duration // when the policies are told of load and progress next
	lacks   lacks

	jobs     map[wire.JobID]*job
	requests map[string]wire.JobID // by submission
	users    map[string]*user
	ended    []wire.JobID // oldest first
	stages   map[scheduler.JobID]*stage
	bans     []ban // the one that ends first is first
	lastJob  int64
	lastSID  scheduler.JobID
	lastTry  uint64
	// usersMost is how many users there may be before the idle ones are forgotten.
	usersMost int

	noted     int64         // records made since the start
	newest    time.Duration // when a node was heard last, as of the last Tick
	ticked    time.Duration // when that was
	resumed   bool          // Replay is over
	resumedAt time.Duration // when that was
	graceEnd  time.Duration // until when unheard-of nodes keep their work
	out       Output

	graceLeast time.Duration // before which the grace does not end

	plans    planning
	log      decisions
	tally    Tally
	rejected []rejected // by the round under way
	placed   []*stage   // whose reduces it has started
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
		cfg: cfg, topo: b, monitor: monitor, byAddr: map[string]*node{}, racks: map[string]topology.RackID{},
		byName: map[wire.NodeName]*node{}, jobs: map[wire.JobID]*job{}, requests: map[string]wire.JobID{},
		users: map[string]*user{}, usersMost: maxIdle,
		stages: map[scheduler.JobID]*stage{}, lastTry: cfg.Epoch << 32,
	}
	c.engine = drive.New(scheduler.NewEngine(state, p, a), cfg.drive(c.progress, c.hear))
	return c, nil
}

// View shows what the policies see.
func (c *Tracker) View() *scheduler.View { return c.engine.View() }

// SetPolicy replaces the policy while jobs run.
func (c *Tracker) SetPolicy(now time.Duration, p scheduler.Policy) {
	c.engine.SetPolicy(now, p)
	c.teach(now)
	if len(c.plans.expected) > 0 {
		c.losePlans()
		c.replan(now)
	}
	c.offerAll(now)
}

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
