package sizebased

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
)

func near(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-6*y })
}

// TestFittedLimits: where limits are cut, from a hundred thousandth of the published sizes to those.
func TestFittedLimits(t *testing.T) {
	sizes := func(list ...float64) *fitted {
		f := &fitted{sizes: newRing(fitJobs)}
		for _, s := range list {
			f.sizes.push(s)
		}
		return f
	}
	twenty := append(slices.Repeat([]float64{1}, 20), 100, 100)
	for _, tc := range []struct {
		name   string
		f      *fitted
		k      int
		places int32
		want   []float64
	}{
		{"nothing has run on 12 containers", sizes(), 2, 12, []float64{24}},
		{"nothing has run, four queues", sizes(), 4, 12, []float64{24, 72, 216}},
		{"no nodes", sizes(), 2, 0, []float64{2}},
		{"four jobs are too few", sizes(1, 1, 1, 1), 2, 12, []float64{24}},
		{"small and large jobs", sizes(twenty...), 2, 12, []float64{10}},
		{"all alike", sizes(slices.Repeat([]float64{7}, 9)...), 2, 12, []float64{7}},
		{"nothing to do at all", sizes(0, 0, 0, 0, 0), 3, 12, []float64{fitFloor, fitFloor * (1 + 1e-9)}},
	} {
		if got := tc.f.limits(tc.k, tc.places); !near(got, tc.want) {
			t.Errorf("%s: limits %v, want %v", tc.name, got, tc.want)
		}
	}
	var many []float64 // a third of a percent apart
	for i := range fitJobs {
		many = append(many, math.Exp(float64(i)/30))
	}
	got := sizes(many...).limits(4, 1)
	for i, l := range got {
		below, total := 0.0, 0.0
		for _, s := range many {
			total += s
			if s <= l {
				below += s
			}
		}
		if share, want := below/total, math.Pow(float64(i+1)/4, 2); share > want || share < want-0.05 {
			t.Errorf("jobs below limit %d did %.3f of the work, want %.3f", i+1, share, want)
		}
	}
}

// TestLimitsFollowTheCluster: as a cluster sets them up, the three policies have limits that its jobs reach; what is
// learnt moves them, and a job that is past the new limit falls.
func TestLimitsFollowTheCluster(t *testing.T) {
	for _, info := range []*scheduler.Info{&FBQInfo, &TAGSInfo, &SITAInfo} {
		made, err := info.Make(info.LiveParams(nil))
		if err != nil {
			t.Fatal(err)
		}
		p := made.(*Policy)
		r := newRig(t, p, 4, scheduler.Capacity{Containers: 3})
		show := func() float64 { return p.Figures(r.Now, r.View())[0].Value }
		if got := show(); got != 24 {
			t.Errorf("%s on 12 containers: a limit of %g slot-seconds, want 24", info.Name, got)
		}
		r.Submit(&scheduler.JobSpec{ID: 1, Maps: 3, Input: scheduler.Bytes(1e9)})
		r.Serve(0)
		r.Now += 5 * time.Second
		for range 20 {
			r.Send(scheduler.Taught(&scheduler.Lesson{MapTime: time.Second, Input: 1e6}))
		}
		for range 2 {
			r.Send(scheduler.Taught(&scheduler.Lesson{MapTime: 100 * time.Second, Input: 1e8}))
		}
		if got := show(); !near([]float64{got}, []float64{10}) {
			t.Errorf("%s: a limit of %g slot-seconds between jobs of 1 and of 100, want 10", info.Name, got)
		}
		if q, ok := p.QueueOf(r.View().Job(1)); !ok || q != 2 {
			t.Errorf("%s: the job is in queue %d, want 2", info.Name, q)
		}
	}
}

// TestFitOrLimits: what is given is kept.
func TestFitOrLimits(t *testing.T) {
	given := map[string]string{"limits": "30"}
	p, err := FBQInfo.Make(FBQInfo.LiveParams(given))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.(*Policy); got.fit != nil || !slices.Equal(got.cfg.Limits, []float64{30}) {
		t.Errorf("limits %v", got.cfg.Limits)
	}
	if _, err := FBQInfo.Make(map[string]string{"limits": "30", "fit": "true"}); err == nil {
		t.Error("limits and fit together were taken")
	}
}
