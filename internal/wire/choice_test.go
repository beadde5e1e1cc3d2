package wire

import (
	"strings"
	"testing"
)

// TestChoiceIsShort: a script and a trained classifier stand in a log by their size, and the classifier with when it was trained.
func TestChoiceIsShort(t *testing.T) {
	c := Choice{Name: "p", Params: map[string]string{"code": "a\nb\n", "limits": "30", "model": strings.Repeat("x", 5000)}}
	if got, want := c.String(), "p code=(2 lines) limits=30 model=(a classifier of 5 kB)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, older := range []string{`{"Scaler":"` + strings.Repeat("x", 1200) + `"}`, `{"Trained":"today","Jobs":"` + strings.Repeat("x", 1200) + `"}`} {
		c = Choice{Name: "hybrid", Params: map[string]string{"model": older}}
		if got, want := c.String(), "hybrid model=(a classifier of 2 kB)"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	c = Choice{Name: "hybrid", Params: map[string]string{"model": `{"Scaler":"` + strings.Repeat("x", 1200) + `","Trained":"2030-01-02","Jobs":412}`}}
	if got, want := c.String(), "hybrid model=(a classifier of 2 kB, trained 2030-01-02 with 412 jobs)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
