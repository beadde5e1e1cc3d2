package nas

import (
	"strconv"

	"github.com/millrace/millrace/scheduler"
)

type param = scheduler.Param

func text(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func choices(name, def, doc, source string, all ...string) param {
	return param{Name: name, Type: scheduler.ChoiceParam, Default: def, Choices: all, Doc: doc, Source: source}
}

func part(name string, def float64, doc, source string) param {
	return param{Name: name, Type: scheduler.FloatParam, Default: text(def), Min: 0, Max: 1, Doc: doc, Source: source}
}

func bytesOf(name string, def int64, doc, source string) param {
	return param{Name: name, Type: scheduler.BytesParam, Default: strconv.FormatInt(def, 10), Min: 0, Max: 1 << 60, Doc: doc, Source: source}
}

func onOff(name string, def bool, doc, source string) param {
	return param{Name: name, Type: scheduler.BoolParam, Default: strconv.FormatBool(def), Doc: doc, Source: source}
}

func patienceParams() []param {
	d := DefaultPatience()
	return []param{
		choices("by", "skips", "patience is counted in offers passed up, or in time since the first", "nas.md 3.14, 4.3", "skips", "time"),
		{Name: "map-skips", Type: scheduler.IntParam, Default: strconv.Itoa(d.Skips), Min: 0, Max: 1 << 30, Doc: "D^m: offers a sharer passes up before its maps go anywhere; larger: better placed, later", Source: "nas.md 3.14"},
		{Name: "reduce-skips", Type: scheduler.IntParam, Default: strconv.Itoa(d.Skips), Min: 0, Max: 1 << 30, Doc: "D^r: offers a sharer passes up before its reduces go anywhere", Source: "nas.md 3.14"},
		{Name: "wait", Type: scheduler.DurationParam, Default: d.Wait.String(), Min: 0, Max: 1e6, Doc: "the same for both in time", Source: "nas.md 4.3"},
	}
}

// livePatience counts in time, as published for clusters (4.3): on few nodes offers take long to come.
var (
	livePatience       = map[string]string{"by": "time"}
	livePatienceUnless = []string{"map-skips", "reduce-skips"}
)

func patienceOf(p scheduler.Params) (maps, reduces Patience) {
	byTime, wait := p.String("by") == "time", p.Duration("wait")
	return Patience{ByTime: byTime, Skips: p.Int("map-skips"), Wait: wait}, Patience{ByTime: byTime, Skips: p.Int("reduce-skips"), Wait: wait}
}

// nasParams declares the parameters of NAS with the defaults of d.
func nasParams(d Config) []param {
	return append(patienceParams(),
		choices("key", d.Key, "between whom containers are shared", "nas.md 6.18", keys...),
		choices("mechanisms", d.Mechanisms, "how much of NAS is on; mts places reduces as fair does", "nas.md 3.13", mechanisms...),
		param{Name: "congestion", Type: scheduler.FloatParam, Default: text(d.Congestion), Positive: true, Max: 10, Doc: "utilisation of a rack's link from which CR-RTS takes over", Source: "nas.md 3.14"},
		choices("reset", "any", "which launch restores patience for maps", "nas.md 6.5", "any", "local"),
		part("t-min", d.TMin, "fraction of done maps from which reduces of the largest shuffle may start", "nas.md 3.14"),
		part("t-max", d.TMax, "the same for the smallest shuffle; larger: containers wait less, shuffles start later", "nas.md 3.14"),
		choices("threshold-scale", scale(d.LogScale), "how the fraction falls with the size of the shuffle", "nas.md 3.7", "linear", "log"),
		onOff("cap-traffic", d.CapTraffic, "keep map output in the making on a node under the traffic threshold", "nas.md 3.13, w/o TT"),
		bytesOf("traffic-limit", d.TrafficLimit, "fixed traffic threshold per node; 0 computes it", "nas.md 3.4"),
		param{Name: "traffic-scale", Type: scheduler.FloatParam, Default: text(d.TrafficScale), Positive: true, Max: 1e6, Doc: "multiplies the computed threshold", Source: "nas.md 3.4"},
		param{Name: "update", Type: scheduler.DurationParam, Default: d.Update.String(), Positive: true, Max: 1e6, Doc: "how often the threshold is computed", Source: "nas.md 3.4"},
		choices("load", "running", "what counts as produced on a node: by running maps, or also finished output of unfinished jobs", "nas.md 6.8", "running", "unfetched"),
		onOff("mts-fallback", d.Fallback, "launch the smallest map when nobody has a shuffle-qualified one", "nas.md 6.4, MTSWorkConserving"),
		onOff("delayed-first", d.DelayedFirst, "serve delayed reduces before any class", "nas.md 6.9"),
		part("reduce-share", d.ReduceShare, "part of a node's shared containers that reduces may take while maps are pending", "nas.md 3, MaxReduceFraction"),
		bytesOf("light", d.Classes.Light, "shuffle from which a job is shuffle-medium", "nas.md 3.2"),
		bytesOf("heavy", d.Classes.Heavy, "shuffle above which a job is shuffle-heavy", "nas.md 3.2"),
		bytesOf("small-input", d.Classes.SmallInput, "input from which a job is large", "nas.md 3.2"),
		choices("sizes", d.Sizes, "whose declared shuffle size is believed before a map is done", "nas.md 2.1, 3.1", believed...),
		bytesOf("block", d.Block, "input of a map whose size is unknown", "nas.md 3.14"),
		param{Name: "look", Type: scheduler.IntParam, Default: strconv.Itoa(d.Look), Min: 1, Max: 1 << 30, Doc: "pending maps of a job at a place that are compared when their sizes differ; larger: slower", Source: "ours"},
	)
}

func scale(log bool) string {
	if log {
		return "log"
	}
	return "linear"
}

func configOf(p scheduler.Params) Config {
	c := Config{
		Key: p.String("key"), Mechanisms: p.String("mechanisms"), Congestion: p.Float("congestion"), LocalReset: p.String("reset") == "local",
		TMin: p.Float("t-min"), TMax: p.Float("t-max"), LogScale: p.String("threshold-scale") == "log",
		CapTraffic: p.Bool("cap-traffic"), TrafficLimit: p.Bytes("traffic-limit"), TrafficScale: p.Float("traffic-scale"), Update: p.Duration("update"),
		CountUnfetched: p.String("load") == "unfetched", Fallback: p.Bool("mts-fallback"), DelayedFirst: p.Bool("delayed-first"),
		ReduceShare: p.Float("reduce-share"),
		Classes:     Classes{Light: p.Bytes("light"), Heavy: p.Bytes("heavy"), SmallInput: p.Bytes("small-input")},
		Sizes:       p.String("sizes"), Block: p.Bytes("block"), Look: p.Int("look"),
	}
	c.Maps, c.Reduces = patienceOf(p)
	return c
}
