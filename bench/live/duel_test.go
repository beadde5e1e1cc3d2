package live

import (
	"testing"
	"time"
)

// TestRatioIsOfNeighbours: a round in which the machine was busy slows both and changes nothing.
func TestRatioIsOfNeighbours(t *testing.T) {
	var d Duel
	for _, slow := range []time.Duration{1, 10, 3} {
		d.Note(2*slow*time.Second, slow*time.Second)
	}
	if r := d.Speed(); r != 0.5 || d.Cost() != 2 {
		t.Errorf("speed %v and cost %v, want 0.5 and 2", r, d.Cost())
	}
	if m := Median(d.Ours); m != 6*time.Second {
		t.Errorf("median %v, want 6 s", m)
	}
}
