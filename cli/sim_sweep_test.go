package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestSweep(t *testing.T) {
	for text, want := range map[string]string{
		"0.5": "", "a,b": "", "1..3 by 1": "1 2 3", "0.1..0.5 by 0.1": "0.1 0.2 0.3 0.4 0.5", "0.05..0.2 by 0.1": "0.05 0.15", "7..7 by 1": "7",
	} {
		if got, err := sweep(text); err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"1..3": "write LOW..HIGH by STEP", "1..3 by 0": "above 0", "3..1 by 1": "not below", "0..1 by -1": "above 0", "0..1e9 by 1": "1000000001 values", "0..1 by 1e-300": "values",
		"a..b by c": "no range", "NaN..1 by 1": "above 0", "1 by 2": "no range",
	} {
		if _, err := sweep(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	a := arm{name: "fbq", params: map[string]string{"limits": "1..2 by 1", "K": "2"}, admission: "marp", admitParams: map[string]string{"marp": "0.1..0.2 by 0.1"}}
	all, err := a.swept()
	var names []string
	for _, b := range all {
		names = append(names, b.name)
	}
	if err != nil || !slices.Equal(names, []string{"fbq limits=1 marp=0.1", "fbq limits=1 marp=0.2", "fbq limits=2 marp=0.1", "fbq limits=2 marp=0.2"}) || all[3].params["limits"] != "2" || all[3].params["K"] != "2" || a.params["limits"] != "1..2 by 1" {
		t.Errorf("%q, %v", names, err)
	}
	a.params = map[string]string{"x": "1..400 by 1", "y": "1..400 by 1"}
	if _, err := a.swept(); err == nil || !strings.Contains(err.Error(), "160000 policies would be compared") {
		t.Error(err)
	}
}
