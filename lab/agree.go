package lab

import (
	"encoding/json"
	"fmt"
	"os"
)

// ReadReports reads the report.json of an earlier run.
func ReadReports(path string) ([]Report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var reports []Report
	if err := json.Unmarshal(data, &reports); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return reports, nil
}

// Disagreements compares verdicts with those of an earlier run, for the experiments that
// both have, and says where they differ. A check that only one of them has is a
// difference too.
func Disagreements(got, want []Report) []string {
	var out []string
	for _, g := range got {
		for _, w := range want {
			if g.ID == w.ID {
				out = append(out, differ(g, w)...)
			}
		}
	}
	return out
}

// differ compares checks by their names; of several with the same name the first with the first,
// and so on.
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
