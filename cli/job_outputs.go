package cli

import (
	"fmt"
	"path"
)

// checkOutputs refuses jobs of a list that write to one place, unless each that may be the second overwrites: else the
// second would find out only after all its work. The list has no circle; line returns the line of a job.
func checkOutputs(list []dueJob, line func(i int) int) error {
	writers := map[string][]int{}
	for i := range list {
		out := path.Clean(list[i].spec.Output)
		writers[out] = append(writers[out], i)
	}
	for i := range list { // in the order of the file
		all := writers[path.Clean(list[i].spec.Output)]
		if len(all) == 1 || all[0] != i {
			continue
		}
		if a, b, bad := atOdds(list, all); bad {
			return fmt.Errorf("%d: job %q writes to %q, as job %q of line %d does: give one of them another output, or let one overwrite what is there and come after the other (overwrite: true, after: [%s])",
				line(b), list[b].spec.Name, list[b].spec.Output, list[a].spec.Name, line(a), list[a].spec.Name)
		}
	}
	return nil
}

// atOdds finds two jobs with one output of which the second, by the file or by time, may find the first's output and
// refuse it.
func atOdds(list []dueJob, which []int) (a, b int, bad bool) {
	keeps := -1 // the job that does not overwrite
	for _, i := range which {
		switch {
		case list[i].spec.Overwrite:
		case keeps >= 0:
			return keeps, i, true
		default:
			keeps = i
		}
	}
	if keeps < 0 {
		return 0, 0, false
	}
	later := waitFor(list, keeps)
	for _, i := range which {
		if i != keeps && !later[i] {
			return min(i, keeps), max(i, keeps), true
		}
	}
	return 0, 0, false
}

// waitFor returns which jobs of a list come after the first, directly or indirectly.
func waitFor(list []dueJob, first int) []bool {
	after, seen := make([]bool, len(list)), make([]bool, len(list))
	var visit func(i int) bool
	visit = func(i int) bool {
		if !seen[i] {
			seen[i] = true
			for _, b := range list[i].after {
				after[i] = b == first || visit(b) || after[i]
			}
		}
		return after[i]
	}
	for i := range list {
		visit(i)
	}
	return after
}
