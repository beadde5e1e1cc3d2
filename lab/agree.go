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

func differ(got, want Report) (out []string) {
	earlier := map[string]Verdict{}
	for _, c := range want.Checks {
		earlier[c.Item] = c.Verdict
	}
	for _, c := range got.Checks {
		switch was, ok := earlier[c.Item]; {
		case !ok:
			out = append(out, fmt.Sprintf("%s: %q was not checked before", got.ID, c.Item))
		case was != c.Verdict:
			out = append(out, fmt.Sprintf("%s: %q is %s (measured %s), was %s", got.ID, c.Item, c.Verdict, c.Measured, was))
		}
		delete(earlier, c.Item)
	}
	for _, c := range want.Checks {
		if _, left := earlier[c.Item]; left {
			out = append(out, fmt.Sprintf("%s: %q is not checked any more", got.ID, c.Item))
		}
	}
	return out
}
