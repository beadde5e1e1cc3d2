package trace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// MaxBuilt is how many jobs and attempts a [Builder] accepts by default: each costs about 300 bytes.
const MaxBuilt = 5_000_000

// A Builder makes a history from the log of another system: in any order, with times from any origin, with tasks that
// have names instead of numbers.
type Builder struct {
	Most int // jobs, and attempts; 0 means MaxBuilt
	// Left counts what was left out, by the reason.
	Left     map[string]int
	jobs     map[string]*builtJob
	order    []*builtJob
	attempts int
}

type builtJob struct {
	PastJob
	tasks map[taskName][]PastAttempt
	order []taskName
}

type taskName struct{ kind, name string }

// Unknown is the submit time of a job whose attempts alone tell when it came.
const Unknown = time.Duration(-1)

// MaxStamp bounds times in logs, whatever their origin: the year 2100 since 1970.
const MaxStamp = 4_102_444_800 * time.Second

// Job returns the job with an id, to be filled in. A job that is new has no submit time yet.
func (b *Builder) Job(id string) (*PastJob, error) {
	if j := b.jobs[id]; j != nil {
		return &j.PastJob, nil
	}
	switch {
	case id == "":
		return nil, errors.New("the job has no id")
	case len(id) > maxName:
		return nil, fmt.Errorf("the id of a job is longer than %d bytes", maxName)
	case len(b.order) >= b.most():
		return nil, fmt.Errorf("more than %d jobs; cut the file into smaller ones", b.most())
	}
	if b.jobs == nil {
		b.jobs = map[string]*builtJob{}
	}
	j := &builtJob{PastJob: PastJob{ID: id, Submit: Unknown}, tasks: map[taskName][]PastAttempt{}}
	b.jobs[id], b.order = j, append(b.order, j)
	return &j.PastJob, nil
}

func (b *Builder) most() int { return cmp.Or(b.Most, MaxBuilt) }

// maxName bounds names of jobs, tasks and machines.
const maxName = 4096

// Leave counts something that is left out, by the reason.
func (b *Builder) Leave(reason string) {
	if b.Left == nil {
		b.Left = map[string]int{}
	}
	b.Left[reason]++
}

// Attempt adds an attempt of a task. Its job must exist; index, job and whether it was lost follow from the rest.
func (b *Builder) Attempt(job, task string, a PastAttempt) error {
	j := b.jobs[job]
	switch {
	case j == nil:
		return fmt.Errorf("an attempt belongs to job %q, of which nothing was said before", job)
	case len(task) > maxName || len(a.Node) > maxName:
		return fmt.Errorf("a name is longer than %d bytes", maxName)
	case a.Start < 0 || a.End < a.Start || a.End > MaxStamp:
		return fmt.Errorf("job %q, task %q: from %v to %v is no time", job, task, a.Start, a.End)
	case b.attempts >= b.most():
		return fmt.Errorf("more than %d attempts; cut the file into smaller ones", b.most())
	}
	b.attempts++
	a.Job = j.ID
	key := taskName{a.Kind, task}
	if j.tasks[key] == nil {
		j.order = append(j.order, key)
	}
	j.tasks[key] = append(j.tasks[key], a)
	return nil
}

// History returns all that was added. Times begin with the first submission. The attempt of a task that ended last
// counts as the one that gave its result.
func (b *Builder) History(source string) (*History, error) {
	h := &History{Origin: Origin{Source: source}}
	for _, j := range b.order {
		if len(j.tasks) == 0 && j.InputBytes == 0 && j.ShuffleBytes == 0 && j.OutputBytes == 0 {
			b.Leave("a job without a task that ended, and without bytes")
			continue
		}
		h.Attempts = append(h.Attempts, j.number()...)
		h.Jobs = append(h.Jobs, j.PastJob)
	}
	if len(h.Jobs) == 0 {
		return nil, errors.New("it has no job that ran")
	}
	h.shift(-slices.MinFunc(h.Jobs, func(a, b PastJob) int { return cmp.Compare(a.Submit, b.Submit) }).Submit)
	if err := h.validate(); err != nil {
		return nil, err
	}
	h.sort()
	return h, nil
}

// number gives tasks their index and returns all attempts. It infers from them what the job did not say.
func (j *builtJob) number() []PastAttempt {
	var out []PastAttempt
	first, last := time.Duration(-1), j.End
	count := map[string]*int32{"map": &j.Maps, "reduce": &j.Reduces}
	if len(j.tasks) > 0 {
		j.Maps, j.Reduces = 0, 0
	}
	for _, key := range j.order {
		tries := j.tasks[key]
		slices.SortStableFunc(tries, func(a, b PastAttempt) int { return cmp.Compare(a.End, b.End) })
		n := count[key.kind]
		if n == nil {
			n = new(int32) // neither kind: validate refuses it
		}
		for i, a := range tries {
			a.Index, a.Lost = *n, i < len(tries)-1
			out = append(out, a)
			if first < 0 || a.Start < first {
				first = a.Start
			}
			last = max(last, a.End)
		}
		*n++
	}
	if j.Submit == Unknown {
		j.Submit = max(0, first)
	}
	if first >= 0 {
		j.Start, j.End, j.State = max(first, j.Submit), last, cmp.Or(j.State, JobDone)
		j.Submit = min(j.Submit, first) // clocks of several machines differ
	}
	return out
}

// shift moves all times that are there.
func (h *History) shift(by time.Duration) {
	for i := range h.Jobs {
		j := &h.Jobs[i]
		j.Submit += by
		for _, t := range []*time.Duration{&j.Admitted, &j.Start, &j.End, &j.Deadline} {
			if *t != 0 {
				*t = max(0, *t+by)
			}
		}
	}
	for i := range h.Attempts {
		h.Attempts[i].Start += by
		h.Attempts[i].End += by
	}
}

// validate checks a history that was made here.
func (h *History) validate() error {
	for i := range h.Jobs {
		if err := h.Jobs[i].validate(); err != nil {
			return err
		}
	}
	for i := range h.Attempts {
		if err := h.Attempts[i].validate(); err != nil {
			return err
		}
	}
	return nil
}
