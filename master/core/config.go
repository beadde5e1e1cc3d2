package core

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/netmon"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// Config is how patient and how strict the master is.
type Config struct {
	Scheduler scheduler.Config
	// Links says how fast the racks' links and the nodes' cards are; what it does not say is not
	// watched for congestion.
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
	// Return is how long a worker whose death was seen may take to come back before maps whose output lies there are run
	// again, if no other map of the job waits for room; else they are after Silence. Larger: fewer maps are done twice
	// when workers are started again, and reduces wait for longer when they are not. Default 400 ms.
	Return time.Duration
	// Grace is how long after a restart work of workers that have not reported yet is left to
	// them. Default 3 s.
	Grace time.Duration
	// NodeFailures is how many attempts of a job may fail on one node before the job avoids
	// it, for as long as Avoid says. Default 3 and 10 min; at most a third of the nodes are avoided, beyond that none is.
	NodeFailures int
	Avoid        time.Duration
	// Deaths is how many times a worker may be taken for dead within Exclude before it gets no work for as
	// long. Default 3 in 2 min; at most a third of the nodes are excluded.
	Deaths  int
	Exclude time.Duration
	// FetchFailures is how many reduces must fail to fetch a map's output before the map is run
	// again; half of the running reduces suffice, and so does one if the node is down. Default 3.
	FetchFailures int
	// Decisions, if set, is given the log of what the policies were told and decided. It must not
	// call back.
	Decisions func(l scheduler.LogLine)
	// Speculation starts second attempts of slow tasks.
	Speculation Speculation
	// MaxTasks bounds the maps, and the reduces, of a stage. Default 2,000,000 maps.
	MaxTasks int
	// MaxJobs bounds the unfinished jobs. Default 20,000.
	MaxJobs int
	// KeepEnded is how many ended jobs are remembered. Default 1,000.
	KeepEnded int
}

// Speculation is when a task gets a second attempt (LATE: the one that would end last first).
type Speculation struct {
	Off bool
	// After is the age below which an attempt is not judged. Default 2 s.
	After time.Duration
	// Slower is how many times the mean length of its finished siblings an attempt is expected
	// to take. Default 1.5.
	Slower float64
	// Share is how much of what runs may be second attempts. Default 0.1, as Hadoop.
	Share float64
}

// DefaultConfig returns the values above.
func DefaultConfig() Config {
	return Config{
		Scheduler: scheduler.DefaultConfig(), Monitor: netmon.DefaultConfig(), Epoch: 1, Attempts: 4, Silence: 10 * time.Second, Return: 400 * time.Millisecond, Grace: 3 * time.Second,
		NodeFailures: 3, Avoid: 10 * time.Minute, Deaths: 3, Exclude: 2 * time.Minute, FetchFailures: 3, Speculation: Speculation{After: 2 * time.Second, Slower: 1.5, Share: 0.1},
		MaxTasks: 2_000_000, MaxJobs: 20_000, KeepEnded: 1_000,
	}
}

func (c *Config) validate() error {
	if c.Attempts < 1 || c.Silence <= 0 || c.NodeFailures < 1 || c.Deaths < 1 || c.FetchFailures < 1 || c.MaxTasks < 1 || c.MaxJobs < 1 {
		return fmt.Errorf("attempts %d, silence %s, node failures %d, deaths %d, fetch failures %d, tasks %d and jobs %d must be positive",
			c.Attempts, c.Silence, c.NodeFailures, c.Deaths, c.FetchFailures, c.MaxTasks, c.MaxJobs)
	}
	return nil
}
