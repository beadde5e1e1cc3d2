package attempt

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// TestCommitWaitsForSpace: a commit for which no disk has space is tried again for half a minute, any other error at once ends it, and so does the end
// of the driver.
func TestCommitWaitsForSpace(t *testing.T) {
	full := fmt.Errorf("commit: %w", wire.Errorf(wire.NoSpace, "none of 1 live nodes has 64 bytes free"))
	other := errors.New("other")
	for name, c := range map[string]struct {
		errs  []error // of the first tries; the last one stays
		stop  time.Duration
		want  error
		tries int
		after time.Duration
	}{
		"there is space":    {[]error{nil}, 0, nil, 1, 0},
		"there will be":     {[]error{full, full, full, nil}, 0, nil, 4, 7 * time.Second},
		"there never is":    {[]error{full}, 0, full, 6, 31 * time.Second},
		"another error":     {[]error{other}, 0, other, 1, 0},
		"then another":      {[]error{full, other}, 0, other, 2, time.Second},
		"the driver's end":  {[]error{full}, 5 * time.Second, context.Canceled, 3, 5 * time.Second},
		"a context's error": {[]error{context.Canceled}, 0, context.Canceled, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.stop > 0 {
				time.AfterFunc(c.stop, cancel)
			}
			begin, tries := time.Now(), 0
			err := whenThereIsSpace(ctx, func() error {
				tries++
				return c.errs[min(tries, len(c.errs))-1]
			})
			if !errors.Is(err, c.want) || tries != c.tries || time.Since(begin) != c.after {
				t.Errorf("%s: %v after %d tries and %v, want %v, %d, %v", name, err, tries, time.Since(begin), c.want, c.tries, c.after)
			}
		})
	}
}
