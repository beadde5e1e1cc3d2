package wire

import (
	"math"
	"testing"
)

// TestLimitsChange: limits change all together or not at all.
func TestLimitsChange(t *testing.T) {
	before := Limits{Running: 3, Waiting: 4, Containers: 5, Submissions: 6, History: 7}
	for what, x := range map[string]struct {
		changes map[string]int64
		want    Limits
		ok      bool
	}{
		"nothing":                    {nil, before, true},
		"each":                       {map[string]int64{"running": 1, "waiting": 2, "containers": 3, "submissions": 4, "history": 5}, Limits{1, 2, 3, 4, 5}, true},
		"none and default":           {map[string]int64{"running": NoLimit, "waiting": 0}, Limits{NoLimit, 0, 5, 6, 7}, true},
		"a name that is none":        {map[string]int64{"walking": 1, "running": 9}, before, false},
		"below none":                 {map[string]int64{"running": NoLimit - 1, "waiting": 9}, before, false},
		"the most":                   {map[string]int64{"running": math.MaxInt32}, Limits{math.MaxInt32, 4, 5, 6, 7}, true},
		"more":                       {map[string]int64{"running": math.MaxInt32 + 1, "waiting": 9}, before, false},
		"of history there is more":   {map[string]int64{"history": math.MaxInt64}, Limits{3, 4, 5, 6, math.MaxInt64}, true},
		"no room beside the driver":  {map[string]int64{"containers": 1, "running": 9}, before, false},
		"room for a task":            {map[string]int64{"containers": 2}, Limits{3, 4, 2, 6, 7}, true},
		"containers without a limit": {map[string]int64{"containers": NoLimit}, Limits{3, 4, NoLimit, 6, 7}, true},
	} {
		l := before
		if err := l.Change(x.changes); (err == nil) != x.ok || !x.ok && KindOf(err) != Invalid || l != x.want {
			t.Errorf("%s: %v, %+v, want %+v", what, err, l, x.want)
		}
	}
}

// TestLimitsThatHold: a user's own limits come before those of all; 0 says nothing, and what does not bound is 0 in what holds.
func TestLimitsThatHold(t *testing.T) {
	all := Limits{Running: 1, Waiting: 2, Containers: NoLimit, Submissions: 4, History: 0}
	own := Limits{Running: 10, Waiting: NoLimit, Containers: 0, Submissions: 0, History: NoLimit}
	if got, want := own.Or(all), (Limits{Running: 10, Submissions: 4}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if own.Running != 10 || own.Waiting != NoLimit || all.Containers != NoLimit {
		t.Errorf("what holds was asked, and the limits became %+v and %+v", own, all)
	}
}
