package live

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/lab"
)

// TestReport: the page of a run has each arm and measure with what was foretold and what was, and is held to the marks.
func TestReport(t *testing.T) {
	l := Laboratory{ID: "x", Machines: uniform(2, 4, 3), Measures: []Measure{{Name: "a job", Unit: "s"}, {Name: "all jobs", Unit: "s"}}, Published: "fair wins"}
	v := Verdict{MedianError: 0.2, Tau: 1, Rows: []Row{
		{Arm: "fifo", Measure: "a job", Unit: "s", Simulated: 3, Live: []float64{2, 4}},
		{Arm: "fifo", Measure: "all jobs", Unit: "s", Simulated: 9, Live: []float64{8, 12}},
		{Arm: "fair", Measure: "a job", Unit: "s", Simulated: 1, Live: []float64{2, 2}},
		{Arm: "fair", Measure: "all jobs", Unit: "s", Simulated: 5, Live: []float64{0, 0}},
	}}
	r := l.Report(v, 2, Overheads{})
	if !r.Live || r.Seeds != 2 || len(r.Figures) != 2 || !strings.Contains(r.Setup, "4 machines of 3 containers, in 2 racks") {
		t.Errorf("%+v", r)
	}
	want := []string{"fifo|a job|3 s|3 s (2 to 4)|0 %", "fifo|all jobs|9 s|10.00 s (8 to 12.00)|-10 %", "fair|a job|1 s|2 s (2 to 2)|-50 %", "fair|all jobs|5 s|0 s (0 to 0)|"}
	for i, row := range r.Tables[0].Rows {
		if got := strings.Join(row, "|"); got != want[i] {
			t.Errorf("row %d is %q, want %q", i, got, want[i])
		}
	}
	if r.Checks[0].Verdict != lab.NotReproduced || r.Checks[1].Verdict != lab.Reproduced || r.Checks[3].Published != "fair wins" || r.Checks[3].Measured != "fifo 3, fair 2" {
		t.Errorf("%+v", r.Checks)
	}
	var page strings.Builder
	if err := lab.WriteHTML(&page, lab.Page{Reports: []lab.Report{r}}); err != nil || !strings.Contains(page.String(), "millrace lab run --live x") {
		t.Errorf("the page does not say how to run it again (%v)", err)
	}
}
