package worker

import "testing"

// TestWaitingForDisksIsNotIdle: a machine that spends its time waiting for disks is as busy as vmstat's id says.
func TestWaitingForDisksIsNotIdle(t *testing.T) {
	var p processor
	if got, ok := p.since("cpu  100 0 100 1000 0 0 0 0 0 0\n"); ok {
		t.Errorf("the first look cannot say anything, and says %g", got)
	}
	for _, tt := range []struct {
		name, stat string
		want       float64
	}{
		{"all kinds", "cpu  110 10 110 1030 20 10 0 10 0 0\ncpu0 1 2 3\n", 30},
		{"nothing to do", "cpu  110 10 110 1130 20 10 0 10 0 0", 100},
		{"waits for disks", "cpu  110 10 110 1130 120 10 0 10 0 0", 0},
	} {
		if got, ok := p.since(tt.stat); !ok || got != tt.want {
			t.Errorf("%s: %g %v, want %g", tt.name, got, ok, tt.want)
		}
	}
	for _, bad := range []string{"", "intr 1", "cpu 1 2 3", "cpu a b c d e f", "cpu  -1 10 110 1030 20 10 0 10 0 0"} {
		if _, ok := p.since(bad); ok {
			t.Errorf("%q was understood", bad)
		}
	}
}
