package capacity

import (
	"fmt"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// A Queue is one queue as configured (spec/capacity 3.3). Percentages are of the
// parent, or of the cluster.
type Queue struct {
	// Name is the path, "dev" or "dev.web". A parent must be listed too.
	Name string
	// Capacity is the guaranteed percentage, 0..100; those of siblings add up
	// to 100.
	Capacity float64
	// MaxCapacity is a hard cap on the percentage; 0 or less: none. Lower: others
	// find free slots sooner, more stay idle. Default -1.
	MaxCapacity float64
	// UserLimit is minimum-user-limit-percent, 1..100: the smallest part of the
	// queue a user is held to when others compete. 100 is first come first
	// served; lower: more users run at once, each slower. Default 100.
	UserLimit float64
	// UserLimitFactor is the multiple of the queue's capacity that one user may
	// hold. Default 1.
	UserLimitFactor float64
	// Priority says that job priorities count in this queue. Default false.
	Priority bool

	// MaxTasks and MaxTasksPerUser bound the tasks of initialised jobs.
	// Defaults 200000 and 100000.
	MaxTasks, MaxTasksPerUser int
	// AcceptFactor times the jobs that may be initialised are accepted.
	// Default 10.
	AcceptFactor int
}

// DefaultQueue returns a queue with the defaults of spec/capacity 3.3, Table 2.1.
func DefaultQueue(name string, capacity float64) Queue {
	return Queue{
		Name: name, Capacity: capacity, MaxCapacity: -1, UserLimit: 100, UserLimitFactor: 1,
		MaxTasks: 200_000, MaxTasksPerUser: 100_000, AcceptFactor: 10,
	}
}

// validate checks the ranges of spec/capacity 3.3.
func (q *Queue) validate() error {
	switch {
	case !(q.Capacity >= 0 && q.Capacity <= 100):
		return fmt.Errorf("queue %s: capacity %g is not 0..100", q.Name, q.Capacity)
	case q.MaxCapacity > 0 && !(q.MaxCapacity >= q.Capacity && q.MaxCapacity <= 100):
		return fmt.Errorf("queue %s: maximum capacity %g is not between its capacity %g and 100", q.Name, q.MaxCapacity, q.Capacity)
	case !(q.UserLimit >= 1 && q.UserLimit <= 100):
		return fmt.Errorf("queue %s: user limit %g is not 1..100 percent", q.Name, q.UserLimit)
	case !(q.UserLimitFactor > 0):
		return fmt.Errorf("queue %s: user limit factor %g must be above 0", q.Name, q.UserLimitFactor)
	case q.MaxTasksPerUser < 1 || q.MaxTasks < q.MaxTasksPerUser:
		return fmt.Errorf("queue %s: %d initialised tasks per user must be 1..%d, those of the queue", q.Name, q.MaxTasksPerUser, q.MaxTasks)
	case q.AcceptFactor < 1:
		return fmt.Errorf("queue %s: accept factor %d must be above 0", q.Name, q.AcceptFactor)
	}
	return nil
}

// Memory describes memory-based scheduling (spec/capacity 3.6), by kind. It is on
// when all four are set; a task then takes as many slots as its memory needs.
type Memory struct {
	SlotMB [kinds]int64 // memory of one slot
	MaxMB  [kinds]int64 // largest task
}

func (m *Memory) on() bool { return m.SlotMB[scheduler.Map] > 0 }

func (m *Memory) validate() error {
	set := 0
	for k := range kinds {
		for _, mb := range [...]int64{m.SlotMB[k], m.MaxMB[k]} {
			if mb > 0 {
				set++
			}
		}
	}
	if set != 0 && set != 4 {
		return fmt.Errorf("memory scheduling needs slot memory and maximum of both kinds: %d of 4 are set", set)
	}
	return nil
}

// Config is the configuration of the assignment policy.
type Config struct {
	Queues []Queue
	// Backlog orders queues by pending maps, most first, instead of by occupied
	// over guaranteed slots. It ignores capacities: for comparison with the
	// published numbers only. Default false (spec/capacity 7.1).
	Backlog bool
	// UsersByJobs counts every user with an unfinished job as active, instead of
	// those with pending tasks. Default false (spec/capacity 3.5).
	UsersByJobs bool
	// UsageLag is how long a finished map stays on the books of queue and user.
	// One heartbeat, 300 ms, shows the "delayed map execution" of the source.
	// Default 0: exact (spec/capacity 4.2).
	UsageLag time.Duration
	// LocalityWait times min(unfinished maps, nodes) is how many offers a job
	// passes up before it takes a remote map. Larger: more locality, later
	// starts. Default 1 (spec/capacity 3.5).
	LocalityWait float64
	// RackWait times the number of nodes is how many offers a job passes up
	// before it takes a rack-local map. Default 0: rack-local counts as local
	// (spec/capacity 3.5, 6 item 16).
	RackWait float64
	// TasksPerHeartbeat bounds what one heartbeat may receive. Default 32767.
	TasksPerHeartbeat int
	// ReducesPerHeartbeat likewise, reduces only. Default 1 (spec/capacity 2.3).
	ReducesPerHeartbeat int
	// AfterOffSwitch is how many more maps a heartbeat may receive after a remote
	// one. Default 0 (spec/capacity 3.3).
	AfterOffSwitch int
	// Memory is memory-based scheduling. Default off.
	Memory Memory
	// Reduces says when reduces may start.
	Reduces scheduler.ReduceRule
}

// DefaultConfig returns one queue, "default", with the whole cluster.
func DefaultConfig() Config {
	return Config{
		Queues: []Queue{DefaultQueue("default", 100)}, LocalityWait: 1, TasksPerHeartbeat: 32767, ReducesPerHeartbeat: 1,
		Reduces: scheduler.DefaultReduceRule(),
	}
}

func (c *Config) validate() error {
	switch {
	case c.LocalityWait < 0 || c.RackWait < 0:
		return fmt.Errorf("locality wait %g and rack wait %g must be 0 or more", c.LocalityWait, c.RackWait)
	case c.TasksPerHeartbeat < 1 || c.ReducesPerHeartbeat < 1 || c.AfterOffSwitch < 0:
		return fmt.Errorf("a heartbeat must be able to receive at least one task of each kind")
	case c.UsageLag < 0:
		return fmt.Errorf("usage lag %v is negative", c.UsageLag)
	}
	return c.Memory.validate()
}
