package scheduler

import "testing"

// Whatever is given for a parameter is refused, or is in its range.
func FuzzSetParams(f *testing.F) {
	f.Add("k", "3")
	f.Add("Share", "1e-9")
	f.Add("weights", "a=1,b=2.5")
	f.Add("limits", "1,,2")
	f.Fuzz(func(t *testing.T, name, text string) {
		e := defaults()
		if err := SetParams("fuzz", e.params(), map[string]string{name: text}); err != nil {
			return
		}
		if e.k < 1 || e.k > 100 {
			t.Errorf("k is %d", e.k)
		}
		if !(e.share >= 0 && e.share <= 1) {
			t.Errorf("share is %g", e.share)
		}
		if e.wait <= 0 || e.wait.Seconds() > 1e6 {
			t.Errorf("wait is %s", e.wait)
		}
		if e.mode != "a" && e.mode != "b" {
			t.Errorf("mode is %q", e.mode)
		}
		for _, l := range e.limits {
			if !(l > 0) {
				t.Errorf("limits are %v", e.limits)
			}
		}
	})
}
