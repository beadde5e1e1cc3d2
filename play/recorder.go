package play

import (
	"encoding/binary"
	"strconv"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// The limits of a recording. Of more decisions every second, fourth or further one is kept, and all that stop or refuse
// something. Attempts beyond the limit end the recording of attempts.
const (
	MaxDecisions = 40_000
	maxAttempts  = 1_200_000
	maxSamples   = 400_000
	maxMarks     = 2_000
	maxOthers    = 5
	maxFigures   = 50_000
)

// A Recorder listens to a driver. One goroutine uses it.
type Recorder struct {
	rec     Recording
	jobs    map[scheduler.JobID]int32
	names   map[string]int    // of jobs: the last number used for a name
	ids     []scheduler.JobID // by place
	came    []time.Duration   // likewise
	nodes   []node
	texts   map[string]int32
	said    map[scheduler.Reason]int32 // places of sentences, by their reasons
	again   [maxAgain]said             // the last ones looked up in said
	others  map[string]int32
	pairs   []int32 // scratch for the list under construction, as is key
	key     []byte
	figures map[string]float64
	last    struct{ attempt, net int64 } // times
	thin    thinning

	expected int // attempts

	made      []*made // by job, while it runs
	congested map[topology.RackID]bool
	done      scheduler.TaskID // the task that finished last
	kills     kills
}

// A said is a reason with the place of its sentence.
type said struct {
	why  scheduler.Reason
	text int32
}

// A node has what runs on a machine, by place. A machine has few places, so a search here is cheaper than a map of all
// attempts.
type node []running

type running struct {
	task    scheduler.TaskID
	attempt int32 // -1: the place is free
}

// NewRecorder returns a recorder of a run. name is what the page calls the run.
func NewRecorder(name, admission string) *Recorder {
	return &Recorder{
		rec:  Recording{Name: name, Admission: admission, Marks: []Mark{}, Texts: []string{}, Others: [][]int32{}, Listed: maxOthers},
		jobs: map[scheduler.JobID]int32{}, names: map[string]int{}, texts: map[string]int32{}, said: map[scheduler.Reason]int32{}, others: map[string]int32{}, figures: map[string]float64{},
		congested: map[topology.RackID]bool{},
	}
}

// Hear adds a line of the decision log of a driver, right after it was written.
func (r *Recorder) Hear(d *drive.Loop, l *drive.Line) {
	at := l.At.Milliseconds()
	r.rec.End = max(r.rec.End, at)
	switch l.Kind {
	case drive.LineEvent:
		r.event(d.View(), l.At, &l.Event)
	case drive.LineRound:
		r.round(d, l)
	}
}

// Recording returns what was recorded. The recorder must not be used afterwards.
func (r *Recorder) Recording() *Recording {
	r.closeAll(r.rec.End, Running, func(topology.NodeID, scheduler.TaskID) bool { return true })
	r.finish()
	return &r.rec
}

// round records what a round decided.
func (r *Recorder) round(d *drive.Loop, l *drive.Line) {
	at, who := l.At.Milliseconds(), int32(-2) // not asked yet
	for i := range l.Steps {
		s := &l.Steps[i]
		if s.Do == drive.Rest {
			continue
		}
		attempt := r.step(d.View(), at, s)
		if !r.keeps(s.Do) {
			continue
		}
		if who == -2 {
			who = r.waiting(d, l.At)
		}
		r.decision(d.View(), at, s, attempt, who)
	}
	if l.Round.Parts&drive.Tick != 0 || who != -2 {
		r.figure(d, l.At)
	}
}

func (r *Recorder) decision(v *scheduler.View, at int64, s *drive.Step, attempt, who int32) {
	c := &r.rec.Decisions
	c.At = append(c.At, at) // finish turns it into a difference
	c.Do = append(c.Do, uint8(s.Do))
	c.Job = append(c.Job, r.job(s.Task.Job))
	c.Attempt = append(c.Attempt, attempt)
	c.Text = append(c.Text, r.reason(v, s.Reason))
	c.Others = append(c.Others, who)
}

// step applies a decision to the recording, and returns the attempt that it is about.
func (r *Recorder) step(v *scheduler.View, at int64, s *drive.Step) int32 {
	switch s.Do {
	case drive.Launch:
		return r.start(v, at, s)
	case drive.Stop:
		i := r.end(at, s.Task, s.Node, Stopped)
		r.mark(at, "stop", r.nameOf(s.Task)+": "+r.say(v, s.Reason))
		return i
	case drive.Start:
		if j := r.job(s.Task.Job); j >= 0 {
			r.rec.Jobs[j].Admit = at
		}
	case drive.Reject:
		if j := r.job(s.Task.Job); j >= 0 {
			r.rec.Jobs[j].Failed, r.rec.Jobs[j].End = true, at
			r.rec.Jobs[j].Took = millis(time.Duration(at)*time.Millisecond - r.came[j])
		}
		r.mark(at, "reject", r.say(v, s.Reason))
	}
	return -1
}

// waiting returns the list of jobs that have something to run and got no place, with the reasons. All decisions of a
// round share it.
func (r *Recorder) waiting(d *drive.Loop, now time.Duration) int32 {
	v := d.View()
	r.pairs = r.pairs[:0]
	r.ask(d, now, v.Runnable(scheduler.Map))
	r.ask(d, now, v.Runnable(scheduler.Reduce))
	r.ask(d, now, v.Waiting())
	return r.list(r.pairs)
}

// ask adds jobs to the list under construction, each with why it waits.
func (r *Recorder) ask(d *drive.Loop, now time.Duration, jobs scheduler.Jobs) {
	for i := 0; i < jobs.Len() && len(r.pairs) < 2*maxOthers; i++ {
		id := jobs.At(i).ID()
		j := r.job(id)
		if j < 0 || has(r.pairs, j) {
			continue
		}
		r.pairs = append(r.pairs, j, r.reason(d.View(), d.Explain(now, id)))
	}
}

func has(pairs []int32, job int32) bool {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i] == job {
			return true
		}
	}
	return false
}

// figure records the policies' figures that have changed. It leaves out figures of single jobs.
func (r *Recorder) figure(d *drive.Loop, now time.Duration) {
	for _, f := range d.Figures(now) {
		if old, known := r.figures[f.Name]; f.Job == scheduler.NoJob && (!known || old != f.Value) && len(r.rec.Figures) < maxFigures {
			r.figures[f.Name] = f.Value
			r.rec.Figures = append(r.rec.Figures, Figure{now.Milliseconds(), f.Name, f.Value})
		}
	}
}

// maxSaid bounds the reasons that are remembered so that no sentence is made twice, and maxAgain those found without a
// map lookup.
const (
	maxSaid  = 50_000
	maxAgain = 1 << 12
)

// reason returns the place of the sentence of a reason. Most recur, and a comparison is cheaper than a map lookup.
func (r *Recorder) reason(v *scheduler.View, why scheduler.Reason) int32 {
	mixed := uint64(why.Job)<<40 + uint64(why.Other)<<20 + uint64(why.Node) + uint64(why.A)<<30 + uint64(why.B)<<10 + uint64(why.C) + uint64(why.Kind)<<50
	last := &r.again[mixed*0x9e3779b97f4a7c15>>52]
	if last.why.Say == "" || last.why != why {
		*last = said{why, r.looked(v, why)}
	}
	return last.text
}

// looked looks up the place of a sentence.
func (r *Recorder) looked(v *scheduler.View, why scheduler.Reason) int32 {
	i, known := r.said[why]
	if !known {
		if len(r.said) >= maxSaid {
			clear(r.said)
		}
		i = r.text(r.say(v, why))
		r.said[why] = i
	}
	return i
}

// say returns a reason as a sentence, with jobs by their names in the recording.
func (r *Recorder) say(v *scheduler.View, why scheduler.Reason) string {
	return why.TextWith(v, r.jobName)
}

// text returns the place of a sentence.
func (r *Recorder) text(s string) int32 {
	return place(r.texts, s, func() { r.rec.Texts = append(r.rec.Texts, s) })
}

// list returns the place of a list of waiting jobs.
func (r *Recorder) list(pairs []int32) int32 {
	r.key = r.key[:0]
	for _, n := range pairs {
		r.key = binary.LittleEndian.AppendUint32(r.key, uint32(n))
	}
	if i, known := r.others[string(r.key)]; known {
		return i
	}
	return place(r.others, string(r.key), func() { r.rec.Others = append(r.rec.Others, append([]int32{}, pairs...)) })
}

// place returns the index of a thing, and adds it if it is new.
func place(seen map[string]int32, s string, add func()) int32 {
	i, ok := seen[s]
	if !ok {
		i = int32(len(seen))
		seen[s] = i
		add()
	}
	return i
}

// job returns the place of a job, or -1. Most workloads number their jobs in order.
func (r *Recorder) job(id scheduler.JobID) int32 {
	if id >= 0 && int(id) < len(r.ids) && r.ids[id] == id {
		return int32(id)
	}
	if i, ok := r.jobs[id]; ok {
		return i
	}
	return -1
}

// Alone sets how long a job would take by itself, which its slowdown is relative to.
func (r *Recorder) Alone(id scheduler.JobID, d time.Duration) {
	if i := r.job(id); i >= 0 {
		r.rec.Jobs[i].Alone = max(1, millis(d))
	}
}

// millis returns a time in milliseconds, with nine digits: more would make the page larger but change no number on it.
func millis(d time.Duration) float64 {
	ms, _ := strconv.ParseFloat(strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'g', 9, 64), 64) // reads what was written
	return ms
}
