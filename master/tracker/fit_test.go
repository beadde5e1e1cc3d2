package tracker

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

func asks(vcores int32, mb int64) wire.Demand { return wire.Demand{VCores: vcores, MemoryMB: mb} }

func sleepOf(m, r, d wire.Demand) wire.JobSpec {
	return wire.JobSpec{
		Name: "j", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}, Shape: wire.Shape{Reducers: 1},
		VCores: m.VCores, MemoryMB: m.MemoryMB, Reduce: r, Driver: d,
	}
}

// TestJobsThatNoWorkerCanHold: a job is refused if no worker that is up could ever hold one of its tasks, and the refusal says
// what was asked for and what there is. While none is up it is taken, and so it is if one has room that is taken now.
func TestJobsThatNoWorkerCanHold(t *testing.T) {
	var none wire.Demand
	small, large := wire.Capacity{VCores: 2, MemoryMB: 2048}, wire.Capacity{VCores: 1, MemoryMB: 8192}
	mapOnly := sleepOf(none, asks(9, 0), none)
	mapOnly.Shape = wire.Shape{MapOnly: true}
	for name, tt := range map[string]struct {
		workers []wire.Capacity
		spec    wire.JobSpec
		want    string // of the refusal
	}{
		"plain":               {[]wire.Capacity{small}, sleepOf(none, none, none), ""},
		"all of a worker":     {[]wire.Capacity{small}, sleepOf(asks(2, 2048), none, none), ""},
		"driver":              {[]wire.Capacity{small, large}, sleepOf(none, none, asks(0, 95368)), "a driver of this job: --driver-memory asks for 95368 MB, and the largest worker has 8192 MB"},
		"map":                 {[]wire.Capacity{small}, sleepOf(asks(0, 2049), asks(0, 1), none), "a map of this job: --map-memory asks for 2049 MB, and the largest worker has 2048 MB"},
		"reduce":              {[]wire.Capacity{large, small}, sleepOf(none, asks(9, 0), none), "a reduce of this job: --reduce-vcores asks for 9, and the largest worker has 2"},
		"both":                {[]wire.Capacity{small, large}, sleepOf(asks(2, 4096), none, none), "none has both what --map-vcores and what --map-memory ask for"},
		"no reduce":           {[]wire.Capacity{small}, mapOnly, ""},
		"no worker":           {nil, sleepOf(none, none, asks(0, 95368)), ""},
		"containers":          {[]wire.Capacity{small, {Containers: 2}}, sleepOf(asks(9, 95368), none, none), ""},
		"map slots":           {[]wire.Capacity{{MapSlots: 2}}, sleepOf(none, none, none), "a reduce of this job: none has a slot for one"},
		"map and other slots": {[]wire.Capacity{{MapSlots: 2}, {ReduceSlots: 1}}, sleepOf(none, none, none), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t, c: newCore(t)}
			s.c.Resume(0)
			for i, has := range tt.workers {
				h := &hand{name: wire.NodeName(rune('a' + i)), rack: "r0", machine: has}
				h.restart()
				s.say(h)
			}
			_, err := s.c.Submit(s.now, tt.spec)
			if tt.want == "" && err != nil || tt.want != "" && (wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// TestFitAfterARestart: a master that was started again does not refuse a job because the worker that can hold it has not reported yet.
func TestFitAfterARestart(t *testing.T) {
	s := &scene{t: t, c: newCore(t), n0: &hand{name: "small", rack: "r0", machine: wire.Capacity{VCores: 2, MemoryMB: 2048}}}
	s.c.cfg.Epoch = 2
	s.c.Resume(0)
	s.n0.restart()
	s.say(s.n0)
	large := sleepOf(asks(0, 4096), wire.Demand{}, wire.Demand{})
	if _, err := s.c.Submit(s.now, large); err != nil {
		t.Errorf("at once: %v", err)
	}
	if _, err := s.c.Submit(s.now+s.c.cfg.Grace, large); wire.KindOf(err) != wire.Invalid {
		t.Errorf("later: %v", err)
	}
}

// TestATooLargeJobIsPassedOver: a job that came before any worker did turns out to be too large for them. The next one runs, and
// both are told why. When a worker comes that is large enough the job runs as well.
func TestATooLargeJobIsPassedOver(t *testing.T) {
	for name, tt := range map[string]struct {
		admission string
		params    map[string]string
		spec      wire.JobSpec
		want      string
	}{
		"marp":          {"marp", map[string]string{"marp": "0.5"}, sleepOf(asks(0, 100), wire.Demand{}, asks(0, 95368)), "a driver of it asks for 95368 MB, and no machine that is up has as much: the most that one has is 4096 MB"},
		"marp, reduce":  {"marp", map[string]string{"marp": "0.5"}, sleepOf(wire.Demand{}, asks(9, 0), wire.Demand{}), "a reduce of it asks for 9 vcores, and no machine that is up has as many: the most that one has is 4"},
		"cbt":           {"cbt", map[string]string{"least-drivers": "25", "start": "1"}, sleepOf(asks(0, 95368), wire.Demand{}, wire.Demand{}), "a map of it asks for 95368 MB"},
		"capacity-init": {"capacity-init", map[string]string{"max-system-jobs": "1"}, sleepOf(asks(0, 95368), wire.Demand{}, wire.Demand{}), "a map of it asks for 95368 MB"},
	} {
		t.Run(name, func(t *testing.T) {
			s := emptyScene(t, tt.admission, tt.params)
			large, err := s.c.Submit(s.now, tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			for end := s.now + 6*time.Second; s.now < end; s.now += 100 * time.Millisecond {
				s.c.Tick(s.now)
			}
			s.n0.room, s.n0.machine = 0, wire.Capacity{VCores: 4, MemoryMB: 4096}
			s.n0.restart()
			s.say(s.n0)
			plain := mustSleep(t, s.c, s.now, "bob")
			for range 60 {
				s.pass(100 * time.Millisecond)
				s.say(s.n0)
			}
			s.drivers(plain)
			if why, err := s.c.Why(s.now, large); err != nil || !strings.Contains(why, tt.want) {
				t.Errorf("%s, %v, want %q", why, err, tt.want)
			}
			if err := s.c.Kill(s.now, plain, "done"); err != nil {
				t.Fatal(err)
			}
			n1 := &hand{name: "n1", rack: "r0", machine: wire.Capacity{VCores: 100, MemoryMB: 1 << 20}}
			n1.restart()
			for range 60 {
				s.pass(100 * time.Millisecond)
				s.say(s.n0)
				s.say(n1)
			}
			s.n1 = n1
			s.drivers(large)
		})
	}
}

// drivers checks of which jobs there are drivers.
func (s *scene) drivers(want wire.JobID) {
	s.t.Helper()
	for _, h := range []*hand{s.n0, s.n1} {
		if h == nil {
			continue
		}
		for id := range h.running {
			if id.Kind == wire.DriverTask && id.Job == want {
				return
			}
		}
	}
	why, _ := s.c.Why(s.now, want)
	s.t.Errorf("%s has no driver: %s", want, why)
}

// TestBusyWorkersMayHoldAJob: a job is not refused for what others hold.
func TestBusyWorkersMayHoldAJob(t *testing.T) {
	s := newScene(t, 2, 2)
	s.n1.room, s.n1.machine = 0, wire.Capacity{VCores: 2, MemoryMB: 2048}
	s.say(s.n1)
	if len(s.n1.mapsOf()) != 2 {
		t.Fatalf("n1 runs %d maps", len(s.n1.mapsOf()))
	}
	if _, err := s.c.Submit(s.now, sleepOf(asks(2, 2048), wire.Demand{}, wire.Demand{})); err != nil {
		t.Error(err)
	}
}
