package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestReduceRule: when reduces may compete with maps, and what those that may not are told: "" where they may.
func TestReduceRule(t *testing.T) {
	const held, start = "j1 holds its reduces until its last %d maps are placed", "reduces of j1 wait for slow start: %d of %d maps done"
	for _, tc := range []struct {
		name             string
		rule             ReduceRule
		placed, finished int32 // of ten maps
		why              string
	}{
		{"its own slow start", ReduceRule{Slowstart: -1}, 3, 2, fmt.Sprintf(start, 2, 3)},
		{"past its own slow start", ReduceRule{Slowstart: -1}, 3, 3, ""},
		{"the rule's slow start", ReduceRule{Slowstart: 0.5}, 9, 4, fmt.Sprintf(start, 4, 5)},
		{"past the rule's slow start", ReduceRule{Slowstart: 0.5}, 9, 5, ""},
		{"no slow start needs one map", ReduceRule{Slowstart: 0}, 1, 0, fmt.Sprintf(start, 0, 1)},
		{"past no slow start", ReduceRule{Slowstart: 0}, 1, 1, ""},
		{"held", ReduceRule{Slowstart: -1, Hold: true}, 9, 9, fmt.Sprintf(held, 1)},
		{"all maps placed, too few done", ReduceRule{Slowstart: -1, Hold: true}, 10, 2, fmt.Sprintf(start, 2, 3)},
		{"all maps placed", ReduceRule{Slowstart: -1, Hold: true}, 10, 3, ""},
	} {
		g := newTestEngine(t, 1, 1, Capacity{MapSlots: 20, ReduceSlots: 2}, nil)
		j := mustSubmit(t, g, &JobSpec{ID: 1, Maps: 10, Reduces: 1, Slowstart: 0.3})
		hold(t, g, 1, Map, 0, tc.placed)
		for i := range tc.finished {
			mustFeed(t, g, TaskFinished(TaskID{Job: 1, Index: i}, 0, 0, 0, 0))
		}
		if maps, reduces := tc.rule.Eligible(j, Map), tc.rule.Eligible(j, Reduce); maps != (tc.placed < 10) || reduces != (tc.why == "") {
			t.Errorf("%s: maps may run %v, reduces %v", tc.name, maps, reduces)
		}
		if why := tc.rule.Why(j); tc.why != "" && (why.Text(nil) != tc.why || why.Code != ForSlowstart) {
			t.Errorf("%s: %v, %q, want %q", tc.name, why.Code, why.Text(nil), tc.why)
		}
		mustFeed(t, g, Launched(TaskID{Job: 1, Kind: Reduce}, 0, Remote, false))
		if tc.rule.Eligible(j, Reduce) {
			t.Errorf("%s: a reduce may run, and none is left", tc.name)
		}
	}
}

// TestReducesThatWaitAndRipe: with ripe-first alone, reduces that wait for maps take no more than their share, those that wait for nobody
// take any place, and no reduce gives way.
func TestReducesThatWaitAndRipe(t *testing.T) {
	for _, tc := range []struct {
		name  string
		rule  ReduceRule
		holds int32 // reduces, of four containers
		kinds []Kind
		may   bool
	}{
		{"below the share", ReduceRule{Slowstart: -1, Share: 0.5, Ripe: true}, 1, []Kind{Reduce, Map}, true},
		{"at the share", ReduceRule{Slowstart: -1, Share: 0.5, Ripe: true}, 2, []Kind{Reduce, Map}, false},
		{"at the share, as published", ReduceRule{Slowstart: -1, Share: 0.5}, 2, []Kind{Map}, true},
	} {
		g, j := ramp(t, Capacity{Containers: 4}, 15)
		hold(t, g, 1, Reduce, 0, tc.holds)
		first := Needy{Job: mustSubmit(t, g, &JobSpec{ID: 2, Maps: 9}), Owed: equal}
		if got := tc.rule.Kinds(g.View(), 0); !slices.Equal(got, tc.kinds) {
			t.Errorf("%s: %v are tried, want %v", tc.name, got, tc.kinds)
		}
		if got := tc.rule.AllowsReduce(g.View(), 0, j, first); got != tc.may {
			t.Errorf("%s: a reduce that waits may start: %v", tc.name, got)
		}
		if v, found := tc.rule.GiveBack(time.Minute, g.View(), first); found {
			t.Errorf("%s: %v gives way", tc.name, v.Task)
		}
		if why, follows := tc.rule.Follows(j, Reduce); follows {
			t.Errorf("%s: %s", tc.name, why.Text(nil))
		}
	}
}

// TestFollows: who waits because of the ramp is told so, in numbers; maps, reduces that wait for nobody and published rules are not.
func TestFollows(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 0.5, Ramp: 0.5}
	g, j := ramp(t, Capacity{Containers: 10}, 15)
	hold(t, g, 1, Reduce, 0, 2)
	why, follows := rule.Follows(j, Reduce)
	if want := "reduces of j1 follow its maps: 2 run, 15 of 20 maps are done, and maps that wait come first"; !follows || why.Text(nil) != want || why.Code != ForSlowstart {
		t.Errorf("%v: %s", follows, why.Text(nil))
	}
	if _, follows := rule.Follows(j, Map); follows {
		t.Error("a map follows maps")
	}
	for i := int32(15); i < 20; i++ {
		hold(t, g, 1, Map, i, 1)
		mustFeed(t, g, TaskFinished(TaskID{Job: 1, Index: i}, 0, 0, 0, 0))
	}
	if _, follows := rule.Follows(j, Reduce); follows || j.Waits(Reduce) || j.Waits(Map) {
		t.Error("a reduce follows maps that are done")
	}
}

// TestRampSpare: a job may have as many reduces as its part of what it holds and could get; free containers that another job's map, or its
// own, waits for are not among that.
func TestRampSpare(t *testing.T) {
	rule := ReduceRule{Slowstart: -1, Share: 1, Ramp: 0.5}
	for _, tc := range []struct {
		name    string
		reduces int32 // that hold containers beside two maps; three maps wait, fifteen are done
		other   bool  // another job's map waits
		may     bool
	}{
		{"half of four and of three that no map waits for", 2, false, true},
		{"half of five and of two", 3, false, false},
		{"half of two, beside another job's map", 0, true, true},
		{"half of three, beside another job's map", 1, true, false},
	} {
		g, j := ramp(t, Capacity{Containers: 10}, 15)
		hold(t, g, 1, Map, 15, 2)
		hold(t, g, 1, Reduce, 0, tc.reduces)
		if tc.other {
			mustSubmit(t, g, &JobSpec{ID: 2, Maps: 1})
		}
		if got := rule.AllowsReduce(g.View(), 0, j, Needy{Owed: equal}); got != tc.may {
			t.Errorf("%s: one more reduce may start: %v", tc.name, got)
		}
	}
}
