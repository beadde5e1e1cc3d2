package lab

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/millrace/millrace/topology"
)

// A reader may change numbers of an experiment's set-up ([Options.Set]). What a document published holds for its own set-up: with another one
// nothing is judged.

// widest is how many times smaller or larger than its own a setting may be.
const widest = 100

// Float is a number of the set-up: own, or what the reader has set. Call it before what the experiment runs.
func (r *Recorder) Float(name string, own float64) float64 {
	if r.settings == nil {
		r.settings = map[string]float64{}
	}
	r.settings[name] = own
	v, set := r.options.Set[name]
	if !set {
		return own
	}
	if !(v >= own/widest && v <= own*widest) {
		r.Must(fmt.Errorf("--set %s=%g: must be in %.4g to %.4g", name, v, own/widest, own*widest))
	}
	return v
}

// Int is Float for a whole number.
func (r *Recorder) Int(name string, own int) int {
	v := r.Float(name, float64(own))
	if v != math.Trunc(v) || v < 1 {
		r.Must(fmt.Errorf("--set %s=%g: must be a whole number, at least 1", name, v))
	}
	return int(v)
}

// Rate is Float for the rate of a link, in Gb/s.
func (r *Recorder) Rate(name string, own topology.Rate) topology.Rate {
	gbps := float64(own / topology.Gbps(1))
	if v := r.Float(name, gbps); v != gbps {
		return topology.Gbps(v)
	}
	return own
}

// NodesPerRack is Int for the nodes of a cluster of equal racks: the setting is their sum.
func (r *Recorder) NodesPerRack(racks, own int) int {
	n := r.Int("nodes", racks*own)
	if n%racks != 0 {
		r.Must(fmt.Errorf("--set nodes=%d: there are %d racks, must be a multiple of it", n, racks))
	}
	return n / racks
}

// checkSet refuses what the experiment, which now begins to run, does not know.
func (r *Recorder) checkSet() {
	for _, name := range slices.Sorted(maps.Keys(r.options.Set)) {
		if _, known := r.settings[name]; known {
			continue
		}
		var has []string
		for _, n := range slices.Sorted(maps.Keys(r.settings)) {
			has = append(has, fmt.Sprintf("%s (%g)", n, r.settings[n]))
		}
		if len(has) == 0 {
			r.Must(fmt.Errorf("--set %s: nothing of this experiment's set-up can be changed", name))
		}
		r.Must(fmt.Errorf("--set %s: unknown; what can be set: %s", name, strings.Join(has, ", ")))
	}
}

// changed says what the reader has set; empty: nothing.
func (r *Recorder) changed() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.options.Set)) {
		out = append(out, fmt.Sprintf("%s is %g, not %g", name, r.options.Set[name], r.settings[name]))
	}
	return strings.Join(out, "; ")
}
