package tracker

import (
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestMadeInput: maps of some jobs make what they read, and count a few bytes of it. Under nas the master foresees of such a job
// what it said it would shuffle, before its first map and after: the few bytes are not its input.
func TestMadeInput(t *testing.T) {
	for name, expect := range map[string]wire.Expected{
		"nobody knows its input":            {Shuffle: 24e6},
		"its input was said":                {Shuffle: 24e6, Input: 48e6},
		"its input is of another magnitude": {Shuffle: 24e6, Input: 100},
	} {
		p, err := policies.Policy("nas", nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := New(DefaultConfig(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := &scene{t: t, c: c, n0: &hand{name: "n0", rack: "r0", room: 1}, n1: &hand{name: "n1", rack: "r1", room: 1}}
		c.Resume(0)
		for _, h := range []*hand{s.n0, s.n1} {
			h.restart()
			s.say(h)
		}
		if s.job, err = c.Submit(s.now, wire.JobSpec{Name: "j", User: "ann", Stages: 1, Recurring: true, Expect: expect, Program: wire.Program{Builtin: "synthetic"}}); err != nil {
			t.Fatal(err)
		}
		s.say(s.n0)
		if _, err := c.Plan(s.now, runningDriver(c, s.job), &wire.StagePlan{Splits: make([]wire.Split, 4), Reducers: 2}); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			s.say(s.n1)
			for _, id := range s.n1.mapsOf() {
				s.say(s.n1, wire.Ended{ID: id, OK: true, Millis: 5, InBytes: 16, OutBytes: 6e6})
			}
		}
		var writes []string
		for _, d := range c.DecisionsFrom(wire.DecisionsRequest{}).Decisions {
			if d.Do == "launch" && d.Task == wire.MapTask {
				writes = append(writes, d.Why)
			}
		}
		if len(writes) != 4 || slices.ContainsFunc(writes, func(why string) bool { return !strings.Contains(why, "writes 5.722MiB,") }) {
			t.Errorf("%s: each map writes 6 MB; the master foresaw %q", name, writes)
		}
		in, out := c.View().Job(c.jobs[s.job].current().sid).MapBytes()
		if in != expect.Input || out != 24e6 {
			t.Errorf("%s: %d bytes are read, and %d written", name, in, out)
		}
	}
}
