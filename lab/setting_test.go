package lab

import (
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/millrace/millrace/internal/stats"
	"github.com/millrace/millrace/topology"
)

// TestSet: a reader changes numbers of an experiment's set-up. What the document published is then not judged, and a wrong name or number
// is refused before anything runs, with what would do.
func TestSet(t *testing.T) {
	var ran atomic.Int64
	nodes, load := 0, 0.0
	e := someDocument(func(r *Recorder) {
		nodes, load = 4*r.NodesPerRack(4, 10), r.Float("load", 0.7)
		Repeat(r, 2, func(uint64) (int, error) { ran.Add(1); return 0, nil })
		r.Fact("jobs", 3)
		r.Check(Holds("1: holds", Order("yes"), "yes", true, "yes"))
		r.Headline(Headline{Name: "it", Published: "1"}, one("a", 1))
	}).Experiments[0]
	for name, c := range map[string]struct {
		set   map[string]float64
		wrong string
		nodes int
		load  float64
	}{
		"nothing":        {nil, "", 40, 0.7},
		"both":           {map[string]float64{"nodes": 60, "load": 0.8}, "", 60, 0.8},
		"unknown":        {map[string]float64{"node": 60}, "--set node: unknown; what can be set: load (0.7), nodes (40)", 0, 0},
		"too large":      {map[string]float64{"nodes": 1e9}, "--set nodes=1e+09: must be in 0.4 to 4000", 0, 0},
		"negative":       {map[string]float64{"load": -1}, "must be in 0.007 to 70", 0, 0},
		"no whole rack":  {map[string]float64{"nodes": 41}, "must be a multiple of 4, the racks, such as 40", 0, 0},
		"no number":      {map[string]float64{"load": math.NaN()}, "must be in 0.007 to 70", 0, 0},
		"part of a node": {map[string]float64{"nodes": 40.5}, "must be a whole number", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ran.Store(0)
			r, err := Run(t.Context(), e, Options{Set: c.set})
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) || ran.Load() > 0 {
					t.Fatalf("error %v after %d runs, want %q", err, ran.Load(), c.wrong)
				}
				return
			}
			if err != nil || nodes != c.nodes || load != c.load {
				t.Fatalf("nodes %d, load %g, %v", nodes, load, err)
			}
			for what, own := range map[string]bool{
				"judged": r.Checks[0].Verdict == Reproduced, "with its headline": len(r.Headlines) == 1,
				"not marked": r.Changed == "", "without a word in its set-up": !strings.Contains(r.Setup, "CHANGED"),
			} {
				if own != (c.set == nil) {
					t.Errorf("%s: %v, %+v", what, own, r)
				}
			}
			if c.set != nil && r.Changed != "load is 0.8, not 0.7; nodes is 60, not 40" {
				t.Errorf("changed: %s", r.Changed)
			}
		})
	}
}

// TestSetRates: the rate of a link is set in Gb/s.
func TestSetRates(t *testing.T) {
	var got topology.Rate
	e := someDocument(func(r *Recorder) {
		got = r.Rate("uplink", topology.Gbps(10))
		r.Fact("jobs", 3)
		r.Check(Holds("1: holds", Order("yes"), "yes", true, "yes"))
	}).Experiments[0]
	for gbps, o := range map[float64]Options{10: {}, 2.5: {Set: map[string]float64{"uplink": 2.5}}} {
		if _, err := Run(t.Context(), e, o); err != nil || got != topology.Gbps(gbps) {
			t.Errorf("%v, %v, want %v", got, err, topology.Gbps(gbps))
		}
	}
}

// TestSetOfNothing: an experiment that repeats nothing refuses what it does not know, too.
func TestSetOfNothing(t *testing.T) {
	e := someDocument(func(r *Recorder) { r.Fact("jobs", 3) }).Experiments[0]
	if _, err := Run(t.Context(), e, Options{Set: map[string]float64{"nodes": 60}}); err == nil || !strings.Contains(err.Error(), "--set nodes: nothing of this experiment's set-up can be changed") {
		t.Error(err)
	}
}

// one is a reading of a single run.
func one(name string, v float64) Reading { return Read(name, stats.NewEstimate([]float64{v})) }
