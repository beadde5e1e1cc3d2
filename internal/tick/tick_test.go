package tick

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestEvery: the first tick comes after the interval, none while the consumer is busy, none after the context has ended.
func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begin, got := time.Now(), []time.Duration{}
		for at := range Every(ctx, time.Second) {
			got = append(got, at.Sub(begin))
			switch len(got) {
			case 2:
				time.Sleep(2500 * time.Millisecond)
			case 4:
				cancel()
			}
		}
		want := []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second}
		if len(got) != len(want) {
			t.Fatalf("ticks at %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("ticks at %v, want %v", got, want)
				break
			}
		}
		for range Every(t.Context(), time.Second) {
			break // a consumer that has enough ends it
		}
	})
}
