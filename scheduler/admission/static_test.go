package admission

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// spec/marp 2.3: as many as fit, oldest first; the others hear why.
func TestStaticAdmitsAsManyAsFit(t *testing.T) {
	r := newRig(t, admissionOf(t, &MARPInfo, map[string]string{"marp": "0.13"}), scheduler.DefaultReduceRule())
	r.submit(1, 5)
	ids, why := r.admit()
	if len(ids) != 3 || ids[0] != 1 || ids[2] != 3 {
		t.Errorf("admitted %v, want 1 2 3", ids)
	}
	if got := r.text(why); got != "j4 waits: with its driver drivers would hold 8192 MB, above the 6789 MB that MARP 0.13 allows" {
		t.Errorf("reason: %s", got)
	}
	if got := r.text(r.Explain(r.now, 5)); got != "j5 waits for admission: 1 job is before it, the first is j4" {
		t.Errorf("explanation: %s", got)
	}
	r.feed(scheduler.JobFinished(2))
	if ids, _ := r.admit(); len(ids) != 1 || ids[0] != 4 {
		t.Errorf("after a finish %v was admitted, want 4", ids)
	}
}

// What drivers hold and may hold is shown in the unit and with the numbers of the reasons.
func TestFiguresAreThoseOfTheReasons(t *testing.T) {
	for measure, want := range map[string]map[string]float64{
		"memory":     {"marp": 0.13, "drivers": 3, "driver-mb": 6144, "driver-mb-allowed": 6789},
		"containers": {"marp": 0.13, "drivers": 3, "driver-containers": 6, "driver-containers-allowed": 6},
	} {
		r := newRig(t, admissionOf(t, &MARPInfo, map[string]string{"marp": "0.13", "measure": measure}), scheduler.DefaultReduceRule())
		r.submit(1, 5)
		r.admit()
		got := map[string]float64{}
		for _, f := range r.Figures(r.now) {
			got[f.Name] = f.Value
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", measure, got, want)
		}
	}
}

// spec/marp 6, item 1: 0.039 admits nobody, ever, unless one is always admitted.
func TestTooLowMARPStartsNobody(t *testing.T) {
	low := map[string]string{"marp": "0.039"}
	r := newRig(t, admissionOf(t, &MARPInfo, low), scheduler.DefaultReduceRule())
	r.submit(1, 6)
	if ids := r.sleep(time.Hour); len(ids) != 0 {
		t.Errorf("admitted %v", ids)
	}
	if _, why := r.admit(); !strings.Contains(r.text(why), "cannot start: its driver needs 2048 MB, MARP 0.039 allows 2036 MB") {
		t.Errorf("reason: %s", r.text(why))
	}
	low["always-admit-one"] = "true"
	r = newRig(t, admissionOf(t, &MARPInfo, low), scheduler.DefaultReduceRule())
	r.submit(1, 6)
	if ids := r.sleep(time.Hour); len(ids) != 1 || ids[0] != 1 {
		t.Errorf("always-admit-one admitted %v", ids)
	}
}

// spec/marp 6, item 1: lowering 0.25 to 0.05 stops nobody and admits nobody until all six
// have finished.
func TestLoweringStopsNobody(t *testing.T) {
	r := newRig(t, admissionOf(t, &MARPInfo, map[string]string{"marp": "0.25"}), scheduler.DefaultReduceRule())
	r.submit(1, 7)
	if ids, _ := r.admit(); len(ids) != 6 {
		t.Fatalf("admitted %v, want six", ids)
	}
	r.feed(scheduler.ConfigChanged("marp=0.05"))
	r.feed(scheduler.ConfigChanged("fruit=0.9"))
	r.feed(scheduler.ConfigChanged("marp=-3"))
	r.sleep(15 * time.Second)
	if n := r.View().Jobs().Len() - r.View().Waiting().Len(); n != 6 {
		t.Errorf("%d jobs run after the drop, want 6", n)
	}
	for id := scheduler.JobID(1); id <= 6; id++ {
		if ids, _ := r.admit(); len(ids) != 0 {
			t.Fatalf("%v admitted while jobs %d..6 run", ids, id)
		}
		r.feed(scheduler.JobFinished(id))
	}
	if ids, _ := r.admit(); len(ids) != 1 || ids[0] != 7 {
		t.Errorf("after all six %v was admitted, want 7", ids)
	}
}

// spec/marp 2.4: a written value counts after 10 to 15 s, not before; writes stay in
// order; a time scale shortens the wait.
func TestReloadDelay(t *testing.T) {
	for seed := range 20 {
		for scale, unit := range map[string]time.Duration{"1": time.Second, "20": 50 * time.Millisecond} {
			a := admissionOf(t, &MARPInfo, map[string]string{"marp": "0.05", "seed": string(rune('0' + seed%10)), "time-scale": scale})
			r := newRig(t, a, scheduler.DefaultReduceRule())
			r.submit(1, 4)
			r.admit()
			r.feed(scheduler.ConfigChanged("marp=0.13"))
			if ids := r.sleep(10*unit - 1); len(ids) != 0 {
				t.Errorf("seed %d: %v admitted after less than 10 units", seed, ids)
			}
			if ids := r.sleep(5*unit + 1); len(ids) != 2 {
				t.Errorf("seed %d: %v admitted after 15 units, want two", seed, ids)
			}
		}
	}
}

// spec/marp 2.4, item 2: increases while jobs run are delayed further, decreases and
// first starts are not.
func TestActivationDelay(t *testing.T) {
	l := DefaultLimits()
	l.ReloadMin, l.ReloadMax = 10*time.Second, 10*time.Second
	l.ActivationMin, l.ActivationMax = 12*time.Second, 12*time.Second
	d := delayFactor{limits: &l, now: 0.05, last: 0.05}
	for _, tc := range []struct {
		marp    float64
		running int
		want    time.Duration
	}{{0.09, 0, 10 * time.Second}, {0.13, 1, 22 * time.Second}, {0.09, 1, 22 * time.Second}} {
		d.set(0, tc.marp, tc.running)
		if at := d.queue[len(d.queue)-1].at; at != tc.want {
			t.Errorf("%g with %d running counts at %v, want %v", tc.marp, tc.running, at, tc.want)
		}
	}
	if v := d.value(21 * time.Second); v != 0.09 {
		t.Errorf("after 21 s MARP is %g, want the first write", v)
	}
	if v := d.value(22 * time.Second); v != 0.09 || len(d.queue) != 0 {
		t.Errorf("after 22 s MARP is %g, want the last write", v)
	}
}

// A small driver passes a large one only if told to.
func TestOvertaking(t *testing.T) {
	for _, overtake := range []string{"false", "true"} {
		r := newRig(t, admissionOf(t, &MARPInfo, map[string]string{"marp": "0.1", "overtake": overtake}), scheduler.DefaultReduceRule())
		for id, mb := range []int64{2048, 8192, 2048} {
			r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: scheduler.JobID(id), Maps: 1, HasDriver: true, DriverDemand: scheduler.Demand{MemoryMB: mb}}))
		}
		ids, _ := r.admit()
		if want := map[string]int{"false": 1, "true": 2}[overtake]; len(ids) != want {
			t.Errorf("overtake=%s: admitted %v, want %d jobs", overtake, ids, want)
		}
	}
}

// Where nodes have no memory, MARP is a part of their containers or slots.
func TestMeasures(t *testing.T) {
	for _, tc := range []struct {
		capacity scheduler.Capacity
		want     int
	}{
		{scheduler.Capacity{Containers: 17}, 6},               // 0.25 of 51 is 12.75, six drivers of two
		{scheduler.Capacity{MapSlots: 10, ReduceSlots: 7}, 6}, // likewise
		{scheduler.Capacity{Containers: 17, MemoryMB: 9 << 10}, 3},
	} {
		a := admissionOf(t, &MARPInfo, map[string]string{"marp": "0.25"})
		r := newRig(t, a, scheduler.DefaultReduceRule())
		for n := range topology.NodeID(3) {
			r.feed(scheduler.NodeUpdated(n, tc.capacity))
		}
		r.submit(1, 9)
		if ids, why := r.admit(); len(ids) != tc.want {
			t.Errorf("%+v: admitted %d, want %d: %s", tc.capacity, len(ids), tc.want, r.text(why))
		}
	}
}

func TestBadParameters(t *testing.T) {
	for _, tc := range []struct {
		info   *scheduler.Info
		name   string
		value  string
		expect string
	}{
		{&MARPInfo, "marp", "1.5", "out of range"},
		{&MARPInfo, "mapr", "0.5", "no parameter"},
		{&MARPInfo, "reload-min", "20s", "no range"},
		{&CBTInfo, "iteration", "0s", "> 0"},
		{&CBTwSInfo, "lockout", "-1s", "out of range"},
		{&CBTwATInfo, "thresholds", "5", "fewer than 5"},
		{&CBTwATInfo, "time-scale", "0", "> 0"},
	} {
		if _, err := tc.info.Make(map[string]string{tc.name: tc.value}); err == nil || !strings.Contains(err.Error(), tc.expect) {
			t.Errorf("%s %s=%s: %v, want an error with %q", tc.info.Name, tc.name, tc.value, err, tc.expect)
		}
	}
	if _, err := NewCBTwAT(CBTwATConfig(), nil); err == nil {
		t.Error("cbtwat was made without randomness")
	}
}

// Under any MARP and any drivers the admitted jobs are the longest run of the
// oldest that fits; with overtaking, whoever fits when its turn comes.
func TestAdmitsExactlyWhatFits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		overtake := rapid.Bool().Draw(rt, "overtake")
		marp := r3(rapid.Float64Range(0, 1).Draw(rt, "marp"))
		limits := DefaultLimits()
		limits.Overtake = overtake
		a, err := NewStatic(marp, limits, source0())
		if err != nil {
			rt.Fatal(err)
		}
		r := newRig(t, a, scheduler.DefaultReduceRule())
		drivers := rapid.SliceOfN(rapid.Int64Range(1, 12<<10), 1, 30).Draw(rt, "drivers")
		var want []scheduler.JobID
		used, closed := int64(0), false
		for i, mb := range drivers {
			r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: scheduler.JobID(i), Maps: 1, HasDriver: true, DriverDemand: scheduler.Demand{MemoryMB: mb}}))
			if fits := float64(used+mb) <= marp*queueMB+1e-9; fits && !closed {
				used += mb
				want = append(want, scheduler.JobID(i))
			} else if !overtake {
				closed = true
			}
		}
		if got, _ := r.admit(); !slices.Equal(got, want) {
			rt.Fatalf("admitted %v, want %v", got, want)
		}
		if p := r.View().Promised(); p.MemoryMB != used {
			rt.Fatalf("drivers hold %d MB, want %d", p.MemoryMB, used)
		}
	})
}
