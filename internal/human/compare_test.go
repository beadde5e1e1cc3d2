package human

import (
	"slices"
	"testing"
)

func TestCompare(t *testing.T) {
	want := []string{"", "0", "1", "01", "9", "10", "a", "r1", "r2", "r10", "r10a", "r10b2", "r10b11", "w", "w99999999999999999999999"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, Compare)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// FuzzCompare: an order, whatever the names.
func FuzzCompare(f *testing.F) {
	f.Add("w2", "w10", "w010")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if Compare(a, b) != -Compare(b, a) || (Compare(a, b) == 0) != (a == b) {
			t.Errorf("%q and %q: %d and %d", a, b, Compare(a, b), Compare(b, a))
		}
		if Compare(a, b) <= 0 && Compare(b, c) <= 0 && Compare(a, c) > 0 {
			t.Errorf("%q, %q, %q are in no order", a, b, c)
		}
	})
}
