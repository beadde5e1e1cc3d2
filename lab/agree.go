package lab

import (
	"encoding/json"
	"fmt"
	"os"
)

// ReadReports reads the report.json of earlier runs.
func ReadReports(paths ...string) (all []Report, err error) {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var reports []Report
		if err := json.Unmarshal(data, &reports); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		all = append(all, reports...)
	}
	return all, nil
}

// Disagreements compares verdicts with those of earlier runs, for experiments that both have over the same workload,
// and returns the differences. A check that only one of them has is a difference, too.
func Disagreements(got, want []Report) []string {
	var out []string
	for _, g := range got {
		if w, same := counterpart(g, want); same {
			out = append(out, differ(g, w)...)
		}
	}
	return out
}

// NotCompared returns the experiments that Disagreements skips, with the reasons.
func NotCompared(got, want []Report) []string {
	var out []string
	for _, g := range got {
		switch w, same := counterpart(g, want); {
		case same:
		case w.ID == "":
			out = append(out, g.ID+": no earlier run has it")
		default:
			out = append(out, fmt.Sprintf("%s: its jobs come from %s, then from %s", g.ID, g.Workload, w.Workload))
		}
	}
	return out
}

// counterpart returns the report of the same experiment over the same workload, or else over another.
func counterpart(g Report, want []Report) (other Report, same bool) {
	for _, w := range want {
		if w.ID == g.ID {
			if w.Workload == g.Workload {
				return w, true
			}
			other = w
		}
	}
	return other, false
}

// differ compares checks by their names; of several with the same name the first with the first, and so on.
func differ(got, want Report) (out []string) {
	earlier := map[string][]Verdict{}
	for _, c := range want.Checks {
		earlier[c.Item] = append(earlier[c.Item], c.Verdict)
	}
	for _, c := range got.Checks {
		was := earlier[c.Item]
		if len(was) == 0 {
			out = append(out, fmt.Sprintf("%s: %q was not checked before", got.ID, c.Item))
			continue
		}
		if was[0] != c.Verdict {
			out = append(out, fmt.Sprintf("%s: %q is %s (measured %s), was %s", got.ID, c.Item, c.Verdict, c.Measured, was[0]))
		}
		earlier[c.Item] = was[1:]
	}
	for _, c := range want.Checks {
		if n := len(earlier[c.Item]); n > 0 {
			out = append(out, fmt.Sprintf("%s: %q is not checked any more", got.ID, c.Item))
			earlier[c.Item] = earlier[c.Item][1:]
		}
	}
	return out
}
