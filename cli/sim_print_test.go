package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/millrace/millrace/sim/compare"
)

// TestMeansOverSeeds: with several repetitions a policy's rows are numbered, and their mean follows; one repetition is a row.
func TestMeansOverSeeds(t *testing.T) {
	run := func(policy string, completion float64, missed int) *simRun {
		r := &simRun{}
		r.Policy, r.Events = policy, 1000
		r.Metrics = compare.Metrics{Jobs: 24_442, Missed: missed, WithDeadline: 3}
		r.Metrics.Completion.Mean = completion
		return r
	}
	for name, c := range map[string]struct {
		runs []*simRun
		want []string // policy, jobs, mean completion, missed goals
	}{
		"one each": {[]*simRun{run("fifo", 10, 1), run("fair", 20, 2)}, []string{"fifo 24442 10.0 s 1 of 3", "fair 24442 20.0 s 2 of 3"}},
		"two each": {
			[]*simRun{run("fifo", 10, 1), run("fifo", 11, 2), run("fair", 20, 2), run("fair", 40, 2)},
			[]string{
				"fifo, 1 of 2 24442 10.0 s 1 of 3", "fifo, 2 of 2 24442 11.0 s 2 of 3", "fifo, mean 24442 10.5 s 1.5 of 3",
				"fair, 1 of 2 24442 20.0 s 2 of 3", "fair, 2 of 2 24442 40.0 s 2 of 3", "fair, mean 24442 30.0 s 2 of 3",
			},
		},
	} {
		var got []string
		for _, row := range runRows(c.runs) {
			got = append(got, fmt.Sprint(row[0], " ", row[1], " ", row[2], " ", row[9]))
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
