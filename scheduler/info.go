package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Seam is the question a policy answers.
type Seam string

// The seams.
const (
	Assignment Seam = "assignment" // New returns a Policy
	Admitting  Seam = "admission"  // New returns an Admission
	Placing    Seam = "placement"  // New returns a block placement policy
)

// ScriptName is the name of the assignment policy that a script makes; scheduler/script has it. Its text is a parameter.
const ScriptName = "script"

// An Info describes one policy: what `millrace scheduler ls` prints, and how to
// make one. Each family declares its own; scheduler/policies lists them.
type Info struct {
	Name    string
	Seam    Seam
	Summary string // one line
	Source  string // which document and section
	// Setup starts from the defaults. It returns the parameters, bound to the fields of a configuration, and a function
	// that makes the policy from that. Bind returns such a Setup.
	Setup func() ([]Param, func() (any, error))

	// Live are defaults of a live cluster where those of the simulations would not do. LiveUnless are parameters that
	// make no sense beside them: if one of them is given, Live does not apply.
	Live       map[string]string
	LiveUnless []string
	// Usual are what a cluster and sim run use for parameters that are not given, while the declared defaults are those
	// of the sources. UsualUnless is to Usual as LiveUnless is to Live.
	Usual       map[string]string
	UsualUnless []string
}

// LiveParams adds to parameters what a cluster sets where nothing else is given.
func (i *Info) LiveParams(given map[string]string) map[string]string {
	return addParams(i.UsualParams(given), i.Live, i.LiveUnless)
}

// UsualParams adds to the given parameters what a cluster and sim run use beside them.
func (i *Info) UsualParams(given map[string]string) map[string]string {
	return addParams(given, i.Usual, i.UsualUnless)
}

// addParams adds to given what it lacks of more, unless it has a parameter that makes no sense beside more.
func addParams(given, more map[string]string, unless []string) map[string]string {
	if len(more) == 0 {
		return given
	}
	all := maps.Clone(more)
	for name, v := range given {
		if slices.Contains(unless, strings.ToLower(name)) {
			return given
		}
		delete(all, strings.ToLower(name))
		all[name] = v
	}
	return all
}

// Params returns the parameters of the policy.
func (i *Info) Params() []Param {
	params, _ := i.Setup()
	return params
}

// Make checks the parameters and builds the policy.
func (i *Info) Make(given map[string]string) (any, error) {
	params, build := i.Setup()
	if err := SetParams(i.Name, params, given); err != nil {
		return nil, err
	}
	made, err := build()
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", i.Name, err)
	}
	return made, nil
}

// Bind makes the Setup of a policy from its default configuration, a function that binds parameters to its fields, and
// one that builds it.
func Bind[C, P any](defaults func() C, params func(*C) []Param, build func(C) (P, error)) func() ([]Param, func() (any, error)) {
	return func() ([]Param, func() (any, error)) {
		c := defaults()
		return params(&c), func() (any, error) { return build(c) }
	}
}

// Unset returns the Setup of a policy without parameters.
func Unset[P any](build func() (P, error)) func() ([]Param, func() (any, error)) {
	return func() ([]Param, func() (any, error)) {
		return nil, func() (any, error) { return build() }
	}
}
