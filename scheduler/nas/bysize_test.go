package nas

import (
	"math/rand/v2"
	"testing"

	"github.com/millrace/millrace/scheduler"
)

// A job whose splits are equal but for a smaller last one has no order of sizes. What is found without one is what is found with it.
func TestEvenSplits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	p := nasPolicy(t, nil)
	r := newRig(t, p, 2, 2, scheduler.Capacity{Containers: 8})
	spec := &scheduler.JobSpec{ID: 1, Maps: 6, Reduces: 1}
	for i := range 6 {
		spec.Splits.Add([]int64{100, 100, 100, 100, 100, 30}[i], 1)
	}
	r.Send(scheduler.JobSubmitted(spec))
	r.Send(scheduler.JobAdmitted(1))
	v := r.View()
	j := v.Job(1)
	est := p.est.of(j)
	if !est.even || est.sizes.order != nil {
		t.Fatalf("splits of 100 and one of 30 are not seen to be even: %+v", est.sizes)
	}
	for range 200 {
		i := int32(rng.IntN(6))
		task := scheduler.TaskID{Job: 1, Index: i}
		if j.TaskState(scheduler.Map, i) == scheduler.TaskPending {
			r.Send(scheduler.Launched(task, 0, scheduler.Remote, false))
		} else {
			r.Send(scheduler.TaskKilled(task, 0))
		}
		want := newBySize(spec.Splits.Bytes)
		a, aok := est.sizes.first(j, v)
		if b, bok := want.first(j, v); aok != bok || aok && a != b {
			t.Fatalf("smallest pending map %d %v, want %d %v", a, aok, b, bok)
		}
		for _, avail := range []float64{20, 30, 99, 100} {
			a, aok := est.sizes.atMost(j, est, avail, v)
			if b, bok := want.atMost(j, est, avail, v); aok != bok || aok && a != b {
				t.Fatalf("largest pending map of at most %g bytes: %d %v, want %d %v", avail, a, aok, b, bok)
			}
		}
		if got := p.est.bytes(j, est, i); got != float64(spec.Splits.Bytes[i]) {
			t.Fatalf("map %d reads %g bytes, want %d", i, got, spec.Splits.Bytes[i])
		}
	}
}
