package scheduler

import (
	"slices"
	"testing"
	"time"
)

// judging lets every driver start, and judges plans as it is told.
type judging struct{ verdicts map[JobID]Verdict }

func (*judging) Observe(time.Duration, Event, *View) {}

func (*judging) Admit(_ time.Duration, v *View) AdmitDecision {
	for j := range v.Waiting().All() {
		return AdmitDecision{Verdict: Admit, Job: j.ID()}
	}
	return AdmitDecision{}
}

func (a *judging) Judge(_ time.Duration, j *Job, _ *JobSpec, _ *View) AdmitDecision {
	return AdmitDecision{Verdict: a.verdicts[j.ID()], Job: j.ID(), Reason: Reason{Say: "{job} is too large", Job: j.ID()}}
}

// TestHeldPlans: a plan that is held back is judged again at each Admit, however often: then its job is ready, fails, or waits on. That of a
// job which has ended is forgotten.
func TestHeldPlans(t *testing.T) {
	g := newTestEngine(t, 1, 1, Capacity{Containers: 9}, nil)
	a := &judging{map[JobID]Verdict{4: Admit}}
	g.SetAdmission(0, a)
	var seen []AdmitDecision
	admit := func() {
		t.Helper()
		if _, err := g.Admit(0, func(d AdmitDecision) { seen = append(seen, d) }); err != nil {
			t.Fatal(err)
		}
	}
	specs := map[JobID]*JobSpec{}
	for id := JobID(1); id <= 4; id++ {
		specs[id] = &JobSpec{ID: id, Maps: 1, HasDriver: true}
		mustFeed(t, g, JobSubmitted(specs[id]))
	}
	admit()
	for id := JobID(1); id <= 4; id++ {
		mustFeed(t, g, Launched(TaskID{Job: id, Kind: Driver}, 0, Anywhere, false))
		mustFeed(t, g, JobReady(id, specs[id]))
	}
	phases := func() (out []Phase) {
		for id := JobID(1); id <= 4; id++ {
			phase := Ended
			if j := g.View().Job(id); j != nil {
				phase = j.Phase()
			}
			out = append(out, phase)
		}
		return out
	}
	for i, step := range []struct {
		say    map[JobID]Verdict
		want   []Phase
		judged int // decisions that the caller has to carry out
	}{
		{nil, []Phase{Admitted, Admitted, Admitted, Ready}, 0},
		{nil, []Phase{Admitted, Admitted, Admitted, Ready}, 0},
		{map[JobID]Verdict{2: Admit}, []Phase{Admitted, Ready, Admitted, Ready}, 0},
		{map[JobID]Verdict{3: Reject}, []Phase{Admitted, Ready, Ended, Ready}, 1},
		{map[JobID]Verdict{1: Admit}, []Phase{Ready, Ready, Ended, Ready}, 0},
	} {
		if step.say != nil {
			a.verdicts = step.say
		}
		if why := g.Explain(0, 1).Text(nil); i < 4 && why != "j1 is too large" {
			t.Errorf("step %d: j1 is told that %s", i, why)
		}
		seen = nil
		admit()
		if got := phases(); !slices.Equal(got, step.want) || len(seen) != step.judged {
			t.Errorf("step %d: %v and %d decisions, want %v and %d", i, got, len(seen), step.want, step.judged)
		}
	}
	if len(g.held) != 0 {
		t.Errorf("%d plans are held", len(g.held))
	}
}
