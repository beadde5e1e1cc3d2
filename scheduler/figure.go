package scheduler

import "time"

// A Figure is a number that a policy works with, for those who watch it: a limit that it tunes, or what a job lacks.
type Figure struct {
	Name  string // in small letters, words joined by hyphens
	Job   JobID  // the job that it is about; NoJob: the cluster
	Value float64
}

// A Figurer is a policy or admission that shows figures.
type Figurer interface {
	// Figures returns them in a fixed order.
	Figures(now time.Duration, v *View) []Figure
}

// A Noter is a policy or admission that says what the cluster lacks for it, and what it does meanwhile.
type Noter interface {
	// Notes returns one sentence for each, without a full stop; none if nothing is missing.
	Notes(v *View) []string
}

// Notes returns what admission and policy lack.
func (g *Engine) Notes() (out []string) {
	for _, who := range [...]any{g.admission, g.policy} {
		if n, ok := who.(Noter); ok {
			out = append(out, n.Notes(&g.state.view)...)
		}
	}
	return out
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
