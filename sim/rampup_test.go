package sim

import (
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/scheduler/policies"
)

// beside is a job of that many maps and as many reduces as a class would ask for, as on a live cluster.
func beside(id scheduler.JobID, at time.Duration, maps, reduces int32, user string) *Job {
	return &Job{
		Spec: &scheduler.JobSpec{ID: id, Submit: at, Maps: maps, Reduces: reduces, HasDriver: true, User: user},
		Maps: []time.Duration{time.Second}, Reduces: []time.Duration{time.Second},
	}
}

// live runs jobs on four nodes of three containers, as a live cluster with a policy's parameters there.
func live(t *testing.T, policy string, given map[string]string, jobs ...*Job) *Result {
	t.Helper()
	p, err := policies.Policy(policy, given)
	if err != nil {
		t.Fatal(err)
	}
	marp, err := policies.Admission("marp", policies.LiveParams("marp", nil))
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(Config{
		Topology: cluster(t, 2, 2), Capacity: scheduler.Capacity{Containers: 3}, Policy: p, Admission: marp, State: scheduler.DefaultConfig(),
		Model: NewFixed(), Reports: Reports{AskAgain: 100 * time.Millisecond}, DriverStart: 200 * time.Millisecond,
		BreakDeadlocks: true, Refill: true, Seconds: drive.DefaultLATE(),
	}, jobs)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// besideLarge is the worst of three small jobs that come at once while a large one runs, over the time of one alone.
func besideLarge(t *testing.T, policy string, given map[string]string, large, small int32, at time.Duration) (worst float64) {
	t.Helper()
	alone := live(t, policy, given, beside(1, 0, small, 2, "bob")).Jobs[0].Completion()
	res := live(t, policy, given, beside(0, 0, large, 12, "ann"),
		beside(1, at, small, 2, "bob"), beside(2, at, small, 2, "cem"), beside(3, at, small, 2, "dee"))
	for i := 1; i < 4; i++ {
		worst = max(worst, float64(res.Jobs[i].Completion())/float64(alone))
	}
	return worst
}

// TestSmallBesideLarge: on twelve containers, with the parameters of a live cluster, no small job beside a large one takes
// more than three times as long as alone, whenever it comes. With reduces as published it takes ten times that, as early
// reduces hold the containers that its maps need.
func TestSmallBesideLarge(t *testing.T) {
	published := map[string]string{"rampup": "0", "count": "auto"}
	for _, policy := range []string{"fair", "delay"} {
		for _, large := range []int32{100, 300} {
			for _, small := range []int32{1, 4, 12} {
				starved, worst := 0.0, 0.0
				for _, at := range []time.Duration{2 * time.Second, 5 * time.Second, 9 * time.Second, 14 * time.Second, 25 * time.Second} {
					got := besideLarge(t, policy, policies.LiveParams(policy, nil), large, small, at)
					if worst = max(worst, got); got > 3 {
						t.Errorf("%s: small jobs of %d maps at %v beside one of %d: %.2f times as long as alone", policy, small, at, large, got)
					}
					starved = max(starved, besideLarge(t, policy, policies.LiveParams(policy, published), large, small, at))
				}
				t.Logf("%s, %d beside %d: %.1f, as published %.1f", policy, small, large, worst, starved)
				if starved < 9 {
					t.Errorf("%s, %d beside %d: as published %.2f times; the mix shows nothing", policy, small, large, starved)
				}
			}
		}
	}
}

// TestReducesGiveBack: a large job has all its maps placed and reduces that wait; a small one comes. Waiting reduces give
// their containers to its maps and start again; both jobs end, and nothing is stopped without need.
func TestReducesGiveBack(t *testing.T) {
	given := policies.LiveParams("fair", nil)
	long := beside(0, 0, 20, 10, "ann")
	long.Maps = []time.Duration{time.Second, 30 * time.Second} // every other map is long
	res := live(t, "fair", given, long, beside(1, 15*time.Second, 6, 1, "bob"))
	if small := res.Jobs[1].Completion(); small > 5*time.Second {
		t.Errorf("the small job took %v while reduces waited", small)
	}
	if res.Killed == 0 || res.Killed > 10 {
		t.Errorf("%d attempts were stopped", res.Killed)
	}
	if alone := live(t, "fair", given, beside(0, 0, 300, 12, "ann")); alone.Killed > 0 {
		t.Errorf("%d attempts of a job that is alone were stopped", alone.Killed)
	}
}
