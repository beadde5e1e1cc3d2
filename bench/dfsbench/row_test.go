package dfsbench

import (
	"testing"
	"time"
)

func TestVerdicts(t *testing.T) {
	for _, tt := range []struct {
		row  Row
		want string
	}{
		{Row{Value: 0.7, Must: 0.7}, "met"},
		{Row{Value: 0.69, Must: 0.7}, "missed"},
		{Row{Value: 2, Must: 2, AtMost: true}, "met"},
		{Row{Value: 2.1, Must: 2, AtMost: true}, "missed"},
	} {
		if got := tt.row.judged().Verdict; got != tt.want {
			t.Errorf("%+v: %s", tt.row, got)
		}
	}
}

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
