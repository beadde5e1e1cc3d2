package jobs_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/jobs"
)

// TestParse: the same words make the same job, and what is wrong is named.
func TestParse(t *testing.T) {
	for _, name := range jobs.Names() {
		words := strings.Fields(jobs.All[name].Example)
		if words[0] != name {
			t.Errorf("the example of %s starts with %s", name, words[0])
		}
	}
	stages, err := jobs.Parse("grep", []string{"--pattern", "x", "--input", "in", "--output", "out", "--priority", "high", "--queue", "q"})
	if err != nil || len(stages) != 2 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	for i, s := range stages {
		if s.Priority.String() != "high" || s.Queue != "q" {
			t.Errorf("stage %d has priority %s and queue %q", i, s.Priority, s.Queue)
		}
	}
	for _, c := range []struct{ name, words, want string }{
		{"nosuch", "", "known: "},
		{"sort", "--input in --output out rest", `unexpected argument "rest"`},
		{"sort", "--nosuch", "unknown flag"},
		{"sort", "--output out", "--input"},
	} {
		if _, err := jobs.Parse(c.name, strings.Fields(c.words)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q in it", c.name, c.words, err, c.want)
		}
	}
}
