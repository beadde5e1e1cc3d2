package core

import (
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Core is the state of the master.
type Core struct {
	cfg    Config
	engine *scheduler.Recorder
	topo   *topology.Builder
	racks  map[string]topology.RackID

	nodes  []*node // by topology.NodeID
	byName map[wire.NodeName]*node
	byAddr map[string]*node

	monitor *netmon.Monitor
	watched time.Duration // when it was last sampled

	jobs     map[wire.JobID]*job
	requests map[string]wire.JobID // by submission
	ended    []wire.JobID          // oldest first
	stages   map[scheduler.JobID]*stage
	bans     []ban // the one that ends first is first
	lastJob  int64
	lastSID  scheduler.JobID
	lastTry  uint64

	noted     int64         // records made since the start
	newest    time.Duration // when a node was heard last, as of the last Tick
	ticked    time.Duration // when that was
	resumed   bool          // Replay is over
	resumedAt time.Duration // when that was
	graceEnd  time.Duration // until when unheard-of nodes keep their work
	out       Output

	graceLeast time.Duration // before which the grace does not end
}

// Output is what a call leaves to be done.
type Output struct {
	Records []Record        // to be journalled, in order, before any answer goes out
	Events  []Event         // for the history, beside the records
	Wake    []wire.NodeName // there is something new for these workers
	Drivers []wire.JobID    // there is something new for the drivers of these jobs
	Changed []wire.JobID    // for those who watch them
	Clean   []string        // directories of the block store that nobody needs any more
}

// New returns a master without jobs and nodes.
func New(cfg Config, p scheduler.Policy, a scheduler.Admission) (*Core, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	b := topology.NewBuilder()
	monitor, err := netmon.New(b.Topology(), cfg.Monitor)
	if err != nil {
		return nil, err
	}
	state, err := scheduler.NewState(b.Topology(), cfg.Scheduler)
	if err != nil {
		return nil, err
	}
	rec := &scheduler.Recorder{Engine: scheduler.NewEngine(state, p, a), Log: cfg.Decisions}
	return &Core{
		cfg: cfg, topo: b, monitor: monitor, byAddr: map[string]*node{}, racks: map[string]topology.RackID{}, engine: rec,
		byName: map[wire.NodeName]*node{}, jobs: map[wire.JobID]*job{}, requests: map[string]wire.JobID{},
		stages: map[scheduler.JobID]*stage{}, lastTry: cfg.Epoch << 32,
	}, nil
}

// View shows what the policies see.
func (c *Core) View() *scheduler.View { return c.engine.View() }

// SetPolicy replaces the policy while jobs run.
func (c *Core) SetPolicy(now time.Duration, p scheduler.Policy) {
	c.engine.SetPolicy(now, p)
	c.offerAll(now)
}

// SetAdmission replaces the admission policy while jobs wait.
func (c *Core) SetAdmission(now time.Duration, a scheduler.Admission) {
	c.engine.SetAdmission(now, a)
	c.admit(now)
}

// Take returns what has to be done since the last Take.
func (c *Core) Take() Output {
	out := c.out
	c.out = Output{}
	return out
}

// feed tells the policies. An event that the state refuses is old news and is dropped.
func (c *Core) feed(now time.Duration, e scheduler.Event) bool {
	return c.engine.Feed(now, e) == nil
}

// admit lets waiting jobs start their drivers.
func (c *Core) admit(now time.Duration) {
	if !c.resumed {
		return
	}
	admitted := false
	// A policy that breaks a rule admits nothing this time; its tests are where that shows.
	_, _ = c.engine.Admit(now, func(d scheduler.AdmitDecision) {
		st := c.stages[d.Job]
		if st == nil {
			return
		}
		if d.Verdict == scheduler.Reject {
			c.failJob(now, st.job, "rejected by the admission policy: "+d.Reason.Say)
			return
		}
		admitted = true
		c.tell(now, wire.PastAdmitted, wire.AttemptID{Job: st.job.id, Stage: st.n}, nil, "")
	})
	if admitted {
		c.offerAll(now)
	}
}

// offerAll offers every node's room, while there is something to run.
func (c *Core) offerAll(now time.Duration) {
	for _, n := range c.nodes {
		if !c.workLeft() {
			return
		}
		c.offer(now, n)
	}
}

func (c *Core) workLeft() bool {
	v := c.engine.View()
	return v.Runnable(scheduler.Map).Len() > 0 || v.Pending(scheduler.Reduce).Len() > 0 || c.engine.DriversWait()
}

// offer asks the policies what to run on a node that may have room.
func (c *Core) offer(now time.Duration, n *node) {
	if !n.takes(now) || !c.resumed || now < c.graceEnd {
		return
	}
	// A policy that breaks a rule launches nothing more this time; the log has it.
	_, _ = c.engine.Offer(now, n.id, func(d scheduler.Decision) { c.launch(now, n, d.Task, d.Speculative) })
}

// Tick does what time brings: silent nodes die, second attempts start, policies do their
// periodic work. Call it several times a second.
func (c *Core) Tick(now time.Duration) {
	if !c.resumed {
		return
	}
	if c.graceEnd > 0 && now >= c.graceEnd {
		c.graceEnd = 0
		c.endGrace(now)
	}
	c.graceOver(now)
	c.bury(now)
	c.unban(now)
	c.giveUp(now)
	c.watchNet(now)
	c.engine.Tick(now)
	known := c.graceEnd == 0 // what runs where
	if known {
		c.killForPolicy(now)
	}
	c.speculate(now)
	c.admit(now)
	c.offerAll(now)
	if known {
		c.breakDeadlock(now)
	}
}

// killForPolicy stops what the policy wants stopped.
func (c *Core) killForPolicy(now time.Duration) {
	for {
		victim, ok := c.engine.Kill(now)
		if !ok {
			return
		}
		c.stopVictim(now, victim)
	}
}

func (c *Core) breakDeadlock(now time.Duration) {
	if victim, found := scheduler.Deadlock(c.engine.View()); found && victim.Node != topology.NoNode {
		c.stopVictim(now, victim)
		c.placeMap(now, c.nodes[victim.Node])
		c.offerAll(now)
	}
}

// placeMap gives the room that a reduce had to give up to a map: a policy that counts on nodes which a job cannot use
// would give it back to the reduce, for ever.
func (c *Core) placeMap(now time.Duration, n *node) {
	v := c.engine.View()
	for _, st := range c.liveStages() {
		j := v.Job(st.sid)
		if j == nil || j.Pending(scheduler.Map) == 0 || !v.Fits(n.id, j, scheduler.Map) {
			continue
		}
		if t, near, ok := v.PickMap(j, n.id, scheduler.Remote); ok && c.feed(now, scheduler.Launched(t, n.id, near, false)) {
			c.launch(now, n, t, false)
			return
		}
	}
}

func (c *Core) stopVictim(now time.Duration, v scheduler.Victim) {
	st := c.stages[v.Task.Job]
	if st == nil {
		return
	}
	if v.Node == topology.NoNode {
		c.loseOutput(now, st, v.Task.Index, "the policy wants it run again")
		return
	}
	for _, a := range c.nodes[v.Node].want {
		if a.st == st && a.task() == v.Task {
			c.stop(now, a, c.spell(v.Reason))
			return
		}
	}
}

func (c *Core) wake(n *node) {
	if !n.woken {
		n.woken = true
		c.out.Wake = append(c.out.Wake, n.name)
	}
}

func (c *Core) changed(j *job) { c.out.Changed = append(c.out.Changed, j.id) }
