package lab

import "github.com/millrace/millrace/internal/chart"

// A Figure is a chart of a report. Its file is named after the experiment and Name.
type Figure struct {
	Name    string      `json:"name"`
	Caption string      `json:"caption,omitempty"`
	Chart   chart.Chart `json:"-"`
}

// figure adds a chart. The caption says what to see in it.
func (r *Recorder) figure(name, caption string, c chart.Chart) {
	r.report.Figures = append(r.report.Figures, Figure{name, caption, c})
}
