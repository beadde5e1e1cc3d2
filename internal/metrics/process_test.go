package metrics

import (
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	for stat, want := range map[string]time.Duration{
		"7 (a (b) 9) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 25 75 20 0 1 0": 3 * time.Second,
		"7 (a) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 x 75 20 0":            0,
		"7 (a) S 1 7": 0, "": 0, ")": 0,
	} {
		if got := parseProcess([]byte(stat)); got != want {
			t.Errorf("%q: %s, want %s", stat, got, want)
		}
	}
}

func FuzzParseProcess(f *testing.F) {
	f.Add([]byte("7 (a) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 25 75 20 0 1 0"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		if d := parseProcess(stat); d < 0 {
			t.Errorf("%s", d)
		}
	})
}
