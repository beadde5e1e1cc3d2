package policies

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
)

// What cannot be a policy is refused with the reason, and nothing is registered.
func TestRegisterRefuses(t *testing.T) {
	setup := All["fifo"].Setup
	for want, info := range map[string]*scheduler.Info{
		"needs an Info":            nil,
		"with Name, Seam, Summary": {Name: "mine"},
		"small letters":            {Name: "My Own", Setup: setup},
		"at most 40":               {Name: strings.Repeat("a", 41), Setup: setup},
		"a policy fair already":    {Name: "fair", Setup: setup},
		`the seam ""`:              {Name: "mine", Setup: setup},
		"no Summary":               {Name: "mine", Seam: scheduler.Assignment, Setup: setup},
	} {
		if err := register(info); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", info, err, want)
		}
	}
	if len(Own()) != 0 || All["mine"] != nil {
		t.Error("a refused policy was registered")
	}
}

// A policy of one's own is one of all, for as long as the program runs; one that cannot be is a mistake of the program.
func TestRegister(t *testing.T) {
	mine := &scheduler.Info{Name: "mine-alone", Seam: scheduler.Assignment, Summary: "as fifo", Setup: All["fifo"].Setup}
	defer func() {
		delete(All, mine.Name)
		own = nil
	}()
	Register(mine)
	if p, err := Policy("mine-alone", nil); err != nil || p == nil || len(Own()) != 1 || Own()[0] != mine {
		t.Errorf("%v, %v, own %v", p, err, Own())
	}
	if names := strings.Join(Names(scheduler.Assignment), " "); !strings.Contains(names, "mine-alone") {
		t.Error(names)
	}
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "policies.Register: there is a policy mine-alone already") {
			t.Errorf("registered twice: %v", r)
		}
	}()
	Register(mine)
}

// What a cluster and sim run set where nothing is given is set for policies that are known, and given values stay.
func TestParamsWhereNothingIsGiven(t *testing.T) {
	given := map[string]string{"x": "1"}
	for what, add := range map[string]func(string, map[string]string) map[string]string{"usual": UsualParams, "live": LiveParams} {
		if got := add("nobody", given); len(got) != 1 || got["x"] != "1" {
			t.Errorf("%s: %v", what, got)
		}
	}
	if got := UsualParams("fifo", nil); got["rampup"] != "0.5" {
		t.Errorf("fifo: %v", got)
	}
	if got := UsualParams("fifo", map[string]string{"rampup": "0.3"}); got["rampup"] != "0.3" {
		t.Errorf("fifo: %v", got)
	}
	if got := LiveParams("nas", nil); got["by"] != "time" {
		t.Errorf("nas: %v", got)
	}
	if got := LiveParams("nas", map[string]string{"map-skips": "3"}); got["by"] != "" || got["map-skips"] != "3" {
		t.Errorf("nas: %v", got)
	}
}
