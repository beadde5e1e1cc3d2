package tracker

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// Config is how patient and how strict the master is.
type Config struct {
	Scheduler scheduler.Config
	// Links says how fast the racks' links and the nodes' cards are. A link without a speed is not watched for
	// congestion.
	Links topology.Links
	// Monitor is how the network is watched.
	Monitor netmon.Config
	// Epoch is above that of every master before.
	Epoch uint64
	// Attempts is how often a task is tried before its job fails. Default 4, as Hadoop.
	Attempts int
	// Silence is how long a worker may send nothing before it counts as dead. Larger: work of
	// dead nodes is given away later, and fewer live ones are taken for dead. Default 10 s.
	Silence time.Duration
	// Held is how long after a worker was last heard its name is kept for it: another worker that claims the name is
	// refused. A worker whose connection broke, or that is down, has already lost its name. Default 3 s.
	Held time.Duration
	// Return is how long a worker whose death was seen has to come back before maps whose output lies on it run again.
	// That holds if no other map of the job waits for room; else they run again after Silence. Larger: fewer maps run
	// twice when workers are restarted, and reduces wait longer when they are not. Default 400 ms.
	Return time.Duration
	// Heartbeat is the interval at which a worker's reports count as heartbeats for the policies, which allow so much
	// in each. A worker with news reports more often. Default 1 s.
	Heartbeat time.Duration
	// Grace is how long after a restart the master leaves work to workers that have not reported yet. Default 3 s.
	Grace time.Duration
	// NodeFailures is how many attempts of a job may fail on one node before the job avoids the node, for as long as
	// Avoid says. Default 3 and 10 min. A job avoids at most a third of the nodes; beyond that it avoids none.
	NodeFailures int
	Avoid        time.Duration
	// Deaths is how many times a worker may be taken for dead within Exclude before it gets no work for as
	// long. Default 3 in 2 min; at most a third of the nodes are excluded.
	Deaths  int
	Exclude time.Duration
	// FetchFailures is how many reduces must fail to fetch a map's output before the map runs again. Half of the
	// running reduces suffice, and so does one if the node is down. Default 3.
	FetchFailures int
	// FetchPatience is how long one reduce must have complained of the same output until it is believed alone. Larger:
	// reduces that each wait for another map wait longer. Default 30 s.
	FetchPatience time.Duration
	// MaxPlan is how many bytes the splits of a stage may take in memory and in the journal: a split with three hosts takes
	// some 40. A job beyond it fails. Default 256 MiB.
	MaxPlan int
	// Decisions, if set, gets the log of what the policies were told and decided. It must not call back.
	Decisions func(l *drive.Line)
	// KeepDecisions is how many decisions are remembered in words, and KeepLines roughly how many bytes of the log that
	// a simulator replays. Larger: they reach further back, and take more memory. Default 20,000 and 32 MiB, two hours
	// of a small cluster.
	KeepDecisions int
	KeepLines     int64
	// Spill, if set, gets the lines that leave that memory, in order. It must neither call back nor block.
	Spill func(p Page)
	// SecondAttempts starts second attempts of slow tasks.
	SecondAttempts SecondAttempts
	// MaxTasks bounds the maps, and the reduces, of a stage. Default 2,000,000 maps.
	MaxTasks int
	// MaxJobs bounds the unfinished jobs. Default 20,000.
	MaxJobs int
	// Exempt reports whether only a user's own limits apply, not those of all: so for administrators. nil: for nobody.
	Exempt func(user string) bool
	// KeepEnded is how many ended jobs are remembered. Default 1,000.
	KeepEnded int
}

// SecondAttempts is when a task gets a second attempt.
type SecondAttempts struct {
	Off bool
	// By is the rule: late, or lag, that of Hadoop's first versions. Empty means late.
	By string
	drive.LATE
	Lag drive.Lag
}

// Rule returns the rule that decides; nil means no second attempts.
func (s *SecondAttempts) Rule() drive.Rule {
	switch {
	case s.Off:
		return nil
	case s.By == "lag":
		return s.Lag
	}
	return s.LATE
}

// Choice returns the name of that rule, or that of none.
func (s *SecondAttempts) Choice() *wire.Choice {
	c := wire.Choice(drive.NameOf(s.Rule()))
	return &c
}

func (s *SecondAttempts) validate() error {
	if s.By != "" && s.By != "late" && s.By != "lag" {
		return fmt.Errorf("second attempts by %q: the rules are late and lag", s.By)
	}
	if r := s.Rule(); r != nil {
		return r.Validate()
	}
	return nil
}

// drive returns the configuration of the rounds of a live cluster.
func (c *Config) drive(m drive.Meter, log func(*drive.Line)) drive.Config {
	return drive.Config{Seconds: c.SecondAttempts.Rule(), Meter: m, Refill: true, Spread: true, Log: log}
}

// DefaultConfig returns the values above.
func DefaultConfig() Config {
	return Config{
		Scheduler: scheduler.DefaultConfig(), Monitor: netmon.DefaultConfig(), Epoch: 1, Attempts: 4, Silence: 10 * time.Second, Held: 3 * time.Second, Return: 400 * time.Millisecond, Heartbeat: time.Second, Grace: 3 * time.Second,
		NodeFailures: 3, Avoid: 10 * time.Minute, Deaths: 3, Exclude: 2 * time.Minute, FetchFailures: 3, FetchPatience: 30 * time.Second, SecondAttempts: SecondAttempts{By: "late", LATE: drive.DefaultLATE(), Lag: drive.DefaultLag()},
		MaxTasks: 2_000_000, MaxPlan: 256 << 20, MaxJobs: 20_000, KeepEnded: 1_000, KeepDecisions: 20_000, KeepLines: 32 << 20,
	}
}

func (c *Config) validate() error {
	if c.Heartbeat <= 0 {
		return fmt.Errorf("heartbeat %s: the interval must be positive", c.Heartbeat)
	}
	if c.Attempts < 1 || c.Silence <= 0 || c.NodeFailures < 1 || c.Deaths < 1 || c.FetchFailures < 1 || c.FetchPatience <= 0 || c.MaxTasks < 1 || c.MaxPlan < 1 || c.MaxJobs < 1 {
		return fmt.Errorf("attempts %d, silence %s, node failures %d, deaths %d, fetch failures %d, fetch patience %s, tasks %d, bytes of a plan %d and jobs %d must be positive",
			c.Attempts, c.Silence, c.NodeFailures, c.Deaths, c.FetchFailures, c.FetchPatience, c.MaxTasks, c.MaxPlan, c.MaxJobs)
	}
	return c.SecondAttempts.validate()
}
