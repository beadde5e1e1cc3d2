package nas

import "github.com/millrace/millrace/scheduler"

// livePatience counts in time, as published for clusters (spec/nas 4.3): on few nodes offers are rare.
var (
	livePatience       = map[string]string{"by": "time"}
	livePatienceUnless = []string{"map-skips", "reduce-skips"}
)

// patienceParams binds the patience for maps and reduces; kind and length of time are the same for both.
func (c *Config) patienceParams() []scheduler.Param {
	return []scheduler.Param{
		scheduler.Either(&c.Maps.ByTime, [2]string{"skips", "time"}, "by", "spec/nas 3.14, 4.3", "patience is counted in offers passed up, or in time since the first").
			Also(func() { c.Reduces.ByTime = c.Maps.ByTime }),
		scheduler.Int(&c.Maps.Skips, "map-skips", "spec/nas 3.14", "D^m: offers a sharer passes up before its maps go anywhere; larger: better placed, later").In(0, 1<<30),
		scheduler.Int(&c.Reduces.Skips, "reduce-skips", "spec/nas 3.14", "D^r: offers a sharer passes up before its reduces go anywhere").In(0, 1<<30),
		scheduler.Duration(&c.Maps.Wait, "wait", "spec/nas 4.3", "the same for both in time").In(0, 1e6).Also(func() { c.Reduces.Wait = c.Maps.Wait }),
	}
}

// commonParams binds the parameters of both NAS and ShuffleWatcher; what says what congestion starts.
func (c *Config) commonParams(what, source string) (key, congestion, share, ripe, sizes, block scheduler.Param) {
	return scheduler.Choice(&c.Key, keys, "key", "spec/nas 6.18", "between whom containers are shared"),
		scheduler.Float(&c.Congestion, "congestion", source, "utilisation of a rack's link from which "+what).Above0(10),
		scheduler.Float(&c.ReduceShare, "reduce-share", "spec/nas 3, MaxReduceFraction", "part of a node's shared containers that reduces may take while maps are pending").In(0, 1),
		scheduler.RipeParam(&c.Ripe),
		scheduler.Choice(&c.Sizes, believed, "sizes", "spec/nas 2.1, 3.1", "whose declared shuffle size is believed before a map is done"),
		scheduler.ByteCount(&c.Block, "block", "spec/nas 3.14", "input of a map whose size is unknown").In(0, 1<<60)
}

func (c *Config) resetParam() scheduler.Param {
	return scheduler.Either(&c.ResetAny, [2]string{"listing", "any"}, "reset", "spec/nas 6.5", "which launch restores patience: the one that was waited for, or any")
}

// params binds the parameters of NAS.
func (c *Config) params() []scheduler.Param {
	key, congestion, share, ripe, sizes, block := c.commonParams("CR-RTS takes over", "spec/nas 3.14")
	return append(c.patienceParams(),
		key,
		scheduler.Choice(&c.Mechanisms, mechanisms, "mechanisms", "spec/nas 3.13", "how much of NAS is on; mts places reduces as fair does"),
		congestion,
		c.resetParam(),
		scheduler.Either(&c.Prefer, [2]string{"share", "prefer"}, "reduce-place", "spec/nas 3.8", "a rack with its share of a job's reduces gets more when patience is over, or as soon as nothing is better"),
		scheduler.Float(&c.TMin, "t-min", "spec/nas 3.14", "fraction of done maps from which reduces of the largest shuffle may start").In(0, 1),
		scheduler.Float(&c.TMax, "t-max", "spec/nas 3.14", "the same for the smallest shuffle; larger: containers wait less, shuffles start later").In(0, 1),
		scheduler.Either(&c.LogScale, [2]string{"linear", "log"}, "threshold-scale", "spec/nas 3.7", "how the fraction falls with the size of the shuffle"),
		scheduler.Bool(&c.CapTraffic, "cap-traffic", "spec/nas 3.13, w/o TT", "keep map output in the making on a node under the traffic threshold"),
		scheduler.ByteCount(&c.TrafficLimit, "traffic-limit", "spec/nas 3.4", "fixed traffic threshold per node; 0 computes it").In(0, 1<<60),
		scheduler.Float(&c.TrafficScale, "traffic-scale", "spec/nas 3.4", "multiplies the computed threshold").Above0(1e6),
		scheduler.Duration(&c.Update, "update", "spec/nas 3.4", "how often the threshold is computed").Above0(1e6),
		scheduler.Either(&c.CountUnfetched, [2]string{"running", "unfetched"}, "load", "spec/nas 6.8", "what counts as produced on a node: by running maps, or also finished output of unfinished jobs"),
		scheduler.Bool(&c.Fallback, "mts-fallback", "spec/nas 6.4, MTSWorkConserving", "launch the smallest map when nobody has a shuffle-qualified one"),
		scheduler.Bool(&c.DelayedFirst, "delayed-first", "spec/nas 6.9", "serve delayed reduces before any class"),
		share, ripe,
		scheduler.ByteCount(&c.Classes.Light, "light", "spec/nas 3.2", "shuffle from which a job is shuffle-medium").In(0, 1<<60),
		scheduler.ByteCount(&c.Classes.Heavy, "heavy", "spec/nas 3.2", "shuffle above which a job is shuffle-heavy").In(0, 1<<60),
		scheduler.ByteCount(&c.Classes.SmallInput, "small-input", "spec/nas 3.2", "input from which a job is large").In(0, 1<<60),
		sizes, block,
		scheduler.Int(&c.Look, "look", "ours", "pending maps of a job at a place that are compared when their sizes differ; larger: slower").In(1, 1<<30),
	)
}

// watcherParams binds the parameters of ShuffleWatcher.
func (c *Config) watcherParams() []scheduler.Param {
	key, congestion, share, ripe, sizes, block := c.commonParams("reduces wait", "spec/nas 3.12")
	slowstart := scheduler.Float(&c.TMin, "slowstart", "spec/nas 3.12", "fraction of done maps from which reduces may start").In(0, 1).Also(func() { c.TMax = c.TMin })
	return append(c.patienceParams(), key, congestion, c.resetParam(), slowstart, share, ripe, sizes, block)
}
