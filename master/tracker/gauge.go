package tracker

import (
	"cmp"
	"strings"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// gauge tells the policies, once in a heartbeat, how idle the cluster is and how far its jobs have come.
func (c *Tracker) gauge(now time.Duration) {
	if now < c.gaugeAt {
		return
	}
	c.gaugeAt = now + c.cfg.Heartbeat
	if idle, ok := c.idle(); ok {
		c.feed(now, scheduler.CPUSample(topology.NoNode, idle))
	}
	c.planAgain(now)
	c.tellLacks(now)
	for _, st := range c.liveStages() {
		c.letGo(now, st)
		if p := st.percent(); p > 0 && p != st.gauged {
			st.gauged = p
			c.feed(now, scheduler.Progress(st.sid, p))
		}
	}
}

// Notes returns what the cluster lacks for the policies, and what they do meanwhile.
func (c *Tracker) Notes() []string { return c.engine.Notes() }

// lacks are those notes, as last seen and as last logged.
type lacks struct{ seen, told string }

// tellLacks logs the notes when they have changed and stayed so for a heartbeat: after a start workers come one by one.
func (c *Tracker) tellLacks(now time.Duration) {
	text := strings.Join(c.Notes(), "; ")
	if text == c.lacks.seen && text != c.lacks.told {
		c.lacks.told = text
		why := cmp.Or(text, "nothing is amiss for the policies any more")
		c.decided(wire.Decision{At: int64(now), Do: "note", Why: why})
		c.out.Notes = append(c.out.Notes, why)
	}
	c.lacks.seen = text
}

// idle returns the mean idle share of the processors of the workers that are up.
func (c *Tracker) idle() (percent float64, ok bool) {
	n := 0
	for _, w := range c.nodes {
		if w.up && w.idle >= 0 {
			percent += w.idle
			n++
		}
	}
	return percent / float64(max(n, 1)), n > 0
}

// percent returns how far a stage has come: 5 for its plan, 45 each for maps and reduces, and the last 5 for the
// commit, as YARN has it (spec/marp 2.2). Running attempts count by what they report. Without a plan it is 0.
func (st *stage) percent() float64 {
	if st.plan == nil {
		return 0
	}
	var share [2]float64
	for k := range share {
		share[k] = float64(st.doneCount[k])
	}
	for a := range st.running {
		// A second attempt adds only what it is ahead of the first; that is not worth a search.
		if a.id.Kind != wire.DriverTask && (!a.second || st.attempts(a.id) == 1) {
			share[kindIndex(a.id.Kind)] += a.done
		}
	}
	for k, n := range st.total {
		share[k] = min(share[k]/float64(max(n, 1)), 1)
	}
	switch {
	case st.total[0] == 0 && st.total[1] == 0:
		return 95
	case st.total[1] == 0:
		return 5 + 90*share[0]
	case st.total[0] == 0:
		return 5 + 90*share[1]
	}
	return 5 + 45*share[0] + 45*share[1]
}

// Figures returns the figures that the policies show, with jobs named as users know them.
func (c *Tracker) Figures(now time.Duration) (out []wire.Figure) {
	for _, f := range c.engine.Figures(now) {
		w := wire.Figure{Name: f.Name, Value: f.Value}
		if st := c.stages[f.Job]; st != nil {
			w.Job = st.job.id
		} else if f.Job != scheduler.NoJob {
			continue
		}
		out = append(out, w)
	}
	return out
}
