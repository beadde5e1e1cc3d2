package tracker

import (
	"encoding/json"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/drive"
	"github.com/millrace/millrace/topology"
)

// decisions remember what the policies decided lately, in words and line by line as a simulator replays it. Both are bounded:
// the oldest go first.
type decisions struct {
	said   []wire.Decision
	next   uint64 // number of the next
	lines  []drive.Line
	bytes  int64  // of lines, roughly
	before uint64 // lines that were forgotten
	held   map[scheduler.JobID]held
	looked time.Duration // when jobs awaiting admission were last checked
}

// held is the reason why a job last got nothing, and when it was logged.
type held struct {
	code scheduler.Code
	say  string
	at   time.Duration
}

const (
	maxOthers = 5
	// holdEvery is the shortest interval between two reasons logged for a job that gets nothing.
	holdEvery = time.Second
	// holdAfter is how long a job waits for admission before a reason is logged: a job that is admitted at the next
	// look is not held up.
	holdAfter = 100 * time.Millisecond
	// maxWaiting bounds the jobs waiting for admission for which a reason is logged.
	maxWaiting = 1000
)

// decided logs a decision in words.
func (c *Tracker) decided(d wire.Decision) {
	if c.cfg.KeepDecisions == 0 {
		return
	}
	d.Seq = c.log.next
	c.log.next++
	if c.log.said = append(c.log.said, d); len(c.log.said) > c.cfg.KeepDecisions*5/4 { // not one by one, which would copy all each time
		c.log.said = append([]wire.Decision(nil), c.log.said[len(c.log.said)-c.cfg.KeepDecisions:]...)
	}
}

// decide logs a step and returns why it was taken.
func (c *Tracker) decide(now time.Duration, st *stage, s *drive.Step) string {
	d := wire.Decision{At: int64(now), Do: s.Do.String(), Job: st.job.id, Stage: st.n, Second: s.Second, Why: wire.Clip(c.spell(s.Reason), wire.MaxText)}
	if s.Do == drive.Launch || s.Do == drive.Stop || s.Do == drive.Forget {
		d.Task, d.Index = wireKind[s.Task.Kind], s.Task.Index
	}
	if s.Node != topology.NoNode {
		d.Node = c.nodes[s.Node].name
	}
	if s.Do == drive.Launch && s.Task.Kind != scheduler.Driver {
		d.Others, d.More = c.others(s.Task)
	}
	c.decided(d)
	return d.Why
}

// others returns other jobs with a waiting task of that kind; more counts those left out.
func (c *Tracker) others(t scheduler.TaskID) (out []wire.JobID, more int) {
	wait := c.engine.View().Runnable(t.Kind)
	for i := 0; i < wait.Len() && len(out) < maxOthers; i++ {
		if st := c.stages[wait.At(i).ID()]; st != nil && st.sid != t.Job {
			out = append(out, st.job.id)
		}
	}
	if j := c.engine.View().Job(t.Job); j != nil && j.Runnable(t.Kind) {
		more--
	}
	return out, max(0, wait.Len()+more-len(out))
}

// hear adds a line to the log.
func (c *Tracker) hear(l *drive.Line) {
	if c.cfg.Decisions != nil {
		c.cfg.Decisions(l)
	}
	kept := *l
	kept.Steps = nil // the steps that are not a rest follow
	kept = kept.Clone()
	for _, s := range l.Steps {
		if s.Do != drive.Rest {
			kept.Steps = append(kept.Steps, s)
		} else if s.Node == topology.NoNode {
			c.holdWaiting(l.At) // admission's own reason is about the first job only
		} else if st := c.stages[s.Reason.Job]; st != nil && s.Reason.Code != scheduler.Chosen {
			c.hold(l.At, st, s.Reason)
		}
	}
	c.log.lines = append(c.log.lines, kept)
	c.log.bytes += sizeOfLine(&kept)
	for c.log.bytes > c.cfg.KeepLines && len(c.log.lines) > 0 {
		n := len(c.log.lines)/8 + 1
		for i := range n {
			c.log.bytes -= sizeOfLine(&c.log.lines[i])
		}
		if c.cfg.Spill != nil {
			c.cfg.Spill(Page{Lines: c.log.lines[:n:n], First: c.log.before})
		}
		c.log.lines = append([]drive.Line(nil), c.log.lines[n:]...)
		c.log.before += uint64(n)
	}
}

// sizeOfLine returns roughly how many bytes a line takes.
func sizeOfLine(l *drive.Line) int64 {
	n := int64(500 + 100*len(l.Steps) + 40*len(l.Asked) + 8*len(l.Round.Nodes) + 400*len(l.Expected) + 100*len(l.Plans))
	for _, v := range l.Policy.Params {
		n += int64(len(v)) // a script
	}
	if s := l.Event.Spec; s != nil {
		n += int64(300 + 12*s.Splits.Len() + 4*len(s.Splits.Replicas))
	}
	return n
}

// holdWaiting logs why jobs wait for admission. It looks at the first maxWaiting once in holdAfter, since rounds may
// come ten thousand times a second. It asks once in holdEvery for each job: the answer may take a walk over all that
// wait.
func (c *Tracker) holdWaiting(now time.Duration) {
	if now-c.log.looked < holdAfter {
		return
	}
	c.log.looked = now
	waiting := c.engine.View().Waiting()
	for i := range min(waiting.Len(), maxWaiting) {
		st := c.stages[waiting.At(i).ID()]
		if st == nil || now-st.job.submitted < holdAfter || c.toldLately(now, st) {
			continue
		}
		why := c.engine.Explain(now, st.sid)
		c.hold(now, st, why)
		c.log.held[st.sid] = held{why.Code, why.Say, now}
	}
}

// toldLately reports whether a reason for this job was logged within the last holdEvery.
func (c *Tracker) toldLately(now time.Duration, st *stage) bool {
	was, told := c.log.held[st.sid]
	return told && now-was.at < holdEvery
}

// hold logs why a job gets nothing, if the reason has changed.
func (c *Tracker) hold(now time.Duration, st *stage, why scheduler.Reason) {
	was, told := c.log.held[st.sid]
	if told && was.code == why.Code && was.say == why.Say || c.toldLately(now, st) {
		return
	}
	if c.log.held == nil {
		c.log.held = map[scheduler.JobID]held{}
	}
	c.log.held[st.sid] = held{why.Code, why.Say, now}
	d := wire.Decision{At: int64(now), Do: "hold", Job: st.job.id, Stage: st.n, Why: wire.Clip(c.spell(why), wire.MaxText)}
	c.decided(d)
	c.tell(now, wire.PastHeld, wire.AttemptID{Job: st.job.id, Stage: st.n}, nil, d.Why)
}

// Announce logs which policy or admission policy is put in place; at the start, both.
func (c *Tracker) Announce(now time.Duration, policy, admission wire.Choice) {
	c.engine.Announce(now, drive.Named(policy), drive.Named(admission))
	for _, p := range []wire.Choice{policy, admission} {
		if p.Name != "" {
			c.decided(wire.Decision{At: int64(now), Do: "policy", Why: p.String() + " is in place"})
		}
	}
}

// DecisionsFrom returns decisions in words.
func (c *Tracker) DecisionsFrom(r wire.DecisionsRequest) (out wire.Decisions) {
	limit := min(max(r.Limit, 0), 10_000)
	if limit == 0 {
		limit = 1_000
	}
	first := c.log.next - uint64(len(c.log.said))
	out.Decisions, out.Next = []wire.Decision{}, max(r.From, first)
	if r.From < first {
		out.Lost = first - r.From
	}
	for ; out.Next < c.log.next && len(out.Decisions) < limit; out.Next++ {
		if d := c.log.said[out.Next-first]; r.Job == "" || d.Job == r.Job {
			out.Decisions = append(out.Decisions, d)
		}
	}
	return out
}

// A Page is some lines of the log. Callers must not change them.
type Page struct {
	Header drive.Header // Lost counts from where the page was asked for
	Lines  []drive.Line
	First  uint64 // number of the first line
	More   bool
}

// Lines returns lines of the log, starting at a number or at the oldest that is remembered.
func (c *Tracker) Lines(from uint64) Page {
	const page = 5_000
	p := Page{First: max(from, c.log.before), Header: drive.HeaderOf(c.cfg.Scheduler, c.cfg.drive(nil, nil))}
	p.Header.Lost = p.First - from
	rest := c.log.lines[min(p.First-c.log.before, uint64(len(c.log.lines))):]
	p.Lines, p.More = rest[:min(len(rest), page):min(len(rest), page)], len(rest) > page
	return p
}

// maxPage bounds the bytes of a page, unless its only line is longer.
const maxPage = 2 << 20

// Encode returns as much of the page as fits, in the form of a log file.
func (p *Page) Encode() (out wire.DecisionLines, err error) {
	out.Next, out.More, out.Lines = p.First, p.More, []json.RawMessage{}
	if out.Header, err = json.Marshal(p.Header); err != nil {
		return out, err
	}
	bytes := 0
	for i := range p.Lines {
		b, err := drive.Encode(&p.Lines[i])
		if err != nil {
			return out, err
		}
		if bytes += len(b); bytes > maxPage && i > 0 {
			out.More = true
			break
		}
		out.Lines = append(out.Lines, b)
		out.Next++
	}
	return out, nil
}
