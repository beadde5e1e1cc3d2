package all

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
)

// TestWhatCanBeSet: what a reader may set of an experiment is listed when a name is wrong, before anything runs.
func TestWhatCanBeSet(t *testing.T) {
	all := Experiments()
	for id, want := range map[string]string{
		"slowdown-policies":  "high-load (0.9), load (0.7), nodes (",
		"deadline-goals":     "goal (1), nodes (60)",
		"deadline-shrink":    "goal (1), nodes (60)",
		"deadline-late":      "nodes (60)",
		"deadline-estimator": "nodes (60)",
		"marp-terasort":      "nodes (3), work (1)",
		"marp-fifo":          "nodes (3), work (1)",
		"marp-others":        "nodes (3), work (1)",
		"marp-size":          "nodes (3), work (1)",
		"nas-40":             "containers (",
		"capacity-separate":  "copies (",
	} {
		t.Run(id, func(t *testing.T) {
			i := slices.IndexFunc(all, func(e *lab.Experiment) bool { return e.ID == id })
			if i < 0 {
				t.Fatal("there is no such experiment")
			}
			_, err := lab.Run(t.Context(), all[i], lab.Options{Quick: true, Set: map[string]float64{"nothing": 1}})
			if err == nil || !strings.Contains(err.Error(), "--set nothing: unknown; what can be set: "+want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

// TestSettingsAreExplained: every experiment lists what can be set of it, each with its meaning and a number that may be set, without running.
func TestSettingsAreExplained(t *testing.T) {
	many := 0
	for _, e := range Experiments() {
		list, err := lab.Settings(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		many += len(list)
		for _, s := range list {
			if s.Meaning == "" || !(s.Own > 0) {
				t.Errorf("%s: %s is %g, and means %q", e.ID, s.Name, s.Own, s.Meaning)
			}
		}
	}
	if many < 80 {
		t.Errorf("%d settings in all", many)
	}
}

// TestHybridSet: in an experiment of machines of two kinds a class can change what makes them busy.
func TestHybridSet(t *testing.T) {
	all := Experiments()
	e := all[slices.IndexFunc(all, func(e *lab.Experiment) bool { return e.ID == "hybrid-online" })]
	list, err := lab.Settings(t.Context(), e)
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
	}
	if want := []string{"arrivals", "jobs", "nodes", "scale"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, want %v: %v", names, want, err)
	}
	if _, err := lab.Run(t.Context(), e, lab.Options{Set: map[string]float64{"nodes": 60}}); err == nil || !strings.Contains(err.Error(), "--set nodes=60: must be a multiple of 50") {
		t.Errorf("60 nodes: %v", err)
	}
}

// TestSetHasItsEffect: twice the work takes the machine twice as long, but for what does not depend on it.
func TestSetHasItsEffect(t *testing.T) {
	all := Experiments()
	e := all[slices.IndexFunc(all, func(e *lab.Experiment) bool { return e.ID == "marp-fifo" })]
	took := map[float64]float64{}
	for _, work := range []float64{1, 2} {
		o := lab.Options{Seeds: 5, Seed: 1}
		if work != 1 {
			o.Set = map[string]float64{"work": work}
		}
		r, err := lab.Run(t.Context(), e, o)
		if err != nil {
			t.Fatal(err)
		}
		if took[work], err = strconv.ParseFloat(strings.Fields(r.Checks[1].Measured)[0], 64); err != nil {
			t.Fatal(err)
		}
	}
	if more := took[2] / took[1]; more < 1.6 || more > 2 {
		t.Errorf("one by one %.0f s, and with twice the work %.0f s", took[1], took[2])
	}
}
