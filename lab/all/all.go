// Package all is the registry of the laboratory: every document with its experiments.
package all

import (
	"slices"
	"strings"

	"github.com/millrace/millrace/internal/suggest"
	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/lab/capacity"
	"github.com/millrace/millrace/lab/deadline"
	"github.com/millrace/millrace/lab/hybrid"
	"github.com/millrace/millrace/lab/jobpacker"
	"github.com/millrace/millrace/lab/marp"
	"github.com/millrace/millrace/lab/nas"
	"github.com/millrace/millrace/lab/slowdown"
)

// Documents returns the documents in the order of a report. They are parsed on demand: most commands do not need them.
func Documents() []*lab.Document {
	return []*lab.Document{
		capacity.Document(), deadline.Document(), hybrid.Document(), jobpacker.Document(), marp.Document(), nas.Document(), slowdown.Document(),
	}
}

// Experiments returns the experiments of all documents in order of their ids.
func Experiments() []*lab.Experiment {
	var out []*lab.Experiment
	for _, d := range Documents() {
		out = append(out, d.Experiments...)
	}
	slices.SortFunc(out, func(a, b *lab.Experiment) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Find returns an experiment, or an error that lists the ids.
func Find(id string) (*lab.Experiment, error) {
	var known []string
	for _, e := range Experiments() {
		if e.ID == id {
			return e, nil
		}
		known = append(known, e.ID)
	}
	return nil, suggest.Unknown("experiment", id, known)
}
