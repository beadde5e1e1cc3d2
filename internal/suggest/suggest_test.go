package suggest

import (
	"strings"
	"testing"
)

func TestUnknown(t *testing.T) {
	known := []string{"capacity", "fair", "fifo", "nas"}
	for name, want := range map[string]string{
		"fiar":     `unknown policy "fiar": did you mean fair? (known: capacity, fair, fifo, nas)`,
		"Fair":     `unknown policy "Fair": did you mean fair? (known: capacity, fair, fifo, nas)`,
		"capacty":  `unknown policy "capacty": did you mean capacity? (known: capacity, fair, fifo, nas)`,
		"deadline": `unknown policy "deadline" (known: capacity, fair, fifo, nas)`,
		"":         `unknown policy "" (known: capacity, fair, fifo, nas)`,
		"n\nas":    `unknown policy "n\nas": did you mean nas? (known: capacity, fair, fifo, nas)`,
	} {
		if got := Unknown("policy", name, known).Error(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// FuzzNearest: a name is nearest to itself, and slips are a distance.
func FuzzNearest(f *testing.F) {
	f.Add("fair", "fiar")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a)+len(b) > 200 {
			return
		}
		n := slips(a, b)
		if n != slips(b, a) || (n == 0) != (a == b) || n > max(len(a), len(b)) {
			t.Errorf("%q and %q: %d and %d", a, b, n, slips(b, a))
		}
		if got := Nearest(a, []string{b, a}); a != "" && !strings.EqualFold(got, a) {
			t.Errorf("nearest to %q is %q", a, got)
		}
	})
}
