package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// get panics on a name or type that the policy did not declare: that is a
// mistake in the policy, not in what the user typed.
func (p Params) get(name string, types ...ParamType) value {
	v, ok := p.values[name]
	if !ok {
		panic(fmt.Sprintf("policy %s reads parameter %q, which it does not declare", p.policy, name))
	}
	if slices.Contains(types, v.typ) {
		return v
	}
	panic(fmt.Sprintf("policy %s reads parameter %q as %v, but it is a %s", p.policy, name, types, v.typ))
}

// Int returns an integer parameter.
func (p Params) Int(name string) int { return int(p.get(name, IntParam).number) }

// Float returns a number.
func (p Params) Float(name string) float64 { return p.get(name, FloatParam, IntParam).number }

// Bool returns a truth value.
func (p Params) Bool(name string) bool { return p.get(name, BoolParam).number != 0 }

// Duration returns a length of time.
func (p Params) Duration(name string) time.Duration { return p.get(name, DurationParam).length }

// Bytes returns a number of bytes.
func (p Params) Bytes(name string) int64 { return int64(p.get(name, BytesParam).number) }

// String returns a string or choice.
func (p Params) String(name string) string { return p.get(name, StringParam, ChoiceParam).text }

// Floats returns a list of numbers; the caller must not change it.
func (p Params) Floats(name string) []float64 { return p.get(name, FloatsParam).list }

// Table returns a number per name; the caller must not change it.
func (p Params) Table(name string) map[string]float64 { return p.get(name, TableParam).table }

// A Seam is the question a policy answers.
type Seam string

// The seams.
const (
	Assignment Seam = "assignment" // New returns a Policy
	Admitting  Seam = "admission"  // New returns an Admission
	Placing    Seam = "placement"  // New returns a block placement policy
)

// An Info describes one policy: what `millrace scheduler ls` prints, and how to
// make one. Each family declares its own; scheduler/policies lists them.
type Info struct {
	Name    string
	Seam    Seam
	Summary string // one line
	Source  string // which document and section
	Params  []Param
	New     func(Params) (any, error)

	// Live are defaults of a cluster where those of the simulations would not do, and LiveUnless are parameters that
	// make no sense beside them: if one of them is given, Live does not apply.
	Live       map[string]string
	LiveUnless []string
}

// LiveParams adds to parameters what a cluster sets where nothing else is given.
func (i *Info) LiveParams(given map[string]string) map[string]string {
	if len(i.Live) == 0 {
		return given
	}
	all := maps.Clone(i.Live)
	for name, v := range given {
		if slices.Contains(i.LiveUnless, strings.ToLower(name)) {
			return given
		}
		delete(all, strings.ToLower(name))
		all[name] = v
	}
	return all
}

// Make checks the parameters and builds the policy.
func (i *Info) Make(given map[string]string) (any, error) {
	p, err := ParseParams(i.Name, i.Params, given)
	if err != nil {
		return nil, err
	}
	made, err := i.New(p)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", i.Name, err)
	}
	return made, nil
}
