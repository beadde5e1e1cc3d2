package lab

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// An Experiment is one published experiment, or several that share their runs.
type Experiment struct {
	ID      string
	Title   string
	Source  string // specification and items of its list "What to reproduce"
	Seconds int    // how long a full run takes on two cores, about

	// For the reader of a report: what is asked, how it is set up, and how to read
	// the charts.
	Question, Setup, Read string

	run func(r *Recorder) error
}

// All lists the experiments by id.
var All = index(slowdownExperiments, deadlineExperiments, marpExperiments, capacityExperiments, hybridExperiments, nasExperiments, jobpackerExperiments)

func index(groups ...[]*Experiment) map[string]*Experiment {
	all := map[string]*Experiment{}
	for _, g := range groups {
		for _, e := range g {
			all[e.ID] = e
		}
	}
	return all
}

// List returns the experiments in order of their ids.
func List() []*Experiment {
	return slices.SortedFunc(maps.Values(All), func(a, b *Experiment) int { return strings.Compare(a.ID, b.ID) })
}

// Find returns an experiment, or an error that lists the ids.
func Find(id string) (*Experiment, error) {
	if e := All[id]; e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("unknown experiment %q (known: %s)", id, strings.Join(slices.Sorted(maps.Keys(All)), ", "))
}

// A Verdict says how a check ended.
type Verdict string

// The verdicts.
const (
	Reproduced    Verdict = "reproduced"
	NotReproduced Verdict = "not reproduced"
	ShapeOnly     Verdict = "shape only"
)

// A Check is one published statement beside what was measured.
type Check struct {
	Item      string  `json:"item"`
	Published string  `json:"published"`
	Measured  string  `json:"measured"`
	Tolerance string  `json:"tolerance"`
	Verdict   Verdict `json:"verdict"`
	Why       string  `json:"why,omitempty"`

	scale *scale // for the picture; nil where there are no numbers
}

// scale places a measured number beside what is accepted and what was published.
type scale struct {
	value, low, high float64
	want             float64 // NaN where no single number was published
}

// A Report is what an experiment found.
type Report struct {
	ID     string  `json:"id"`
	Title  string  `json:"title"`
	Source string  `json:"source"`
	Seeds  int     `json:"seeds"`
	Checks []Check `json:"checks"`
	// Workload says where its jobs came from, where that depends on what the machine
	// has: only runs over the same one are compared.
	Workload string `json:"workload,omitempty"`

	Question string   `json:"question,omitempty"`
	Setup    string   `json:"setup,omitempty"`
	Read     string   `json:"read,omitempty"`
	Figures  []Figure `json:"figures,omitempty"`
	Tables   []Table  `json:"tables,omitempty"`
}

// A Table is further data of a report, as text.
type Table struct {
	Title string     `json:"title,omitempty"`
	Head  []string   `json:"head"`
	Rows  [][]string `json:"rows"`
}

// Options say how thoroughly to run.
type Options struct {
	Seeds int    // repetitions; 0 lets the experiment choose
	Quick bool   // fewer repetitions, for continuous checks
	Seed  uint64 // of the first repetition
}

func (r *Recorder) add(c Check) { r.report.Checks = append(r.report.Checks, c) }

// within checks a number against its published value.
func (r *Recorder) within(item string, measured, published, tolerance float64, why string) {
	r.decide(math.Abs(measured-published) <= tolerance, Check{
		Item: item, Published: number(published), Measured: number(measured), Tolerance: "± " + number(tolerance), Why: why,
		scale: &scale{measured, published - tolerance, published + tolerance, published},
	})
}

// between checks a number against bounds; published says what the document says.
func (r *Recorder) between(item, published string, measured, low, high float64, why string) {
	tolerance := fmt.Sprintf("%s to %s", number(low), number(high))
	switch {
	case math.IsInf(high, 1):
		tolerance = "at least " + number(low)
	case math.IsInf(low, -1):
		tolerance = "at most " + number(high)
	}
	r.decide(measured >= low && measured <= high, Check{
		Item: item, Published: published, Measured: number(measured), Tolerance: tolerance, Why: why,
		scale: &scale{measured, low, high, math.NaN()},
	})
}

// holds checks a statement.
func (r *Recorder) holds(item, published, measured string, ok bool, why string) {
	r.decide(ok, Check{Item: item, Published: published, Measured: measured, Tolerance: "as stated", Why: why})
}

func (r *Recorder) decide(ok bool, c Check) {
	c.Verdict = NotReproduced
	if ok {
		c.Verdict = Reproduced
	}
	r.add(c)
}

// number prints about three digits.
func number(f float64) string {
	switch a := math.Abs(f); {
	case a >= 1000:
		return fmt.Sprintf("%.0f", f)
	case a >= 100:
		return fmt.Sprintf("%.1f", f)
	case a >= 10:
		return fmt.Sprintf("%.2f", f)
	}
	return fmt.Sprintf("%.3g", f)
}
