package nas

import (
	"math"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

type (
	job  = scheduler.Job
	view = scheduler.View
)

// An estimate is what the predictor knows of one job (spec/nas 3.1).
type estimate struct {
	live      bool
	known     bool // the spec of a ready job was read
	predicted bool // ratio is more than a guess
	uniform   bool // all splits have the same size
	even      bool // as uniform, but for a smaller last split
	assumed   bool // input unknown: each map counts as Config.Block
	reduces   bool
	counted   bool  // in sMin and sMax
	delayed   int32 // pending reduces that carry the tag (spec/nas 3.9)

	ratio    float64 // output per input byte
	sum      float64 // of the ratios of finished maps
	samples  int32
	maps     float64
	input    float64 // bytes of all splits
	smallest float64 // bytes of the smallest split
	largest  float64
	shuffle  float64 // ShuffleSize: predicted bytes of all map output

	running float64   // input bytes of running maps
	racks   []float64 // by rack: the same
	sizes   bySize
}

// flat reports whether all maps of the job are predicted to write the same:
// nothing.
func (e *estimate) flat() bool { return !e.reduces || e.ratio == 0 }

// estimates is the predictor: a table by job slot, and the ratios of finished
// recurring jobs by name.
type estimates struct {
	cfg     *Config
	all     []estimate
	history map[string]float64
	dirty   bool    // sMin and sMax may be wrong
	sMin    float64 // over unfinished jobs with reduces
	sMax    float64
}

func (t *estimates) of(j *job) *estimate { return &t.all[j.Slot()] }

// observe updates the table. It reports whether a job came or went.
func (t *estimates) observe(e scheduler.Event, v *view) (changed bool) {
	if l := e.Lesson; e.Kind == scheduler.EvTaught && l.Recurring && l.Name != "" && l.Samples > 0 {
		t.history[l.Name] = l.Ratio
	}
	j := v.Job(e.Job)
	if j == nil {
		return false
	}
	for len(t.all) <= j.Slot() {
		t.all = append(t.all, estimate{})
	}
	est := t.of(j)
	switch {
	case e.Kind == scheduler.EvJobSubmitted:
		*est = estimate{live: true}
		t.submit(j, est)
		changed = true
	case j.Phase() == scheduler.Ended:
		t.remember(j, est)
		*est = estimate{}
		changed, t.dirty = true, true
	case e.Task.Kind == scheduler.Map:
		t.observeMap(e, j, est, v)
	}
	if !est.known && j.Phase() == scheduler.Ready {
		est.known = true
		t.read(j, est)
		t.foresee(j, est)
		changed = true
	}
	return changed
}

// submit adds a new job.
func (t *estimates) submit(j *job, est *estimate) {
	est.known = j.Phase() == scheduler.Ready
	t.read(j, est)
	t.foresee(j, est)
}

// foresee sets the first ratio: as declared, as in an earlier run, or 1 (spec/nas 3.1,
// item 1). A driver may say only later how much there is to read.
func (t *estimates) foresee(j *job, est *estimate) {
	s := j.Spec()
	est.ratio = 1
	old, seen := t.history[s.Name]
	switch {
	case s.Shuffle.Known && est.input > 0 && (t.cfg.Sizes == "all" || t.cfg.Sizes == "recurring" && s.Recurring):
		est.ratio, est.predicted = float64(s.Shuffle.Bytes)/est.input, true
	case seen && s.Recurring && s.Name != "":
		est.ratio, est.predicted = old, true
	}
	if in, out := j.MapBytes(); in > 0 { // shown late: its finished maps are samples
		est.samples = j.Done(scheduler.Map)
		est.ratio, est.predicted = float64(out)/float64(in), true
		est.sum = est.ratio * float64(est.samples)
	}
	t.resize(j, est)
}

func (t *estimates) remember(j *job, est *estimate) {
	if s := j.Spec(); s.Recurring && s.Name != "" && est.samples > 0 {
		t.history[s.Name] = est.ratio
	}
}

// read reads sizes from the spec.
func (t *estimates) read(j *job, est *estimate) {
	s := j.Spec()
	est.maps, est.reduces, est.uniform, est.even = float64(s.Maps), s.Reduces > 0, true, false
	est.input, est.smallest, est.largest, est.assumed = 0, 0, 0, false
	if s.Maps == 0 {
		return
	}
	if s.Splits.Len() == 0 {
		each := float64(t.cfg.Block)
		if est.assumed = !s.Input.Known; !est.assumed {
			each = float64(s.Input.Bytes / int64(s.Maps))
		}
		est.input, est.smallest, est.largest = each*est.maps, each, each
		t.resize(j, est)
		return
	}
	est.smallest = math.Inf(1)
	for _, b := range s.Splits.Bytes {
		est.input += float64(b)
		est.smallest, est.largest = min(est.smallest, float64(b)), max(est.largest, float64(b))
		est.uniform = est.uniform && b == s.Splits.Bytes[0]
	}
	est.sizes, est.even = bySize{}, isEven(s.Splits.Bytes)
	switch {
	case est.uniform || j.Phase() != scheduler.Ready:
	case est.even:
		est.sizes.small = s.Maps
	default:
		est.sizes = newBySize(s.Splits.Bytes)
	}
	t.resize(j, est)
}

// isEven reports whether splits are those of one cut file: equal ones, and a smaller one at the end.
func isEven(bytes []int64) bool {
	last := len(bytes) - 1
	return last > 0 && bytes[last] < bytes[0] && !slices.ContainsFunc(bytes[:last], func(b int64) bool { return b != bytes[0] })
}

// bytes returns the input of map i. It reads the spec, which is rarely in the cache, only if sizes differ.
func (t *estimates) bytes(j *job, est *estimate, i int32) float64 {
	switch {
	case est.uniform:
		return est.smallest
	case est.even && int(i) < j.Spec().Splits.Len()-1:
		return est.largest
	case est.even:
		return est.smallest
	}
	return float64(j.SplitBytes(i))
}

// sample adds the ratio of a finished map. An empty input says nothing (spec/nas 3.1).
func (e *estimate) sample(ev scheduler.Event) {
	in := float64(ev.InBytes)
	if e.assumed {
		in = e.smallest
	}
	if in > 0 {
		e.samples++
		e.sum += float64(ev.OutBytes) / in
		e.ratio, e.predicted = e.sum/float64(e.samples), true
	}
}

// observeMap follows one map task of j.
func (t *estimates) observeMap(e scheduler.Event, j *job, est *estimate, v *view) {
	switch e.Kind {
	case scheduler.EvLaunched:
		t.run(j, est, e.Task.Index, v.RackOf(e.Node), 1)
		return
	case scheduler.EvTaskFinished:
		t.run(j, est, e.Task.Index, v.RackOf(e.Node), -1)
		est.sample(e)
	case scheduler.EvRestored:
		est.sample(e)
	case scheduler.EvTaskFailed, scheduler.EvTaskKilled:
		t.run(j, est, e.Task.Index, v.RackOf(e.Node), -1)
		est.sizes.back(j, e.Task.Index)
		return
	case scheduler.EvTaskLost:
		est.sizes.back(j, e.Task.Index)
	default:
		return
	}
	t.resize(j, est)
}

// run records that a map starts or stops running in rack r.
func (t *estimates) run(j *job, est *estimate, i int32, r topology.RackID, sign float64) {
	if r < 0 {
		return
	}
	for len(est.racks) <= int(r) {
		est.racks = append(est.racks, 0)
	}
	b := sign * t.bytes(j, est, i)
	est.racks[r] += b
	est.running += b
}

// resize computes ShuffleSize: what finished maps wrote, and the prediction for
// the others; 0 for a job without reduces (spec/nas 3.1, item 4).
func (t *estimates) resize(j *job, est *estimate) {
	before, counted := est.shuffle, est.counted
	est.shuffle, est.counted = 0, est.reduces
	if est.reduces {
		in, out := j.MapBytes()
		read := float64(in)
		if est.assumed {
			read = est.smallest * float64(j.Done(scheduler.Map))
		}
		est.shuffle = float64(out) + est.ratio*max(est.input-read, 0)
	}
	t.moved(before, counted, est.shuffle, est.counted)
}
