package drive

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// TestPlansThatDiffer: a replayed plan is the one of the log only if jobs, names and both kinds of racks are.
func TestPlansThatDiffer(t *testing.T) {
	one := func() scheduler.Placement {
		return scheduler.Placement{Name: "a", MapRacks: []topology.RackID{0, 1}, ReduceRacks: []topology.RackID{2}}
	}
	for _, tt := range []struct {
		change func(p *scheduler.Placement)
		want   string
	}{
		{func(*scheduler.Placement) {}, ""},
		{func(p *scheduler.Placement) { p.Name = "b" }, "plans a for racks [0 1] and [2], the log says b for [0 1] and [2]"},
		{func(p *scheduler.Placement) { p.MapRacks = []topology.RackID{1, 0} }, "plans a for racks [0 1] and [2], the log says a for [1 0] and [2]"},
		{func(p *scheduler.Placement) { p.ReduceRacks = nil }, "plans a for racks [0 1] and [2], the log says a for [0 1] and []"},
	} {
		logged := one()
		tt.change(&logged)
		err := samePlans([]scheduler.Placement{one(), one()}, []scheduler.Placement{one(), logged})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if err := samePlans([]scheduler.Placement{one()}, nil); err == nil || err.Error() != "plans 1 jobs, the log says 0" {
		t.Error(err)
	}
}

// blind names two attempts after a while, the first of which is not there.
type blind struct{ LATE }

func (blind) Late(now time.Duration, _ *scheduler.View, _ Meter) []scheduler.Attempt {
	if now == time.Hour {
		return nil
	}
	return []scheduler.Attempt{{Task: task(scheduler.Map, 7), Node: 1}, {Task: task(scheduler.Map, 3), Node: 1}}
}

// TestRuleThatIsWrong: a rule that wants a second attempt of what is not there is told of; the next that it named is started all the same.
func TestRuleThatIsWrong(t *testing.T) {
	r := slow(t, Config{Seconds: blind{LATE{After: time.Second, Slower: 1, Share: 1}}})
	got, err := r.round(All)
	if got != "launch j1/map/3@0 second" || !errors.Is(err, scheduler.ErrPolicy) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLinesAboutNothing: a log with a line about what never was is wrong there, whatever the line does to the one who reads it.
func TestLinesAboutNothing(t *testing.T) {
	mk := func(Named, Named) (scheduler.Policy, scheduler.Admission, error) { return &oldest{}, nil, nil }
	r := newRig(t, &oldest{}, 1, Config{})
	r.Announce(0, Named{Name: "oldest"}, Named{})
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 1}))
	r.want(All, "start j1/map/0@-1, launch j1/map/0@0")
	text := r.file(Named{Name: "oldest"}, Named{})
	if _, err := Verify(strings.NewReader(text), "log", mk); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		`{"Kind":1,"Event":{"Kind":1,"Node":7000,"Task":{"Job":1}}}`: "no such node in the topology",
		`{"Kind":5,"Gate":{"Job":77,"From":99,"To":99}}`:             "rack 99 to rack 99",
		`{"Kind":2,"At":5`: "malformed",
	} {
		if _, err := Verify(strings.NewReader(text+line+"\n"), "log", mk); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
	_, err := Verify(strings.NewReader(text), "log", func(Named, Named) (scheduler.Policy, scheduler.Admission, error) { return &lost{}, nil, nil })
	if err == nil || !strings.Contains(err.Error(), "the line makes no sense here: where is this?") {
		t.Errorf("a line that its reader cannot follow: %v", err)
	}
}

// lost is a policy that cannot find its way.
type lost struct{ oldest }

func (*lost) Assign(time.Duration, topology.NodeID, *scheduler.View) scheduler.Decision {
	panic("where is this?")
}
