package lab

import "github.com/millrace/millrace/sim"

// A Scene is a run that is worth watching decision by decision.
type Scene struct {
	Name      string // as the player calls it
	Admission string // of the policy that admits drivers; empty: there is none
	// Setup returns the run, fresh at each call.
	Setup func() (sim.Config, []*sim.Job, error)
}

// Watch names the two runs that show what the experiment is about. Nothing runs now. Of several pairs the first counts.
func (r *Recorder) Watch(a, b Scene) {
	if r.report.Scenes == nil {
		r.report.Scenes = []Scene{a, b}
	}
}
