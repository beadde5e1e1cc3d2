package master

import (
	"slices"
	"testing"

	"github.com/millrace/millrace/master/tracker"
)

// TestReaders: what a job writes goes to the racks in which an announced job of the same user will read it, under its name and before
// it has it; what others write, or what nobody reads, goes nowhere in particular.
func TestReaders(t *testing.T) {
	var r readers
	if got := r.racks("/mid/part-0", "ann"); got != nil {
		t.Errorf("without plans: %v", got)
	}
	r.set([]tracker.Reader{
		{User: "ann", Inputs: []string{"dfs:/mid", "dfs:/days/*/log"}, Racks: []string{"r2"}},
		{User: "ann", Inputs: []string{"dfs:/", "file:/etc", "/etc", "dfs:/*", "numbers:10"}, Racks: []string{"r3"}},
	})
	for file, want := range map[string][]string{
		"/mid":                     {"r2"},
		"/mid/part-0":              {"r2"},
		"/days/monday/log":         {"r2"},
		"/middle":                  nil,
		"/other":                   nil,
		"/etc":                     nil,
		"/.other.millrace-job-1-0": nil,
		"/.mid.millrace-job-1-0/_attempts/part-r-00000-1": {"r2"},
	} {
		if got := r.racks(file, "ann"); !slices.Equal(got, want) {
			t.Errorf("%s goes to %v, want %v", file, got, want)
		}
		if got := r.racks(file, "bob"); got != nil {
			t.Errorf("%s of another goes to %v", file, got)
		}
	}
}
