package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/millrace/millrace/scheduler"
)

// Info describes the assignment policy.
var Info = scheduler.Info{
	Name: "capacity", Seam: scheduler.Assignment, Summary: "queues with guaranteed and maximum shares, and limits per user",
	Source: "spec/capacity 3.3 to 3.6", Usual: scheduler.Ramped, UsualUnless: scheduler.RampedUnless,
	Setup: scheduler.Bind(defaultSettings, (*settings).params, settings.build),
}

// everywhere returns a table with one number for all queues that are not named.
func everywhere(v float64) map[string]float64 { return map[string]float64{"*": v} }

// perQueue binds a number per queue; * stands for queues not named.
func perQueue(table *map[string]float64, name, doc string) scheduler.Param {
	return scheduler.Table(table, name, "spec/capacity 3.3", doc+"; * is every queue not named")
}

// queueTables are queues as a user gives them, for both policies: a number per name.
type queueTables struct {
	queues, userLimit, priority map[string]float64
}

func defaultTables() queueTables {
	return queueTables{map[string]float64{"default": 100}, everywhere(100), everywhere(0)}
}

func (t *queueTables) params() []scheduler.Param {
	return []scheduler.Param{
		scheduler.Table(&t.queues, "queues", "spec/capacity 3.3", "guaranteed percentage by queue: prod=70,dev=30; dev.web is a child of dev, in percent of it; siblings add up to 100").In(0, 100),
		perQueue(&t.userLimit, "user-limit", "minimum-user-limit-percent: what a user is held to when others compete; 100 is first come first served").In(1, 100),
		perQueue(&t.priority, "priority", "1: job priorities count in this queue").In(0, 1),
	}
}

// settings is the configuration of the policy as a user gives it.
type settings struct {
	Config
	queueTables
	maxCapacity, userLimitFactor map[string]float64
}

func defaultSettings() settings {
	return settings{DefaultConfig(), defaultTables(), everywhere(-1), everywhere(1)}
}

func (s *settings) params() []scheduler.Param {
	m := &s.Memory
	return slices.Concat(s.queueTables.params(), []scheduler.Param{
		perQueue(&s.maxCapacity, "max-capacity", "hard cap on the percentage; -1: none").In(-1, 100),
		perQueue(&s.userLimitFactor, "user-limit-factor", "multiple of the queue's capacity that one user may hold").In(1e-6, 1e6),
		scheduler.Either(&s.Backlog, [2]string{"ratio", "backlog"}, "queue-order", "spec/capacity 3.5, 7.1", "who is served first: least occupied over guaranteed, or most pending maps"),
		scheduler.Either(&s.UsersByJobs, [2]string{"pending", "jobs"}, "users-by", "spec/capacity 3.5", "who is an active user: with pending tasks, or with an unfinished job"),
		scheduler.Duration(&s.UsageLag, "usage-lag", "spec/capacity 4.2", "how long a finished map stays on the books").In(0, 3600),
		scheduler.Float(&s.LocalityWait, "locality-wait", "spec/capacity 3.5", "times min(unfinished maps, nodes): offers passed up before a remote map").In(0, 1e6),
		scheduler.Float(&s.RackWait, "rack-wait", "spec/capacity 6, item 16", "times the nodes: offers passed up before a rack-local map").In(0, 1e6),
		scheduler.Int(&s.TasksPerHeartbeat, "tasks-per-heartbeat", "spec/capacity 3.3", "tasks one heartbeat may receive").In(1, 1<<31),
		scheduler.Int(&s.ReducesPerHeartbeat, "reduces-per-heartbeat", "spec/capacity 2.3", "reduces one heartbeat may receive").In(1, 1<<31),
		scheduler.Int(&s.AfterOffSwitch, "after-off-switch", "spec/capacity 3.3", "maps one heartbeat may still receive after a remote one").In(0, 1<<31),
		scheduler.Int(&m.SlotMB[scheduler.Map], "map-slot-mb", "spec/capacity 3.6", "memory of a map slot, MB; memory scheduling is on when all four are set").In(0, 1<<40),
		scheduler.Int(&m.SlotMB[scheduler.Reduce], "reduce-slot-mb", "spec/capacity 3.6", "memory of a reduce slot, MB").In(0, 1<<40),
		scheduler.Int(&m.MaxMB[scheduler.Map], "max-map-mb", "spec/capacity 3.6", "memory of the largest map, MB").In(0, 1<<40),
		scheduler.Int(&m.MaxMB[scheduler.Reduce], "max-reduce-mb", "spec/capacity 3.6", "memory of the largest reduce, MB").In(0, 1<<40),
	}, s.Reduces.RampParams())
}

// A column is a number of each queue: its table, and where it goes.
type column struct {
	name  string
	table map[string]float64
	set   func(q *Queue, v float64)
}

// build makes the queues from their tables and these further columns.
func (t *queueTables) build(more ...column) ([]Queue, error) {
	columns := append([]column{
		{"user-limit", t.userLimit, func(q *Queue, v float64) { q.UserLimit = v }},
		{"priority", t.priority, func(q *Queue, v float64) { q.Priority = v != 0 }},
	}, more...)
	names := slices.Sorted(maps.Keys(t.queues))
	for _, c := range columns {
		for _, n := range slices.Sorted(maps.Keys(c.table)) {
			if _, ok := t.queues[n]; !ok && n != "*" {
				return nil, fmt.Errorf("%s names queue %q; there are: %s", c.name, n, strings.Join(names, ", "))
			}
		}
	}
	var out []Queue
	for _, name := range names {
		q := DefaultQueue(name, t.queues[name])
		for _, c := range columns {
			if v, ok := c.table[name]; ok {
				c.set(&q, v)
			} else if v, ok := c.table["*"]; ok {
				c.set(&q, v)
			}
		}
		out = append(out, q)
	}
	return out, nil
}

func (s settings) build() (_ *Policy, err error) {
	s.Queues, err = s.queueTables.build(
		column{"max-capacity", s.maxCapacity, func(q *Queue, v float64) { q.MaxCapacity = v }},
		column{"user-limit-factor", s.userLimitFactor, func(q *Queue, v float64) { q.UserLimitFactor = v }})
	if err != nil {
		return nil, err
	}
	return New(s.Config)
}
