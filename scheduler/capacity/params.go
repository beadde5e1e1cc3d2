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
	Source: "capacity.md 3.3 to 3.6", Params: params(),
	New: func(p scheduler.Params) (any, error) {
		c, err := configOf(p)
		if err != nil {
			return nil, err
		}
		return New(c)
	},
}

// perQueue declares a number per queue; * stands for queues not named.
func perQueue(name, def string, low, high float64, doc, source string) scheduler.Param {
	return scheduler.Param{Name: name, Type: scheduler.TableParam, Default: def, Min: low, Max: high, Doc: doc + "; * is every queue not named", Source: source}
}

// queueParams are what both policies ask.
func queueParams() []scheduler.Param {
	return []scheduler.Param{
		{
			Name: "queues", Type: scheduler.TableParam, Default: "default=100", Min: 0, Max: 100, Source: "capacity.md 3.3",
			Doc: "guaranteed percentage by queue: prod=70,dev=30; dev.web is a child of dev, in percent of it; siblings add up to 100",
		},
		perQueue("user-limit", "*=100", 1, 100, "minimum-user-limit-percent: what a user is held to when others compete; 100 is first come first served", "capacity.md 3.3"),
		perQueue("priority", "*=0", 0, 1, "1: job priorities count in this queue", "capacity.md 3.3"),
	}
}

func params() []scheduler.Param {
	integer := func(name, def string, low, high float64, doc, source string) scheduler.Param {
		return scheduler.Param{Name: name, Type: scheduler.IntParam, Default: def, Min: low, Max: high, Doc: doc, Source: source}
	}
	choice := func(name, doc, source string, choices ...string) scheduler.Param {
		return scheduler.Param{Name: name, Type: scheduler.ChoiceParam, Default: choices[0], Choices: choices, Doc: doc, Source: source}
	}
	wait := func(name, def, doc, source string) scheduler.Param {
		return scheduler.Param{Name: name, Type: scheduler.FloatParam, Default: def, Min: 0, Max: 1e6, Doc: doc, Source: source}
	}
	out := append(queueParams(),
		perQueue("max-capacity", "*=-1", -1, 100, "hard cap on the percentage; -1: none", "capacity.md 3.3"),
		perQueue("user-limit-factor", "*=1", 1e-6, 1e6, "multiple of the queue's capacity that one user may hold", "capacity.md 3.3"),
		choice("queue-order", "who is served first: least occupied over guaranteed, or most pending maps", "capacity.md 3.5, 7.1", "ratio", "backlog"),
		choice("users-by", "who is an active user: with pending tasks, or with an unfinished job", "capacity.md 3.5", "pending", "jobs"),
		scheduler.Param{Name: "usage-lag", Type: scheduler.DurationParam, Default: "0s", Min: 0, Max: 3600, Doc: "how long a finished map stays on the books", Source: "capacity.md 4.2"},
		wait("locality-wait", "1", "times min(unfinished maps, nodes): offers passed up before a remote map", "capacity.md 3.5"),
		wait("rack-wait", "0", "times the nodes: offers passed up before a rack-local map", "capacity.md 6, item 16"),
		integer("tasks-per-heartbeat", "32767", 1, 1<<31, "tasks one heartbeat may receive", "capacity.md 3.3"),
		integer("reduces-per-heartbeat", "1", 1, 1<<31, "reduces one heartbeat may receive", "capacity.md 2.3"),
		integer("after-off-switch", "0", 0, 1<<31, "maps one heartbeat may still receive after a remote one", "capacity.md 3.3"),
		integer("map-slot-mb", "0", 0, 1<<40, "memory of a map slot, MB; memory scheduling is on when all four are set", "capacity.md 3.6"),
		integer("reduce-slot-mb", "0", 0, 1<<40, "memory of a reduce slot, MB", "capacity.md 3.6"),
		integer("max-map-mb", "0", 0, 1<<40, "memory of the largest map, MB", "capacity.md 3.6"),
		integer("max-reduce-mb", "0", 0, 1<<40, "memory of the largest reduce, MB", "capacity.md 3.6"),
	)
	return append(out, scheduler.ReduceParams()...)
}

// tables reads numbers per queue and remembers the first mistake.
type tables struct {
	p     scheduler.Params
	known map[string]float64
	err   error
}

// of returns the number of parameter name for queue q.
func (t *tables) of(name, q string, def float64) float64 {
	table := t.p.Table(name)
	for _, n := range slices.Sorted(maps.Keys(table)) {
		if _, ok := t.known[n]; !ok && n != "*" && t.err == nil {
			t.err = fmt.Errorf("%s names queue %q; there are: %s", name, n, strings.Join(slices.Sorted(maps.Keys(t.known)), ", "))
		}
	}
	if x, ok := table[q]; ok {
		return x
	}
	if x, ok := table["*"]; ok {
		return x
	}
	return def
}

// queuesOf reads what both policies ask; more fills in the rest of each queue.
func queuesOf(p scheduler.Params, more func(*tables, *Queue)) ([]Queue, error) {
	t := tables{p: p, known: p.Table("queues")}
	var out []Queue
	for _, name := range slices.Sorted(maps.Keys(t.known)) {
		q := DefaultQueue(name, t.known[name])
		q.UserLimit, q.Priority = t.of("user-limit", name, 100), t.of("priority", name, 0) != 0
		more(&t, &q)
		out = append(out, q)
	}
	return out, t.err
}

func configOf(p scheduler.Params) (Config, error) {
	c := DefaultConfig()
	var err error
	c.Queues, err = queuesOf(p, func(t *tables, q *Queue) {
		q.MaxCapacity, q.UserLimitFactor = t.of("max-capacity", q.Name, -1), t.of("user-limit-factor", q.Name, 1)
	})
	c.Backlog, c.UsersByJobs, c.UsageLag = p.String("queue-order") == "backlog", p.String("users-by") == "jobs", p.Duration("usage-lag")
	c.LocalityWait, c.RackWait = p.Float("locality-wait"), p.Float("rack-wait")
	c.TasksPerHeartbeat, c.ReducesPerHeartbeat, c.AfterOffSwitch = p.Int("tasks-per-heartbeat"), p.Int("reduces-per-heartbeat"), p.Int("after-off-switch")
	c.Memory = Memory{
		SlotMB: [kinds]int64{int64(p.Int("map-slot-mb")), int64(p.Int("reduce-slot-mb"))},
		MaxMB:  [kinds]int64{int64(p.Int("max-map-mb")), int64(p.Int("max-reduce-mb"))},
	}
	c.Reduces = scheduler.ReduceRuleOf(p)
	return c, err
}
