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
