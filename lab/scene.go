package lab

import "github.com/millrace/millrace/sim"

// A Scene is a run that is worth watching decision by decision.
type Scene struct {
	Name      string // the player's name for it
	Admission string // name of the policy that admits drivers; empty: none
	// Setup returns the run, fresh at each call.
	Setup func() (sim.Config, []*sim.Job, error)
}

// Watch names the two runs that show what the experiment is about. It runs nothing. Of several pairs the first counts.
func (r *Recorder) Watch(a, b Scene) {
	if r.report.Scenes == nil {
		r.report.Scenes = []Scene{a, b}
	}
}
