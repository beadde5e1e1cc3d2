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
	// Key is who gets equal shares: "job" (default; spec/nas 6.18: Fair), "user"
	// (spec/nas: Delay, ShuffleWatcher, NAS), "pool" or "queue".
	Key string
	// Inside orders the jobs of one user, pool or queue: "fair" (default) or
	// "fifo" (by priority, then submission).
	Inside string
	// Measure is what is kept equal: "tasks" (default; slots or containers),
	// "memory" (spec/marp 7.32) or "dominant" (DRF: the larger of the shares of
	// vcores and memory).
	Measure string
	// Count says which tasks count when Measure is tasks: "kind" (maps against
	// maps), "all", or "auto" (default): kind where nodes have map and reduce
	// slots, all where they share containers.
	Count string
	// Ties breaks them: "submit" (default; earlier first, spec/deadline 3.8) or
	// "served" (least recently served first, spec/slowdown 3.7).
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

// params binds the parameters that fair and delay share.
func (c *Config) params() []scheduler.Param {
	const by = "spec/deadline 3.8, spec/capacity 3.2"
	return append([]scheduler.Param{
		scheduler.Choice(&c.Key, keys, "key", "spec/nas 6.18", "who gets equal shares"),
		scheduler.Choice(&c.Inside, insides, "inside", "spec/deadline 3.8", "order of the jobs of one user, pool or queue"),
		scheduler.Choice(&c.Measure, measures, "measure", "spec/nas 3.10, 3.15; spec/marp 7.32", "what is kept equal; dominant is DRF"),
		scheduler.Choice(&c.Count, counts, "count", "spec/slowdown 3.7, spec/nas 3.10", "which tasks count against a share: of the same kind, or all"),
		scheduler.Choice(&c.Ties, ties, "ties", "spec/deadline 3.8, spec/slowdown 3.7", "who goes first among equals: earlier submitted or longer not served"),
		scheduler.Table(&c.Weights, "weights", by, "share by name of user, pool or queue: a=1,b=2.5").Above0(1e12),
		scheduler.Table(&c.MinMaps, "min-maps", by, "map slots guaranteed by name").In(0, 1e12),
		scheduler.Table(&c.MinReduces, "min-reduces", by, "reduce slots guaranteed by name").In(0, 1e12),
	}, c.Reduces.RampParams()...)
}

// usual is how a cluster and sim share containers: reduces follow their maps, and kinds are counted apart, because a
// waiting reduce is no reason to start no map.
var usual = map[string]string{"rampup": scheduler.Ramped["rampup"], "count": "kind"}
