package fair

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/millrace/millrace/scheduler"
)

// Config says what is shared, between whom, and how it is counted.
type Config struct {
	// Key is who gets equal shares: "job" (default; nas.md 6.18: Fair), "user"
	// (nas.md: Delay, ShuffleWatcher, NAS), "pool" or "queue".
	Key string
	// Inside orders the jobs of one user, pool or queue: "fair" (default) or
	// "fifo" (by priority, then submission).
	Inside string
	// Measure is what is kept equal: "tasks" (default; slots or containers),
	// "memory" (marp.md 7.32) or "dominant" (DRF: the larger of the shares of
	// vcores and memory).
	Measure string
	// Count says which tasks count when Measure is tasks: "kind" (maps against
	// maps), "all", or "auto" (default): kind where nodes have map and reduce
	// slots, all where they share containers.
	Count string
	// Ties breaks them: "submit" (default; earlier first, deadline.md 3.8) or
	// "served" (least recently served first, slowdown.md 3.7).
	Ties string
	// Weights gives shares by name of user, pool or queue; 1 if absent. With
	// Key "job" each job's own weight counts instead.
	Weights map[string]float64
	// MinMaps and MinReduces are slots that a pool, user or queue is entitled
	// to before the rest is shared; 0 if absent. Not with Key "job".
	MinMaps, MinReduces map[string]float64
	// Reduces says when reduces may compete.
	Reduces scheduler.ReduceRule
	// Only, if not nil, limits the policy to the jobs for which it is true. When
	// the answer for a job changes, call Shares.Touch.
	Only func(*scheduler.Job) bool
}

// DefaultConfig returns equal shares per job, counted in tasks.
func DefaultConfig() Config {
	return Config{Key: "job", Inside: "fair", Measure: "tasks", Count: "auto", Ties: "submit", Reduces: scheduler.DefaultReduceRule()}
}

func (c *Config) validate() error {
	for _, w := range []struct {
		name    string
		got     string
		allowed []string
	}{
		{"key", c.Key, keys},
		{"inside", c.Inside, insides},
		{"measure", c.Measure, measures},
		{"count", c.Count, counts},
		{"ties", c.Ties, ties},
	} {
		if !slices.Contains(w.allowed, w.got) {
			return fmt.Errorf("%s %q is not one of %v", w.name, w.got, w.allowed)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Weights)) {
		if w := c.Weights[name]; !(w > 0) {
			return fmt.Errorf("weight of %s is %g: it must be positive", name, w)
		}
	}
	if c.Key == "job" && len(c.MinMaps)+len(c.MinReduces) > 0 {
		return errors.New("minimum shares need key user, pool or queue, not job")
	}
	return nil
}

var (
	keys     = []string{"job", "user", "pool", "queue"}
	insides  = []string{"fair", "fifo"}
	measures = []string{"tasks", "memory", "dominant"}
	counts   = []string{"auto", "kind", "all"}
	ties     = []string{"submit", "served"}
)

// params declares the parameters that fair and delay share, with key as default.
func params(key string) []scheduler.Param {
	choice := func(name, def, doc, source string, choices []string) scheduler.Param {
		return scheduler.Param{Name: name, Type: scheduler.ChoiceParam, Default: def, Choices: choices, Doc: doc, Source: source}
	}
	table := func(name, doc string, positive bool) scheduler.Param {
		return scheduler.Param{Name: name, Type: scheduler.TableParam, Positive: positive, Max: 1e12, Doc: doc, Source: "deadline.md 3.8, capacity.md 3.2"}
	}
	return append([]scheduler.Param{
		choice("key", key, "who gets equal shares", "nas.md 6.18", keys),
		choice("inside", "fair", "order of the jobs of one user, pool or queue", "deadline.md 3.8", insides),
		choice("measure", "tasks", "what is kept equal; dominant is DRF", "nas.md 3.10, 3.15; marp.md 7.32", measures),
		choice("count", "auto", "which tasks count against a share: of the same kind, or all", "slowdown.md 3.7, nas.md 3.10", counts),
		choice("ties", "submit", "who goes first among equals: earlier submitted or longer not served", "deadline.md 3.8, slowdown.md 3.7", ties),
		table("weights", "share by name of user, pool or queue: a=1,b=2.5", true),
		table("min-maps", "map slots guaranteed by name", false),
		table("min-reduces", "reduce slots guaranteed by name", false),
	}, scheduler.ReduceParams()...)
}

func configOf(p scheduler.Params) Config {
	return Config{
		Key: p.String("key"), Inside: p.String("inside"), Measure: p.String("measure"), Count: p.String("count"), Ties: p.String("ties"),
		Weights: p.Table("weights"), MinMaps: p.Table("min-maps"), MinReduces: p.Table("min-reduces"),
		Reduces: scheduler.ReduceRuleOf(p),
	}
}
