package nas

import (
	"math"

	"github.com/millrace/millrace/topology"
)

// outputIn returns the map output of j in rack r, and in all racks: of finished
// maps, and predicted for running ones (spec/nas 3.8).
func (t *estimates) outputIn(j *job, r topology.RackID) (here, all float64) {
	est := t.of(j)
	_, out := j.MapBytes()
	here, all = float64(j.InRack(r).MapOutput), float64(out)+est.ratio*est.running
	if int(r) < len(est.racks) {
		here += est.ratio * est.racks[r]
	}
	return here, all
}

// portion is MapOutputPortion(r); 0 while no output is known anywhere.
func (t *estimates) portion(j *job, r topology.RackID) float64 {
	here, all := t.outputIn(j, r)
	if all <= 0 {
		return 0
	}
	return here / all
}

// sums returns shuffle bytes and maps of all unfinished jobs, for (spec/nas 3.3).
func (t *estimates) sums() (shuffle, maps float64) {
	for i := range t.all {
		if est := &t.all[i]; est.live {
			shuffle += est.shuffle
			maps += est.maps
		}
	}
	return shuffle, maps
}

// bounds returns S_min and S_max over the unfinished jobs with reduces (spec/nas 3.7).
func (t *estimates) bounds() (sMin, sMax float64) {
	if !t.dirty {
		return t.sMin, t.sMax
	}
	t.dirty, t.sMin, t.sMax = false, math.Inf(1), 0
	for i := range t.all {
		if est := &t.all[i]; est.live && est.counted {
			t.sMin, t.sMax = min(t.sMin, est.shuffle), max(t.sMax, est.shuffle)
		}
	}
	return t.sMin, t.sMax
}

// class returns the class of j by its present estimate.
func (t *estimates) class(est *estimate) Class { return t.cfg.Classes.Of(est.shuffle) }

// moved updates the bounds when one job's shuffle changes from a to b. Only if the job was at a bound must all jobs be
// examined again.
func (t *estimates) moved(a float64, wasCounted bool, b float64, isCounted bool) {
	if t.dirty || wasCounted == isCounted && a == b {
		return
	}
	if wasCounted && (a <= t.sMin || a >= t.sMax) {
		t.dirty = true
		return
	}
	if isCounted {
		t.sMin, t.sMax = min(t.sMin, b), max(t.sMax, b)
	}
}
