package lab

import (
	"strings"

	"github.com/millrace/millrace/sim/compare"
)

// Figures and tables of a report are those of a comparison of runs.
type (
	Figure = compare.Figure
	Table  = compare.Table
)

// A Report is what an experiment found.
type Report struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Source string `json:"source"`
	// Document names who published the experiment, under which title and when.
	Document string  `json:"document,omitempty"`
	Date     string  `json:"date,omitempty"` // when it ran, if that is known
	Seeds    int     `json:"seeds"`
	Live     bool    `json:"live,omitempty"`  // it ran on clusters of processes, too
	Flags    string  `json:"flags,omitempty"` // flags that repeat the run, beside its name
	Checks   []Check `json:"checks"`
	// Headlines are the figures by which the document is known, under all readings.
	Headlines []Headline `json:"headlines,omitempty"`
	// Workload says where the jobs came from, if that depends on what the machine has: only runs over the same workload
	// are compared.
	Workload string `json:"workload,omitempty"`
	// Changed says which numbers of the set-up the user has set. Then nothing is judged, and the document's sentence is
	// not filled.
	Changed string `json:"changed,omitempty"`

	Question string   `json:"question,omitempty"`
	Answers  []string `json:"answers,omitempty"` // items of the checks that answer it
	Setup    string   `json:"setup,omitempty"`
	Read     string   `json:"read,omitempty"`
	Figures  []Figure `json:"figures,omitempty"`
	Tables   []Table  `json:"tables,omitempty"`

	// Scenes are two runs to watch, if the experiment has named them; Player is the address of the page that plays them, if one was written.
	Scenes []Scene `json:"-"`
	Player string  `json:"-"`

	document *Document // nil if it is no experiment
	kept     bool      // it ran earlier, and its drawings come from the earlier page
}

// Key returns what to look at first: the strips of its headlines or, if it has none, its first figure.
func (r Report) Key() []Figure { return r.Figures[:r.keys()] }

// Others returns the figures after these.
func (r Report) Others() []Figure { return r.Figures[r.keys():] }

func (r Report) keys() int {
	return min(len(r.Figures), max(1, len(r.Headlines)))
}

// comparison is the ID of a report that is no experiment.
const comparison = "comparison"

// Compared makes a report that compares runs.
func Compared(title, setup string, runs []compare.Run) Report {
	table, figures := compare.Beside(runs)
	tables := []Table{table}
	if paired := compare.Paired(runs); len(paired.Rows) > 0 {
		tables = append(tables, paired)
	}
	read := compare.Idle(runs)
	if read != "" {
		read += " "
	}
	return Report{
		ID: comparison, Title: title, Source: "millrace sim run", Setup: setup, Seeds: compare.Repetitions(runs), Tables: tables, Figures: figures,
		Read: read + "Slowdown is completion over the time that the job would take alone. In the distributions a curve further left is better. Single jobs and charts over time are those of the first repetition.",
	}
}

// Swept makes a report that compares the scenarios of a sweep.
func Swept(keys []string, setup string, cases []compare.Case, metrics []string) Report {
	table, figures := compare.Sweep(keys, cases, metrics)
	repetitions := 0
	for _, c := range cases {
		repetitions = max(repetitions, compare.Repetitions(c.Runs))
	}
	return Report{
		ID: comparison, Title: "All values of " + strings.Join(keys, " and "), Source: "millrace sim run", Seeds: repetitions, Tables: []Table{table}, Figures: figures,
		Setup: "The first scenario: " + setup + " The others differ in " + strings.Join(keys, " and ") + ".",
		Read:  "Each row is a scenario under a policy, each point of a curve, too; the sections below have the scenarios one by one.",
	}
}
