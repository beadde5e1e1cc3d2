package dfsbench

import (
	"testing"
	"time"
)

// TestRatioIsOfNeighbours: a round in which the machine was busy slows both and changes nothing.
func TestRatioIsOfNeighbours(t *testing.T) {
	var d duel
	for _, slow := range []time.Duration{1, 10, 3} {
		d.note(2*slow*time.Second, slow*time.Second)
	}
	if r := d.ratio(); r != 0.5 {
		t.Errorf("ratio %v, want 0.5", r)
	}
	if m := median(d.ours); m != 6*time.Second {
		t.Errorf("median %v, want 6 s", m)
	}
}
