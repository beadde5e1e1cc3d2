package drive

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// planned gives every job it expects the same racks, and lets go what is at least so much.
type planned struct {
	oldest
	racks []topology.RackID
	least int64
}

func (p *planned) Plan(_ time.Duration, expected []*scheduler.JobSpec, _ *scheduler.View) (out []scheduler.Placement) {
	for _, s := range expected {
		out = append(out, scheduler.Placement{Job: s.ID, Name: s.Name, MapRacks: p.racks, ReduceRacks: p.racks})
	}
	return out
}

func (p *planned) Release(_ time.Duration, _ scheduler.JobID, _, _ topology.RackID, avail int64, _ *scheduler.View) bool {
	return avail >= p.least
}

// TestReplayOfPlans: plans, gates and lost nodes are in the log, and a policy that answers otherwise is noticed.
func TestReplayOfPlans(t *testing.T) {
	mine := func() *planned { return &planned{racks: []topology.RackID{0}, least: 10} }
	r := newRig(t, mine(), 2, Config{})
	plans := r.Plan(0, []*scheduler.JobSpec{{ID: 1, Name: "sort"}, {ID: 2, Name: "count"}})
	if len(plans) != 2 || plans[1].Name != "count" || !r.Plans() || !r.Gated() {
		t.Errorf("plans %+v, planner %v, gate %v", plans, r.Plans(), r.Gated())
	}
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 3, Reduces: 1}))
	r.want(All, "start j1/map/0@-1, launch j1/map/0@0, launch j1/map/1@0, launch j1/map/2@1")
	r.feed(scheduler.TaskFinished(task(scheduler.Map, 0), 0, 0, 0, 0))
	if r.Release(0, 1, 0, 0, 9) || !r.Release(0, 1, 0, 0, 10) {
		t.Error("the gate is not the policy's")
	}
	var lost []scheduler.EventKind
	if err := r.NodeLost(0, 0, true, func(e scheduler.Event) { lost = append(lost, e.Kind) }); err != nil || r.NodeLost(0, 1, false, nil) != nil {
		t.Fatal(err)
	}
	if want := []scheduler.EventKind{scheduler.EvTaskKilled, scheduler.EvTaskLost, scheduler.EvNodeDown}; !slices.Equal(lost, want) {
		t.Errorf("told of %v, want %v", lost, want)
	}
	r.want(All, "") // nothing is up
	before := len(r.lines)
	if err := r.Feed(0, scheduler.JobFinished(77)); err == nil || len(r.lines) != before {
		t.Errorf("an event that was refused is in the log: %v", err)
	}
	for want, p := range map[string]scheduler.Policy{
		"":                         mine(),
		"the log says sort for":    &planned{racks: []topology.RackID{1}, least: 10},
		"the log says 2":           &oldest{},
		"rack 0 to rack 0: true, ": &planned{racks: []topology.RackID{0}},
	} {
		err := Replay(scheduler.DefaultConfig(), Config{}, p, nil, r.lines)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	plain := newRig(t, &oldest{}, 1, Config{})
	if _, follows := plain.Follows(1); follows || plain.Plans() || plain.Gated() || plain.Plan(0, nil) != nil || !plain.Release(0, 1, 0, 0, 0) {
		t.Error("a policy that neither plans nor holds shuffles back is taken for one that does")
	}
}

// door admits every job while it is open, and rejects those that it must not let in.
type door struct {
	open   bool
	reject scheduler.JobID
}

func (*door) Observe(time.Duration, scheduler.Event, *scheduler.View) {}

func (d *door) Admit(_ time.Duration, v *scheduler.View) scheduler.AdmitDecision {
	for j := range v.Waiting().All() {
		switch {
		case j.ID() == d.reject:
			return scheduler.AdmitDecision{Verdict: scheduler.Reject, Job: j.ID()}
		case d.open:
			return scheduler.AdmitDecision{Verdict: scheduler.Admit, Job: j.ID()}
		}
	}
	return scheduler.AdmitDecision{}
}

// idle gives nobody anything.
type idle struct{ oldest }

func (*idle) Assign(time.Duration, topology.NodeID, *scheduler.View) scheduler.Decision {
	return scheduler.Idle(scheduler.Reason{Code: scheduler.NoWork})
}

// TestVerifyFollowsChanges: policies that are replaced decide from there on, on the cluster and where its log is verified.
func TestVerifyFollowsChanges(t *testing.T) {
	mk := func(policy, admission Named) (p scheduler.Policy, a scheduler.Admission, err error) {
		switch policy.Name {
		case "oldest":
			p = &oldest{}
		case "idle":
			p = &idle{}
		case "":
		default:
			err = errors.New("unknown")
		}
		if admission.Name != "" {
			a = &door{open: admission.Name == "open", reject: 2}
		}
		return p, a, err
	}
	change := func(r *rig, policy, admission string) {
		r.Announce(r.now, Named{Name: policy}, Named{Name: admission})
		p, a, err := mk(Named{Name: policy}, Named{Name: admission})
		if err != nil {
			t.Fatal(err)
		}
		if p != nil {
			r.SetPolicy(r.now, p)
		}
		if a != nil {
			r.SetAdmission(r.now, a)
		}
	}
	r := newRig(t, &oldest{}, 1, Config{})
	change(r, "", "closed")
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 2, Maps: 1}))
	r.feed(scheduler.JobSubmitted(&scheduler.JobSpec{ID: 1, Maps: 5}))
	r.want(All, "reject j2/map/0@-1")
	change(r, "", "open")
	r.want(All, "start j1/map/0@-1, launch j1/map/0@0, launch j1/map/1@0")
	change(r, "idle", "")
	r.feed(scheduler.TaskFinished(task(scheduler.Map, 0), 0, 0, 0, 0))
	r.want(All, "")
	text := r.file(Named{Name: "oldest"}, Named{})
	if _, err := Verify(strings.NewReader(text), "log", mk); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"idle", "open"} { // other policies instead
		if _, err := Verify(strings.NewReader(strings.Replace(text, `"`+name+`"`, `""`, 1)), "log", mk); err == nil {
			t.Errorf("%s never came, and nobody noticed", name)
		}
	}
}

// TestLineLimits: a line is read up to the limits of docs/formats/decisions.md, and not beyond.
func TestLineLimits(t *testing.T) {
	for text, ok := range map[string]bool{
		`{"Kind":5}`: true, `{"Kind":6}`: false,
		`{"Kind":2,"At":-1}`:                                               false,
		`{"Kind":1,"Event":{"Kind":1,"Locality":3}}`:                       true,
		`{"Kind":1,"Event":{"Kind":1,"Locality":4}}`:                       false,
		`{"Kind":1,"Event":{"Kind":1,"Task":{"Kind":2}}}`:                  true,
		`{"Kind":1,"Event":{"Kind":1,"Task":{"Kind":3}}}`:                  false,
		`{"Kind":1,"Event":{"Kind":1,"Task":{"Index":-1}}}`:                false,
		`{"Kind":1,"Event":{"Kind":1,"Capacity":{"VCores":1048576}}}`:      true,
		`{"Kind":1,"Event":{"Kind":1,"Capacity":{"VCores":1048577}}}`:      false,
		`{"Kind":0,"NIC":-1}`:                                              false,
		`{"Kind":0,"Uplink":-1}`:                                           false,
		`{"Kind":0,"NIC":0,"Uplink":0}`:                                    true,
		`{"Kind":4,"Expected":[null]}`:                                     false,
		`{"Kind":4,"Expected":[{"Maps":10000000,"Reduces":10000000}]}`:     true,
		`{"Kind":4,"Expected":[{"Maps":10000001}]}`:                        false,
		`{"Kind":4,"Expected":[{"Reduces":10000001}]}`:                     false,
		`{"Kind":4,"Expected":[{"Maps":-1}]}`:                              false,
		`{"Kind":4,"Expected":[{"Reduces":-1}]}`:                           false,
		`{"Kind":2,"Event":{"Spec":{"Maps":10000000}}}`:                    false, // of no submission
		`{"Kind":4,"Event":{"Kind":0,"Lesson":{}}}`:                        false,
		`{"Kind":4,"Expected":[` + strings.Repeat("{},", 99_999) + `{}]}`:  true,
		`{"Kind":4,"Expected":[` + strings.Repeat("{},", 100_000) + `{}]}`: false,
	} {
		if _, err := decode([]byte(text)); (err == nil) != ok {
			t.Errorf("%.80s: %v", text, err)
		}
	}
	for _, tasks := range []int32{maxTasks, maxTasks + 1} {
		for _, s := range []*scheduler.JobSpec{{Maps: tasks}, {Reduces: tasks}} {
			l := Line{Kind: LineEvent, Event: scheduler.JobSubmitted(s)}
			if err := l.validate(); (err == nil) != (tasks == maxTasks) {
				t.Errorf("%d maps and %d reduces: %v", s.Maps, s.Reduces, err)
			}
		}
	}
	for version, ok := range map[string]bool{"-1": false, "0": false, "1": true, "3": true, "4": false} {
		if _, err := readHeader([]byte(`{"millrace_decisions":` + version + `}`)); (err == nil) != ok {
			t.Errorf("version %s: %v", version, err)
		}
	}
}
