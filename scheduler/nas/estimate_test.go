package nas

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
)

// TestUnknownInput: of a job whose input nobody knows, a shuffle that was declared is believed, and counted once while maps end; one
// that was not is learned from the first map.
func TestUnknownInput(t *testing.T) {
	for _, tt := range []struct {
		name        string
		declared    int64 // MB
		first, then float64
	}{
		{"declared", 40, 40, 40},
		{"learned", 0, 4 * 64, 40},
		{"declared wrong", 80, 80, 40},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := nasPolicy(t, func(c *Config) { c.Block = 64 * mb })
			r := newRig(t, p, 1, 2, scheduler.Capacity{Containers: 4})
			s := &scheduler.JobSpec{ID: 1, Maps: 4, Reduces: 1, Recurring: true}
			if tt.declared > 0 {
				predicted(s, tt.declared)
			}
			r.Submit(s)
			shuffle := func() float64 { return p.est.of(r.View().Job(1)).shuffle / mb }
			if got := shuffle(); got != tt.first {
				t.Errorf("before its maps it is to shuffle %g MB, want %g", got, tt.first)
			}
			for i := range int32(4) {
				r.run(1, i, 0)
				if i == 1 && p.Load(0, r.View()) != 10*mb {
					t.Errorf("a map is to write %g bytes", p.Load(0, r.View()))
				}
				r.finish(1, i, 0, 10*mb)
				if got := shuffle(); got != tt.then {
					t.Errorf("after %d maps of 4 it is to shuffle %g MB, want %g", i+1, got, tt.then)
				}
			}
		})
	}
}

// TestLatePlan: what a job declared counts from when its driver has found how much there is to read.
func TestLatePlan(t *testing.T) {
	p := nasPolicy(t, nil)
	r := newRig(t, p, 1, 2, scheduler.Capacity{Containers: 4})
	s := predicted(&scheduler.JobSpec{ID: 1, HasDriver: true}, 500)
	r.Submit(s)
	r.Send(scheduler.Launched(scheduler.TaskID{Job: 1, Kind: scheduler.Driver}, 0, scheduler.Anywhere, false))
	planned := predicted(spec(1, "", 1, on(50, 0), on(50, 1)), 500)
	planned.HasDriver = true
	r.Send(scheduler.JobReady(1, planned))
	if got := p.est.of(r.View().Job(1)).shuffle / mb; got != 500 {
		t.Errorf("it is to shuffle %g MB, of which it said 500", got)
	}
}
