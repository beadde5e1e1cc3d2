package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/millrace/millrace/topology"
)

// Users may change numbers of an experiment's set-up ([Options.Set]). What a document published holds for its own
// set-up; with another one nothing is judged.

// A Setting is a number of an experiment's set-up that a user may change.
type Setting struct {
	Name    string  `json:"name"`
	Own     float64 `json:"own"`
	Meaning string  `json:"meaning"`
}

// meanings explain the settings; each has one meaning in all experiments.
var meanings = map[string]string{
	"arrivals":   "times the time between arrivals: with 0.5 twice as many jobs come in an hour",
	"circuit":    "rate of an optical circuit, in Gb/s",
	"containers": "of each node",
	"copies":     "replicas of each block",
	"gap":        "mean time between arrivals, in seconds",
	"goal":       "times the goal of each job: with 2 there is twice the time",
	"high-load":  "part of the cluster's work that arrives, in the rows called load 0.9",
	"jobs":       "jobs of a run",
	"load":       "part of the cluster's work that arrives, in the rows called load 0.7",
	"nic":        "rate of a node's card, in Gb/s",
	"nodes":      "machines of the cluster",
	"scale":      "times the bytes of each job",
	"slowstart":  "part of a job's maps that are done before its reduces start",
	"uplink":     "rate of a rack's link to the others, in Gb/s",
	"work":       "times the work of each task",
}

// errListed ends an experiment when only its settings are wanted.
var errListed = errors.New("the settings are known")

// Settings returns what a user may set of an experiment, by name. It runs nothing of an experiment that has something
// to run.
func Settings(ctx context.Context, e *Experiment) ([]Setting, error) {
	r := newRecorder(ctx, e, Options{Quick: true})
	r.listing = true
	if err := r.run(e.Run); err != nil && !errors.Is(err, errListed) {
		return nil, fmt.Errorf("%s: %w", e.ID, err)
	}
	var list []Setting
	for _, name := range slices.Sorted(maps.Keys(r.settings)) {
		list = append(list, Setting{name, r.settings[name], meanings[name]})
	}
	return list, nil
}

// widest is how many times smaller or larger than its own a setting may be.
const widest = 100

// Float returns a number of the set-up: own, or what the user has set. Call it before what the experiment runs.
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
		r.Must(fmt.Errorf("--set nodes=%d: must be a multiple of %d, the racks, such as %d", n, racks, max(1, (n+racks/2)/racks)*racks))
	}
	return n / racks
}

// Times is Int for a multiple of own: own, or so many times as much.
func (r *Recorder) Times(name string, own int) int {
	n := r.Int(name, own)
	if n%own != 0 {
		r.Must(fmt.Errorf("--set %s=%d: must be a multiple of %d", name, n, own))
	}
	return n / own
}

// checkSet refuses settings that the experiment, which now begins to run, does not know.
func (r *Recorder) checkSet() {
	if r.listing {
		r.Must(errListed)
	}
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
		r.Must(fmt.Errorf("--set %s: unknown; what can be set: %s (--set help says what they are)", name, strings.Join(has, ", ")))
	}
}

// changed returns what the user has set, or "".
func (r *Recorder) changed() string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(r.options.Set)) {
		out = append(out, fmt.Sprintf("%s is %g, not %g", name, r.options.Set[name], r.settings[name]))
	}
	return strings.Join(out, "; ")
}
