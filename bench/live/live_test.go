package live

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		row  Row
		want string
	}{
		{Row{Value: 0.7, Must: 0.7, AtLeast: true}, "must"},
		{Row{Value: 0.69, Must: 0.7, AtLeast: true}, "missed"},
		{Row{Value: 0.9, Must: 0.7, Aim: 0.9, AtLeast: true}, "aim"},
		{Row{Value: 2, Must: 2}, "must"},
		{Row{Value: 2.1, Must: 2}, "missed"},
		{Row{Value: 1, Must: 2, Aim: 1}, "aim"},
	} {
		if got := tt.row.Judged().Verdict; got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.row, got, tt.want)
		}
	}
}

// TestMeasure: only what was asked for is measured, an unknown row is named with the known ones, and
// what was measured before an error is not lost.
func TestMeasure(t *testing.T) {
	broken := errors.New("broken")
	part := func(id string, err error) Part {
		return Part{IDs: []string{id}, What: "part " + id, Measure: func(context.Context) ([]Row, error) { return []Row{{ID: id}}, err }}
	}
	parts := []Part{part("a", nil), part("b", broken), part("c", nil)}
	dir := filepath.Join(t.TempDir(), "bench")
	var said []string
	measure := func(only ...string) ([]Row, error) {
		said = nil
		return Measure(t.Context(), dir, parts, only, func(what string) { said = append(said, what) })
	}
	if rows, err := measure("a", "c"); err != nil || len(rows) != 2 || !slices.Equal(said, []string{"part a", "part c"}) {
		t.Errorf("%v, %v, said %q", rows, err, said)
	}
	if _, err := measure("d"); err == nil || !strings.Contains(err.Error(), `"d" (known: a, b, c)`) {
		t.Errorf("unknown row: %v", err)
	}
	if rows, err := measure(); !errors.Is(err, broken) || len(rows) != 2 {
		t.Errorf("%v, %v", rows, err)
	}
}
