package rpc

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestPausesGrow: the pauses between tries begin with 20 ms, double up to a second, are never shorter than half of that nor longer, and nothing is tried
// after half a minute.
func TestPausesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		last, tries, pause := begin, 0, 20*time.Millisecond
		err := Retry{}.Do(t.Context(), func() error {
			if since := time.Since(last); tries > 0 {
				if since < pause/2 || since > pause {
					t.Errorf("the pause before try %d is %v, want half to all of %v", tries+1, since, pause)
				}
				pause = min(2*pause, time.Second)
			}
			last, tries = time.Now(), tries+1
			return wire.Errorf(wire.Unavailable, "nobody is there")
		})
		if took := time.Since(begin); wire.KindOf(err) != wire.Unavailable || tries < 30 || took < 28*time.Second || took > 30*time.Second {
			t.Errorf("%d tries in %v: %v", tries, took, err)
		}
	})
}

// TestWhatIsNotTriedAgain: what cannot help, what a stranger says unless one is stubborn, and what nobody waits for any more.
func TestWhatIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		stranger := errors.Join(wire.Errorf(wire.Unavailable, "another"), ErrStranger)
		for what, x := range map[string]struct {
			r    Retry
			ctx  context.Context
			err  error
			once bool
		}{
			"a mistake":                {Retry{}, t.Context(), wire.Errorf(wire.Invalid, "no"), true},
			"a stranger":               {Retry{}, t.Context(), stranger, true},
			"a stranger, stubbornly":   {Retry{Stubborn: true}, t.Context(), stranger, false},
			"a worker that is away":    {Retry{}, t.Context(), wire.Errorf(wire.Unavailable, "away"), false},
			"nobody waits for it":      {Retry{}, gone, wire.Errorf(wire.Unavailable, "away"), true},
			"no time for another":      {Retry{First: 2, For: 1}, t.Context(), wire.Errorf(wire.Unavailable, "away"), true},
			"just enough time for one": {Retry{First: 2, For: 2}, t.Context(), wire.Errorf(wire.Unavailable, "away"), false},
		} {
			tries := 0
			err := x.r.Do(x.ctx, func() error {
				if tries++; tries > 1 {
					return nil
				}
				return x.err
			})
			if once := tries == 1; once != x.once || (err != nil) != x.once {
				t.Errorf("%s: %d tries, %v", what, tries, err)
			}
		}
	})
}

// TestFramesOfNoKind: a header of an unknown kind or form, or with a name longer than the frame, is damage, also where its checksum is right.
func TestFramesOfNoKind(t *testing.T) {
	for at, bad := range map[int][]byte{20: {0, byte(callFrame) - 1, byte(cancelFrame) + 1, 255}, 21: {9}, 22: {byte(knownForms) + 1}} {
		for _, b := range bad {
			raw := make([]byte, headerSize+8)
			raw[0], raw[20] = 8, byte(callFrame)
			if _, _, err := readHeader(bytes.NewReader(raw), 8); err != nil {
				t.Fatal(err)
			}
			raw[at] = b
			if _, _, err := readHeader(bytes.NewReader(raw), 8); wire.KindOf(err) != wire.Corrupt {
				t.Errorf("byte %d is %d: %v", at, b, err)
			}
		}
	}
	raw := make([]byte, headerSize)
	raw[0], raw[20] = 8, byte(cancelFrame)
	for limit, ok := range map[int]bool{7: false, 8: true} {
		if _, _, err := readHeader(bytes.NewReader(raw), limit); (err == nil) != ok || !ok && wire.KindOf(err) != wire.TooLarge {
			t.Errorf("8 bytes of at most %d: %v", limit, err)
		}
	}
}
