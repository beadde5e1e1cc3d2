package wire

import (
	"strings"
	"testing"
)

// TestChoiceIsShort: a script and a trained classifier stand in a log by their size.
func TestChoiceIsShort(t *testing.T) {
	c := Choice{Name: "p", Params: map[string]string{"code": "a\nb\n", "limits": "30", "model": strings.Repeat("x", 5000)}}
	if got, want := c.String(), "p code=(2 lines) limits=30 model=(5000 bytes)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
