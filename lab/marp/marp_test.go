package marp

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/lab"
)

// The marks of a strip are readings of the profile, the fitted one first, and not policies: each controller has a strip of its own.
func TestStripsAreReadings(t *testing.T) {
	all := Document().Experiments
	e := *all[slices.IndexFunc(all, func(e *lab.Experiment) bool { return e.ID == "marp-sweep" })]
	e.Run = func(r *lab.Recorder) { strips(r, profiles(r, 1)) }
	report, err := lab.Run(t.Context(), &e, lab.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Headlines) != 1+len(controllers) {
		t.Fatalf("%d strips", len(report.Headlines))
	}
	for _, h := range report.Headlines {
		if h.Count() != len(costProfiles) || h.Readings[0].Name != "profile: as fitted" {
			t.Errorf("%s: %v", h.Name, h.Readings)
		}
	}
	if fitted, free := report.Headlines[0].Readings[0].Value, report.Headlines[0].Readings[3].Value; fitted < 10 || free > 0 {
		t.Errorf("the best static value gains %.1f %% as fitted, and %.1f %% with a disk without limit", fitted, free)
	}
}
