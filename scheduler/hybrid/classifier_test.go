package hybrid

import (
	"testing"

	"github.com/millrace/millrace/scheduler"
)

// TestUnknownInputIsNotSmall: a job whose splits have no bytes makes its own data; like one without splits it is judged
// by its number of maps, and not taken for small.
func TestUnknownInputIsNotSmall(t *testing.T) {
	const maps = 400
	made := &scheduler.JobSpec{ID: 1, Maps: maps, Reduces: 10}
	for range maps {
		made.Splits.Add(0)
	}
	want := inputOf(&scheduler.JobSpec{ID: 1, Maps: maps, Reduces: 10})
	if got := inputOf(made); got != want || got != maps*blockBytes {
		t.Errorf("%d maps without bytes read %g, want %g", maps, got, want)
	}
}
