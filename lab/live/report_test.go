package live

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
	"github.com/millrace/millrace/sim"
)

// TestReport: the page of a run has each arm and measure with what was foretold and what was, and is held to the marks.
func TestReport(t *testing.T) {
	l := Laboratory{ID: "x", Machines: uniform(2, 4, 3), Measures: []Measure{{Name: "a job", Unit: "s"}, {Name: "all jobs", Unit: "s"}}, Published: "fair wins", Statements: []Statement{
		is("fair", "a job", 0.6, "fifo", "spec/nas 4.4"), lessThan("fair", "all jobs", "fifo", "spec/nas 4.4"), is("fifo", "all jobs", 2, "srpt", "spec/nas 4.4"),
	}, Jobs: func(bool) []*sim.Job { return nil }}
	v := Verdict{MedianError: 0.2, Tau: 1, Rows: []Row{
		{Arm: "fifo", Measure: "a job", Unit: "s", Simulated: 3, Live: []float64{2, 4}},
		{Arm: "fifo", Measure: "all jobs", Unit: "s", Simulated: 9, Live: []float64{8, 12}},
		{Arm: "fair", Measure: "a job", Unit: "s", Simulated: 1, Live: []float64{2, 2}},
		{Arm: "fair", Measure: "all jobs", Unit: "s", Simulated: 5, Live: []float64{0, 0}},
	}}
	l.quote(v.Rows, false)
	r := l.Report(v, 2, Overheads{})
	if !r.Live || r.Seeds != 2 || len(r.Figures) != 2 || !strings.Contains(r.Setup, "4 machines of 3 containers, in 2 racks") {
		t.Errorf("%+v", r)
	}
	want := []string{
		"fifo|a job|-|3 s|3 s (2 to 4)|0 %|foretold", "fifo|all jobs|2 of srpt|9 s|10.00 s (8 to 12.00)|-10 %|foretold", // srpt was not run
		"fair|a job|0.6 of fifo|1 s|2 s (2 to 2)|-50 %|reproduced, not foretold", "fair|all jobs|less than fifo|5 s|0 s (0 to 0)||direction, not foretold",
	}
	for i, row := range r.Tables[0].Rows {
		if got := strings.Join(row, "|"); got != want[i] {
			t.Errorf("row %d is %q, want %q", i, got, want[i])
		}
	}
	if r.Checks[0].Verdict != lab.NotReproduced || r.Checks[1].Verdict != lab.Reproduced || r.Checks[3].Published != "fair wins" || r.Checks[3].Measured != "fifo 3, fair 2" {
		t.Errorf("%+v", r.Checks)
	}
	if len(r.Checks) != 6 || r.Checks[4].Item != "a job of fair over fifo" || r.Checks[4].Measured != "0.667" || r.Checks[4].Tolerance != "± 0.15" || r.Checks[5].Verdict != lab.Direction {
		t.Errorf("statements: %+v", r.Checks[4:])
	}
	r.Flags = "--quick --repeat 2"
	var page strings.Builder
	if err := lab.WriteHTML(&page, lab.Page{Reports: []lab.Report{r}}); err != nil || !strings.Contains(page.String(), "millrace lab run --live x --quick --repeat 2<") {
		t.Errorf("the page does not say how to run it again (%v)", err)
	}
}

// TestStatements: what is published is of arms and measures that the laboratory has, one statement for each row, and says where it stands. A figure is
// held to within 0.15, a bound to itself, and a direction is never more than that.
func TestStatements(t *testing.T) {
	n := 0
	for _, l := range All {
		arms, measures, seen := map[string]bool{goal: true, simulator: true}, map[string]bool{}, map[string]bool{}
		for _, a := range l.Arms {
			arms[a.Name] = true
		}
		for _, m := range l.Measures {
			measures[m.Name] = true
		}
		for _, s := range l.Statements {
			n++
			row := s.Arm + "|" + s.Measure
			if !arms[s.Arm] || !arms[s.Of] || !measures[s.Measure] || seen[row] || s.At == "" || s.Of == goal && l.goals(true)[s.Measure] <= 0 {
				t.Errorf("%s: %+v", l.ID, s)
			}
			seen[row] = true
		}
	}
	if n < 30 {
		t.Errorf("only %d statements", n)
	}
	bound := Statement{Arm: "a", Measure: "m", Of: "b", Factor: 0.45, way: less}
	for _, c := range []struct {
		s     Statement
		ratio float64
		want  lab.Verdict
	}{
		{is("a", "m", 0.6, "b", ""), 0.74, lab.Reproduced},
		{is("a", "m", 0.6, "b", ""), 0.76, lab.Direction},
		{is("a", "m", 0.6, "b", ""), 1.1, lab.NotReproduced},
		{is("a", "m", 1, simulator, ""), 1.009, lab.Reproduced},
		{is("a", "m", 1, simulator, ""), 0.98, lab.NotReproduced},
		{lessThan("a", "m", "b", ""), 0.9, lab.Direction},
		{lessThan("a", "m", "b", ""), 1.1, lab.NotReproduced},
		{moreThan("a", "m", goal, ""), 1.1, lab.Direction},
		{moreThan("a", "m", goal, ""), 0.9, lab.NotReproduced},
		{bound, 0.4, lab.Reproduced},
		{bound, 0.8, lab.Direction},
		{bound, 1.2, lab.NotReproduced},
	} {
		if got := c.s.judge(c.ratio).Verdict; got != c.want {
			t.Errorf("%s: a ratio of %v is %s, want %s", &c.s, c.ratio, got, c.want)
		}
	}
	if said := bound.String() + "; " + table2.Statements[0].String(); said != "less than 0.45 of b; within 1 % of simulated" {
		t.Error(said)
	}
}

// TestGoalsAreHeld: a job that ends after its goal is seen to, in the short form as in the long one.
func TestGoalsAreHeld(t *testing.T) {
	for quick, seconds := range map[bool][2]float64{false: {31, 29}, true: {16, 14}} {
		rows := []Row{{Arm: "deadline-min", Measure: "J1", Live: []float64{seconds[0]}}, {Arm: "deadline-max", Measure: "J1", Live: []float64{seconds[1]}}}
		fourDeadlines.quote(rows, quick)
		if rows[0].Published != "more than its goal" || rows[0].Verdict != lab.Direction || rows[1].Verdict != lab.Direction {
			t.Errorf("quick %v: %+v", quick, rows)
		}
		rows[0].Live, rows[1].Live = rows[1].Live, rows[0].Live
		fourDeadlines.quote(rows, quick)
		if rows[0].Verdict != lab.NotReproduced || rows[1].Verdict != lab.NotReproduced {
			t.Errorf("quick %v, the other way round: %+v", quick, rows)
		}
	}
}
