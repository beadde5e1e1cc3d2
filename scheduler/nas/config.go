package nas

import (
	"fmt"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler/fair"
)

// Config holds the parameters of NAS (spec/nas 3.14) and its switches.
type Config struct {
	// Key is between whom containers are shared: "user" (published, spec/nas 6.18),
	// "job", "pool" or "queue".
	Key string
	// Mechanisms says how much of NAS is on (spec/nas 3.13): "mts" (reduces as fair does),
	// "mts-ca" (CA-RTS always), or "all".
	Mechanisms string
	// Congestion is the utilisation of a rack's link from which CR-RTS takes
	// over. Larger: later. Published 0.8.
	Congestion float64
	// Maps and Reduces say how long a sharer may be skipped: D^m and D^r. RackSkips and RackWait do not apply here, and
	// ResetAny below holds for both.
	Maps, Reduces fair.Patience
	// ResetAny restores patience after any launch. By the listings (spec/nas 6.5) only the awaited launch does: a
	// local, shuffle-qualified map; a reduce of a shuffle-light job in a congested rack, or below the rack's share in
	// another.
	ResetAny bool
	// Prefer lets CA-RTS put a reduce into a rack that has all reduces of its job that belong there, if the sharer has
	// no better one, as in the listing. Without Prefer such a reduce waits until patience is over, so that reduces lie
	// where the map output is (spec/nas 3.8).
	Prefer bool
	// TMin and TMax are the fractions of done maps from which the reduces of the
	// largest and of the smallest shuffle may start. Equal: constant. Larger:
	// containers wait less, shuffles start later. Published 0.2 and 0.5.
	TMin, TMax float64
	// LogScale makes the completion threshold fall with the logarithm of the
	// shuffle: with one giant job in the cluster the linear rule is TMax for
	// nearly all others (spec/nas 3.7). Published false.
	LogScale bool
	// CapTraffic keeps the map output in the making on a node under the traffic
	// threshold. Published true; false is "w/o TT".
	CapTraffic bool
	// TrafficLimit, in bytes, replaces the computed threshold; 0 computes (spec/nas 3.3).
	TrafficLimit int64
	// TrafficScale multiplies the computed threshold. Published 1 (spec/nas 3.4).
	TrafficScale float64
	// Update is how often the threshold is computed, besides at each job's start
	// and end. 5 s (spec/nas 3.4).
	Update time.Duration
	// CountUnfetched adds the output of finished maps of unfinished jobs to the
	// load of a node (spec/nas 6.8). Default false.
	CountUnfetched bool
	// Fallback launches the smallest map when no sharer has a shuffle-qualified
	// one (spec/nas 6.4, MTSWorkConserving). Default false.
	Fallback bool
	// DelayedFirst serves delayed reduces before any class (spec/nas 6.9). Default false.
	DelayedFirst bool
	// ReduceShare is the part of a node's shared containers that reduces may take
	// while maps are pending. 0.5 (3).
	ReduceShare float64
	// Ripe lets reduces whose maps have all ended exceed ReduceShare. Default false.
	Ripe bool
	// Classes are the limits between job classes.
	Classes Classes
	// Sizes says whose declared shuffle size is believed before a map is done:
	// "recurring" jobs' (default, spec/nas 2.1), "all" or "none".
	Sizes string
	// Block is taken for the input of a map whose size is unknown. 128 MiB.
	Block int64
	// Look is how many pending maps of one job at one place are compared when
	// their sizes differ. Larger: closer to the published choice, slower. 64.
	Look int
}

// DefaultConfig returns the published values.
func DefaultConfig() Config {
	return Config{
		Key: "user", Mechanisms: "all", Congestion: 0.8, Maps: fair.DefaultPatience(), Reduces: fair.DefaultPatience(),
		TMin: 0.2, TMax: 0.5, CapTraffic: true, TrafficScale: 1, Update: 5 * time.Second, ReduceShare: 0.5,
		Classes: DefaultClasses(), Sizes: "recurring", Block: 128 << 20, Look: 64,
	}
}

var (
	keys       = []string{"user", "job", "pool", "queue"}
	mechanisms = []string{"mts", "mts-ca", "all"}
	believed   = []string{"recurring", "all", "none"}
)

func (c *Config) validate() error {
	switch {
	case !slices.Contains(keys, c.Key):
		return fmt.Errorf("key %q is not one of %v", c.Key, keys)
	case !slices.Contains(mechanisms, c.Mechanisms):
		return fmt.Errorf("mechanisms %q is not one of %v", c.Mechanisms, mechanisms)
	case !slices.Contains(believed, c.Sizes):
		return fmt.Errorf("sizes %q is not one of %v", c.Sizes, believed)
	case !(c.TMin >= 0 && c.TMin <= c.TMax && c.TMax <= 1):
		return fmt.Errorf("t-min %g and t-max %g: need 0 <= t-min <= t-max <= 1", c.TMin, c.TMax)
	case !(c.Congestion > 0):
		return fmt.Errorf("congestion %g must be positive", c.Congestion)
	case !(c.TrafficScale > 0) || c.TrafficLimit < 0:
		return fmt.Errorf("traffic-scale %g must be positive, traffic-limit %d not negative", c.TrafficScale, c.TrafficLimit)
	case c.Update <= 0:
		return fmt.Errorf("update %v must be positive", c.Update)
	case !(c.ReduceShare >= 0 && c.ReduceShare <= 1):
		return fmt.Errorf("reduce-share %g must be in 0..1", c.ReduceShare)
	case c.Classes.Light < 0 || c.Classes.Heavy < c.Classes.Light || c.Classes.SmallInput < 0:
		return fmt.Errorf("class limits %+v: need 0 <= light <= heavy, small-input >= 0", c.Classes)
	case c.Block <= 0 || c.Look < 1:
		return fmt.Errorf("block %d and look %d must be positive", c.Block, c.Look)
	}
	if err := c.Maps.Validate(); err != nil {
		return fmt.Errorf("maps: %w", err)
	}
	if err := c.Reduces.Validate(); err != nil {
		return fmt.Errorf("reduces: %w", err)
	}
	return nil
}
