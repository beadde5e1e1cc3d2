package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/sim/flow"
)

// TestNetworkIsTold: policies hear of the links of a rack when something has changed, and only then: of a shuffle that fills them, while
// it does, and of its end.
func TestNetworkIsTold(t *testing.T) {
	topo := linked(t, 2, 1)
	spec := &scheduler.JobSpec{Maps: 1, Reduces: 1, Slowstart: -1, Input: scheduler.Bytes(100), Shuffle: scheduler.Bytes(5000)}
	spec.Splits.Add(100, 0)
	var told [2][]scheduler.Event
	mustRun(t, Config{
		Topology: topo, Capacities: []scheduler.Capacity{{MapSlots: 1}, {ReduceSlots: 1}}, Policy: policy(t, "fifo", nil),
		State: scheduler.DefaultConfig(), Model: netModel(t, topo, nil),
		Views: Views{Lines: func(_ *drive.Loop, l *drive.Line) {
			if e := l.Event; l.Kind == drive.LineEvent && e.Kind == scheduler.EvNetSample {
				told[e.Rack] = append(told[e.Rack], e)
			}
		}},
	}, &Job{Spec: spec, Maps: []time.Duration{5 * time.Second}, Reduces: []time.Duration{100 * time.Second}})
	for r, list := range told { // the first sends, the second receives
		var was scheduler.Event
		full := false
		for i, e := range list {
			if (e.Value == was.Value && e.Value2 == was.Value2 && e.Flag == was.Flag) || e.Value > 1.01 || e.Value2 > 1.01 {
				t.Errorf("rack %d, %d of %d: %g up and %g down, congested %v, after %g, %g, %v", r, i, len(list), e.Value, e.Value2, e.Flag, was.Value, was.Value2, was.Flag)
			}
			full = full || [2]float64{e.Value, e.Value2}[r] > 0.9 && [2]float64{e.Value, e.Value2}[1-r] < 0.01 && e.Flag
			was = e
		}
		if !full || was.Flag || was.Value > 0.1 || was.Value2 > 0.1 {
			t.Errorf("rack %d: told %d times, full %v, at last %g up and %g down, congested %v", r, len(list), full, was.Value, was.Value2, was.Flag)
		}
	}
}

// TestWhatCannotRun: what makes no simulation is refused with what is wrong.
func TestWhatCannotRun(t *testing.T) {
	topo := linked(t, 1, 1)
	job := func(id scheduler.JobID) *Job {
		return &Job{Spec: &scheduler.JobSpec{ID: id, Maps: 1}, Maps: []time.Duration{time.Second}}
	}
	good := func() Config {
		return Config{Topology: topo, Capacity: scheduler.Capacity{MapSlots: 1}, Policy: policy(t, "fifo", nil), State: scheduler.DefaultConfig(), Model: NewFixed()}
	}
	for _, tt := range []struct {
		change func(*Config)
		jobs   []*Job
		want   string
	}{
		{func(*Config) {}, []*Job{job(1), job(2)}, ""},
		{func(*Config) {}, []*Job{job(1), job(2), job(1)}, "simulate: two jobs have id j1"},
		{func(c *Config) { c.State.Slowstart = 2 }, []*Job{job(1)}, "simulate: scheduler state: slow start 2 is above 1"},
	} {
		cfg := good()
		tt.change(&cfg)
		if _, err := Run(cfg, tt.jobs); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if _, err := NewNetwork(NetworkConfig{}); err == nil || !strings.Contains(err.Error(), "network model: ") {
		t.Errorf("a network of nothing: %v", err)
	}
	if _, err := flow.New(nil, flow.Config{}); err == nil || err.Error() != "the network has no nodes" {
		t.Errorf("no topology: %v", err)
	}
	if _, err := flow.New(topo, flow.Config{Tick: -1}); err == nil || err.Error() != "the network's tick is negative" {
		t.Errorf("a negative tick: %v", err)
	}
}
