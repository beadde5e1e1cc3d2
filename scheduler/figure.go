package scheduler

import "time"

// A Figure is a number that a policy works with, for those who watch it: a limit that it tunes, what a job
// lacks.
type Figure struct {
	Name  string // in small letters, words joined by hyphens
	Job   JobID  // whose it is; NoJob: the cluster's
	Value float64
}

// A Figurer is a policy or admission that shows figures.
type Figurer interface {
	// Figures returns them in a fixed order.
	Figures(now time.Duration, v *View) []Figure
}

// Figures returns what admission and policy show.
func (g *Engine) Figures(now time.Duration) (out []Figure) {
	for _, who := range [...]any{g.admission, g.policy} {
		if f, ok := who.(Figurer); ok {
			out = append(out, f.Figures(now, &g.state.view)...)
		}
	}
	return out
}
