package drive

import (
	"strings"
	"testing"
	"time"
)

// TestRulesByName: a rule that was named is made again, with all that it was told.
func TestRulesByName(t *testing.T) {
	for _, r := range []Rule{
		nil, DefaultLATE(), DefaultLag(), LATE{After: 20 * time.Millisecond, Slower: 1.25, Share: 0.5}, Lag{After: 90 * time.Second, Behind: 1.0 / 3, Cap: 1},
	} {
		if again, err := RuleOf(NameOf(r)); err != nil || again != r {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	}
	if r, err := RuleOf(Named{Name: "lag", Params: map[string]string{"behind": "0.5"}}); err != nil || r != (Lag{After: time.Minute, Behind: 0.5, Cap: 0.1}) {
		t.Errorf("what is not given has its default: %+v, %v", r, err)
	}
	for want, n := range map[string]Named{
		"there are late, lag and none": {Name: "soon"},
		"it has: after, behind, cap":   {Name: "lag", Params: map[string]string{"slower": "1"}},
		"not a duration":               {Name: "late", Params: map[string]string{"after": "soon"}},
		"at most 1":                    {Name: "late", Params: map[string]string{"share": "2"}},
	} {
		if _, err := RuleOf(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", n, err)
		}
	}
}
