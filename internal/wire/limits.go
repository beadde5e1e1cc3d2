package wire

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// What tasks, workers and users send is kept in journals and histories, sent to others and shown to users. These are
// the limits in bytes. They are checked on arrival, before anything is kept.
const (
	MaxText   = 16 << 10 // an error, with its stack
	MaxReason = 1 << 10  // a text about one record, fetch or node
	MaxPath   = 4 << 10
	MaxName   = 255 // a job, a user, a queue, a node
)

// Clip makes a text valid UTF-8. Of a text of more than most bytes it keeps the beginning and the end.
func Clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= most {
		return s
	}
	const gap = "\n...\n"
	half := max(0, (most-len(gap))/2)
	return strings.ToValidUTF8(s[:half]+gap+s[len(s)-half:], "") // without the runes that were cut
}

// Bounded makes an end that was reported by others fit to be kept. It cuts texts and sets impossible numbers to 0.
// If the counters exceed the limits, the attempt has failed for good.
func (e *Ended) Bounded() {
	e.Error = Clip(e.Error, MaxText)
	e.Millis = min(max(e.Millis, 0), math.MaxInt32)
	e.InBytes, e.OutBytes, e.Skipped = max(e.InBytes, 0), max(e.OutBytes, 0), min(max(e.Skipped, 0), math.MaxInt32)
	e.Bad = e.Bad[:min(len(e.Bad), MaxBad)]
	for i := range e.Bad {
		b := &e.Bad[i]
		b.File, b.Reason = Clip(b.File, MaxPath), Clip(b.Reason, MaxReason)
	}
	if err := e.Counts.Check(); err != nil {
		*e = Ended{ID: e.ID, Final: true, Millis: e.Millis, Error: fmt.Sprintf("counters: %v", err)}
	}
}

// Check refuses a report whose sender cannot be accepted, and cuts what it says about itself.
func (r *Report) Check() error {
	for what, s := range map[string]string{
		"name": string(r.Node), "rack": r.Rack, "class": r.Machine, "session": r.Session, "address": r.Addr, "isolation": r.Isolation, "platform": r.Platform,
	} {
		if len(s) > MaxName {
			return Errorf(Invalid, "a worker reports a %s of %d bytes: at most %d", what, len(s), MaxName)
		}
	}
	if r.Node == "" {
		return Errorf(Invalid, "a report of a worker without a name")
	}
	c := r.Capacity
	if least, most := min(c.MapSlots, c.ReduceSlots, c.Containers, c.VCores), max(c.MapSlots, c.ReduceSlots, c.Containers, c.VCores); least < 0 || c.MemoryMB < 0 || most > maxAttempts {
		return Errorf(Invalid, "worker %q reports a capacity of %s", r.Node, c)
	}
	if !(r.Speed >= 0 && r.Speed <= 1) {
		return Errorf(Invalid, "worker %q reports a speed of %g: at most 1", r.Node, r.Speed)
	}
	r.Sick = Clip(r.Sick, MaxReason)
	r.Lacks = r.Lacks[:min(len(r.Lacks), maxLacks)]
	for i := range r.Lacks {
		r.Lacks[i] = Clip(r.Lacks[i], MaxName)
	}
	return nil
}

// maxLacks is how many interpreters a worker may say it lacks.
const maxLacks = 16

// maxAttempts is how many attempts of a kind one worker may have room for.
const maxAttempts = 1 << 20

// Of reports whether an attempt may say b: a reduce, of maps of its stage.
func (b *BadFetch) Of(id AttemptID) bool {
	return b.By == id && id.Kind == ReduceTask && b.Map.Kind == MapTask && b.Map.Job == id.Job && b.Map.Stage == id.Stage
}

// Bounded cuts the texts of a complaint.
func (b *BadFetch) Bounded() { b.Why, b.Addr = Clip(b.Why, MaxReason), Clip(b.Addr, MaxName) }

// Ran returns how long an attempt has run, according to its worker.
func (p *Progress) Ran() time.Duration {
	return time.Duration(min(max(p.Millis, 0), math.MaxInt32)) * time.Millisecond
}

// Bounded limits progress to 0 to 1.
func Bounded(done float64) float64 {
	if !(done > 0) { // also if it is NaN
		return 0
	}
	return min(done, 1)
}
