package hybrid

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/scheduler"
)

// TestNotes: the policy says which class of machine it lacks and where jobs run meanwhile, and nothing where both are there, none
// is, or it makes no difference between them.
func TestNotes(t *testing.T) {
	const noUp, noOut = `hybrid has no machine of class "scale-up": small jobs run beside the large ones, on all machines`, `hybrid has only machines of class "scale-up": large jobs run on them, too`
	for name, c := range map[string]struct {
		outs, ups int
		change    func(*Config)
		want      []string
	}{
		"both":    {2, 1, nil, nil},
		"no up":   {2, 0, nil, []string{noUp}},
		"no out":  {0, 2, nil, []string{noOut}},
		"neither": {0, 0, nil, nil},
		"no care": {2, 0, func(c *Config) { c.Classify = false }, nil},
	} {
		if r := newRig(t, c.outs, c.ups, c.change); !slices.Equal(r.Notes(), c.want) {
			t.Errorf("%s: %q, want %q", name, r.Notes(), c.want)
		}
	}
	r := newRig(t, 1, 1, nil)
	r.Send(scheduler.NodeDown(1))
	if got := r.Notes(); !slices.Equal(got, []string{noUp}) {
		t.Errorf("the last scale-up machine went: %q", got)
	}
}
