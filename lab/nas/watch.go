package nas

import (
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/nas"
	"github.com/millrace/millrace/topology"
)

// loadWatch stands between the engine and a policy, and measures with a NAS that only
// observes: how much map output is in the making on each node, and how far maps are when
// a job's first reduce starts.
type loadWatch struct {
	scheduler.Policy
	meter    *nas.Policy
	over     int
	samples  int
	overlaps []float64
}

func newLoadWatch(p scheduler.Policy) (*loadWatch, error) {
	meter, err := nas.New(nas.DefaultConfig())
	return &loadWatch{Policy: p, meter: meter}, err
}

// Observe implements scheduler.Policy.
func (w *loadWatch) Observe(now time.Duration, e scheduler.Event, v *scheduler.View) {
	w.Policy.Observe(now, e, v)
	w.meter.Observe(now, e, v)
	if e.Kind == scheduler.EvLaunched && e.Task.Kind == scheduler.Reduce {
		if j := v.Job(e.Job); j.Running(scheduler.Reduce)+j.Done(scheduler.Reduce) == 1 {
			w.overlaps = append(w.overlaps, j.MapProgress())
		}
	}
}

// Interval and Tick implement scheduler.Ticker for a policy that wants it.
func (w *loadWatch) Interval() time.Duration {
	if t, ok := w.Policy.(scheduler.Ticker); ok {
		return t.Interval()
	}
	return 5 * time.Second
}

// Tick implements scheduler.Ticker.
func (w *loadWatch) Tick(now time.Duration, v *scheduler.View) {
	if t, ok := w.Policy.(scheduler.Ticker); ok {
		t.Tick(now, v)
	}
	w.meter.Tick(now, v)
}

// sample looks at every node that runs maps.
func (w *loadWatch) sample(_ time.Duration, v *scheduler.View) {
	limit := w.meter.TrafficThreshold()
	for n := range topology.NodeID(v.Topology().NumNodes()) {
		w.samples++
		if w.meter.Load(n, v) > limit {
			w.over++
		}
	}
}
