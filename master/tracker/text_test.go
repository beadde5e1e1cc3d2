package tracker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
)

// TestTextsAreWrittenOnce: the text of a script stands before the first of the jobs that came under it, and again after a job that came under
// another; so it is in a snapshot. A job that came under none has none.
func TestTextsAreWrittenOnce(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	under := func(code string) *wire.Policies {
		return &wire.Policies{Policy: wire.Choice{Name: scheduler.ScriptName, Params: map[string]string{wire.CodeParam: code}}}
	}
	for _, u := range []*wire.Policies{nil, under("a"), under("a"), {Policy: wire.Choice{Name: "fifo", Params: map[string]string{wire.CodeParam: "x"}}}, under("a"), under("b"), under("a")} {
		spec := wire.JobSpec{Name: "j", User: "ann", Stages: 1, Program: wire.Program{Builtin: "sleep"}, Under: u}
		if _, err := c.Submit(1, spec); err != nil {
			t.Fatal(err)
		}
	}
	const want = "1 a 2 3 4 a 5 b 6 a 7"
	for what, list := range map[string][]Record{"records": c.Take().Records, "snapshot": c.Snapshot(2)} {
		var got []string
		for _, r := range list {
			switch r.Kind {
			case Text:
				got = append(got, r.Text)
			case Submitted:
				got = append(got, strings.TrimPrefix(string(r.Job), "job-"))
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
}

// TestScriptsLast: the script that decides is known after a restart, until none decides any more; that none does is written down only where one did.
func TestScriptsLast(t *testing.T) {
	c := newCore(t)
	c.Resume(0)
	var records []Record
	p := &wire.Choice{Name: scheduler.ScriptName, Params: map[string]string{wire.CodeParam: "a"}}
	for i, x := range []struct {
		p       *wire.Choice
		written int
	}{{nil, 0}, {p, 1}, {p, 1}, {nil, 1}, {nil, 0}} {
		c.KeepScript(1, x.p)
		made := c.Take().Records
		if records = append(records, made...); len(made) != x.written {
			t.Errorf("step %d: %d records, want %d", i, len(made), x.written)
		}
		for _, next := range []*Tracker{c, restarted(t, records), restarted(t, c.Snapshot(2))} {
			if fmt.Sprint(next.Script()) != fmt.Sprint(x.p) {
				t.Errorf("step %d: %v decides, want %v", i, next.Script(), x.p)
			}
		}
	}
}
