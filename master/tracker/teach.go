package tracker

import (
	"cmp"
	"slices"
	"time"

	"github.com/millrace/millrace/scheduler"
)

// lessonOf returns what a stage that succeeds teaches the policies.
func (c *Tracker) lessonOf(st *stage) *scheduler.Lesson {
	if j := c.engine.View().Job(st.sid); j != nil {
		return j.Lesson()
	}
	return nil
}

// lessons returns those of all remembered stages, in the order in which they were learnt.
func (c *Tracker) lessons() []*scheduler.Lesson {
	type lesson struct {
		at time.Duration
		of *scheduler.Lesson
	}
	var all []lesson
	for _, j := range c.jobs {
		for _, st := range j.stages {
			if st.lesson != nil {
				all = append(all, lesson{st.doneAt, st.lesson})
			}
		}
	}
	slices.SortFunc(all, func(a, b lesson) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.of.Name, b.of.Name)) })
	out := make([]*scheduler.Lesson, len(all))
	for i := range all {
		out[i] = all[i].of
	}
	return out
}

// teach tells new policies what earlier jobs have taught.
func (c *Tracker) teach(now time.Duration) {
	for _, l := range c.lessons() {
		c.feed(now, scheduler.Taught(l))
	}
}
