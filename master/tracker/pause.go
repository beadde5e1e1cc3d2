package tracker

import "time"

// Pause stops the start of attempts and the admission of jobs, because the master lacks something that they need, such as
// room on its disk: why says what. What runs goes on. What fails meanwhile does not count against its job, unless it
// would fail again in any case. An empty why ends the pause.
func (c *Tracker) Pause(now time.Duration, why string) {
	if c.pause == why {
		return
	}
	begins, ends := c.pause == "", why == ""
	c.pause = why
	switch {
	case begins:
		c.out.Notes = append(c.out.Notes, "no job is taken and nothing is started: "+why)
	case ends:
		c.out.Notes = append(c.out.Notes, "jobs go on")
		c.admit(now)
		c.offerAll(now)
	}
}

// spared lets an attempt that failed during a pause run again, and reports whether it did.
func (c *Tracker) spared(now time.Duration, a *attempt, why string) bool {
	if c.pause != "" {
		c.lost(now, a, why)
		c.changed(a.st.job)
	}
	return c.pause != ""
}
