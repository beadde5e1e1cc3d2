package hybrid

import (
	"testing"

	"github.com/millrace/millrace/trace"
)

// A wrong prediction changes what the scheduler is told, and nothing that is true of a job (spec/hybrid 4.1).
func TestErrorsChangeBeliefOnly(t *testing.T) {
	right := hybridVariant{cluster: mixed, jobs: 200, online: true}
	wrong := right
	wrong.wrong = 0.5
	a, truthA := right.workload(7)
	b, truthB := wrong.workload(7)
	told := 0
	fast, slow := newTwoSpeeds(mixed.isUp), newTwoSpeeds(mixed.isUp)
	fast.truth, slow.truth = truthA, truthB
	for i := range a {
		if truthA[i] != truthB[i] || a[i].Spec.Submit != b[i].Spec.Submit || a[i].Maps[0] != b[i].Maps[0] || fast.factor(a[i]) != slow.factor(b[i]) {
			t.Fatalf("job %d: another job with the error", i)
		}
		if a[i].Spec.Shuffle.Bytes != b[i].Spec.Shuffle.Bytes {
			told++
		}
	}
	if told < 50 {
		t.Errorf("the scheduler is told something else of %d jobs only", told)
	}
}

// Jobs of the trace have the sizes that SWIM's generator makes of them; a whole day keeps its arrivals.
func TestWorkloadOfATrace(t *testing.T) {
	day := []trace.Job{{Submit: 5e9, InputBytes: 60 << 30, ShuffleBytes: 60 << 30}, {Submit: 9e9}}
	v := hybridVariant{cluster: mixed, jobs: 3, online: true, day: day, scale: judgedScale}
	for _, j := range first(v.workload(1)) {
		if in := j.Spec.Input.Bytes; in != 1<<30 && in != 64<<20 {
			t.Errorf("%d bytes of input", in)
		}
		if j.Spec.Reduces < 1 {
			t.Error("SWIM's jobs have a reduce")
		}
	}
	v.whole = true
	jobs, _ := v.workload(1)
	if len(jobs) != 2 || jobs[0].Spec.Submit != 5e9 || jobs[1].Spec.Submit != 9e9 {
		t.Errorf("%d jobs, or not as they arrived", len(jobs))
	}
}

func first[A, B any](a A, _ B) A { return a }
