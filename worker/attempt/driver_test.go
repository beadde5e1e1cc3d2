package attempt

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
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

// TestPlanRemovesNothing: a driver whose plan fails may have been taken for dead. What the next one has made, and attempts write to, stays; what nobody
// has made is not there after it, parents included.
func TestPlanRemovesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		input, output string
		made, fails   bool
	}{
		"it plans":                {input: "in", output: "new/out"},
		"after another":           {input: "in", output: "new/out", made: true},
		"no input, alone":         {input: "gone", output: "new/out", fails: true},
		"no input, after another": {input: "gone", output: "new/out", made: true, fails: true},
		"output cannot be made":   {input: "in", output: "in/out", fails: true},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "in"), []byte("a\nb\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &runner{l: &wire.Launch{ID: wire.AttemptID{Job: "job-7", Kind: wire.DriverTask}, Spec: &wire.JobSpec{Stages: 1}}}
		r.job = &mapreduce.Job{Name: "j", Input: []string{filepath.Join(dir, c.input)}, Output: filepath.Join(dir, c.output), Map: mapreduce.Lines(func([]byte, func([]byte, int64)) {}), Fold: mapreduce.Sum}
		work, err := task.WorkDir(r.Store, r.job, r.ref().String())
		if err != nil {
			t.Fatal(err)
		}
		part := filepath.Join(work, "_attempts", "part-r-00000-9")
		if c.made {
			if err := errors.Join(os.MkdirAll(filepath.Dir(part), 0o700), os.WriteFile(part, []byte("half"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		_, err = r.divide(t.Context(), layoutFor(nil))
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(part); (err == nil) != c.made {
			t.Errorf("%s: what an attempt writes: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "new")); (err == nil) != (c.made || !c.fails) {
			t.Errorf("%s: the directory above the output: %v", name, err)
		}
	}
}
