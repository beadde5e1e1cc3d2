package scheduler

import "time"

// A Lesson is what a successful job teaches policies that learn: all they may keep of it. The driver of an engine keeps
// lessons over a restart and feeds them again, in order, with Taught.
type Lesson struct {
	Name       string        `json:"name,omitempty"`
	User       string        `json:"user,omitempty"`
	Recurring  bool          `json:"recurring,omitempty"`
	Maps       int32         `json:"maps,omitempty"`
	Reduces    int32         `json:"reduces,omitempty"`
	Input      int64         `json:"input,omitempty"`       // bytes, as the job was described; 0: unknown
	Work       time.Duration `json:"work,omitempty"`        // of all its tasks, as the job was described; 0: unknown
	Shuffle    int64         `json:"shuffle,omitempty"`     // bytes that its maps made
	MapTime    time.Duration `json:"map_time,omitempty"`    // of all maps together
	ReduceTime time.Duration `json:"reduce_time,omitempty"` // of all reduces
	ReduceWork time.Duration `json:"reduce_work,omitempty"` // without the time they waited for the last map
	Ratio      float64       `json:"ratio,omitempty"`       // mean of output over input of its maps
	Samples    int32         `json:"samples,omitempty"`     // maps in that mean
}

// Lesson returns what the job teaches, so far.
func (j *Job) Lesson() *Lesson {
	s := j.spec
	l := &Lesson{
		Name: s.Name, User: j.user.name, Recurring: s.Recurring, Maps: s.Maps, Reduces: s.Reduces, Shuffle: j.sum.out,
		MapTime: j.tasks[Map].sum, ReduceTime: j.tasks[Reduce].sum, ReduceWork: j.tasks[Reduce].work, Input: s.InputBytes(), Work: s.Work,
	}
	for _, m := range j.moved {
		if m.in > 0 {
			l.Samples++
			l.Ratio += float64(m.out) / float64(m.in)
		}
	}
	l.Ratio /= float64(max(l.Samples, 1))
	return l
}

// InputBytes returns the size of the job's input, as declared or as the sum of its splits; 0 means unknown.
func (s *JobSpec) InputBytes() (bytes int64) {
	if s.Input.Known {
		return s.Input.Bytes
	}
	for _, b := range s.Splits.Bytes {
		bytes += b
	}
	return bytes
}

// Taught tells policies what a job taught that ended before they were put in place.
func Taught(l *Lesson) Event {
	e := jobEvent(EvTaught, NoJob)
	e.Lesson = l
	return e
}
