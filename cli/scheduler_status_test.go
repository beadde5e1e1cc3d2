package cli

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/wire"
)

// TestSchedulerStatusWords: what is printed says what was decided, and what to do about a policy that breaks rules.
func TestSchedulerStatusWords(t *testing.T) {
	s := wire.SchedulerStatus{Launched: 41, Seconds: 2, Stopped: 3, Admitted: 5, Rejected: 1}
	s.Policy.Name, s.Admission.Name = "fair", "marp"
	var out strings.Builder
	printSchedulerStatus(&out, &s)
	for _, want := range []string{"assignment fair", "admission  marp", "5 admitted, 1 rejected", "41 launched (2 second attempts), 3 stopped", "no rule was broken"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	s.Broken, s.LastBroken, s.BrokenAgo = 7, "j9/map/0 on node 1: no such job: policy error", 61_000
	out.Reset()
	printSchedulerStatus(&out, &s)
	for _, want := range []string{"broke a rule in 7 rounds, the last 1m1s ago: j9/map/0 on node 1: no such job", "millrace scheduler set POLICY"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
