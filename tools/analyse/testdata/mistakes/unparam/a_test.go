package unparam

import "testing"

func TestFour(t *testing.T) {
	check(t, 1, "2468", 0)
	check(t, 1, "246"+"8", 1)
	check(t, 1, "24"+"68", 2)
	check(t, 1, "2"+"468", 3)
}

func check(t *testing.T, n int, want string, unused int) { // want `unparam: check - unused is unused`
	if got := Four(n); got != want {
		t.Error(got)
	}
}
