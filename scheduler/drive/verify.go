package drive

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// A Named is a policy by name, with its parameters.
type Named struct {
	Name   string
	Params map[string]string `json:",omitempty"`
}

// Announce logs which policy or admission policy is put in place; at the start, both. Call it before the change.
func (d *Loop) Announce(now time.Duration, policy, admission Named) {
	d.log(&Line{Kind: LinePolicies, At: now, Policy: policy, Admission: admission})
}

// A Maker makes the policies that a log names, and nil for an empty name.
type Maker func(policy, admission Named) (scheduler.Policy, scheduler.Admission, error)

// Verified counts what a log was found to hold.
type Verified struct{ Lines, Rounds, Decisions int }

// Verify reads a decision log and asks the policies that it names again. The error names the first line of the file
// that they decide otherwise.
func Verify(r io.Reader, name string, mk Maker) (v Verified, err error) {
	return Follow(r, name, mk, nil)
}

// Follow is Verify with a listener: hear, if set, is called with each line as the Loop logs it again, with the reasons
// that files lack.
func Follow(r io.Reader, name string, mk Maker, hear func(d *Loop, l *Line)) (v Verified, err error) {
	c := &verifier{make: mk, hear: hear}
	_, err = ReadLog(r, name, func(h *Header, n int, l *Line) error {
		if h.Lost > 0 {
			return fmt.Errorf("%s: %d lines before its first were forgotten: only a log from the start of a master can be replayed", name, h.Lost)
		}
		v.Lines++
		if l.Kind == LineRound {
			v.Rounds++
			v.Decisions += len(l.Steps)
		}
		if err := c.take(h, l); err != nil {
			return fmt.Errorf("%s:%d: at %v: %w", name, n, l.At, err)
		}
		return nil
	})
	return v, err
}

// verifier replays a log whose policies change.
type verifier struct {
	replay
	make Maker
	hear func(d *Loop, l *Line)
}

func (c *verifier) take(h *Header, l *Line) error {
	if l.Kind == LinePolicies {
		return c.policies(h, l)
	}
	if c.d == nil {
		return errors.New("the log does not begin with the names of policies")
	}
	return c.guarded(l)
}

// guarded applies a line that may be about something impossible: if it panics, the line is wrong.
func (c *verifier) guarded(l *Line) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the line makes no sense here: %v", r)
		}
	}()
	return c.replay.take(l)
}

func (c *verifier) policies(h *Header, l *Line) error {
	p, a, err := c.make(l.Policy, l.Admission)
	if err != nil {
		return err
	}
	if c.d == nil {
		if p == nil {
			return errors.New("the first line names no policy")
		}
		c.replay = replay{topo: topology.NewBuilder(), racks: map[string]topology.RackID{}}
		s, err := scheduler.NewState(c.topo.Topology(), h.State)
		if err != nil {
			return err
		}
		cfg := h.Config()
		cfg.Meter = c.meter
		if c.hear != nil {
			cfg.Log = func(l *Line) { c.hear(c.d, l) }
		}
		c.d = New(scheduler.NewEngine(s, p, a), cfg)
		return nil
	}
	if p != nil {
		c.d.SetPolicy(l.At, p)
	}
	if a != nil {
		c.d.SetAdmission(l.At, a)
	}
	return nil
}
