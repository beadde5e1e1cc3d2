package disk

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestSweepTakesOnlyTheDead: what is claimed stays, what is not goes, and so does not what only looks like it.
func TestSweepTakesOnlyTheDead(t *testing.T) {
	dir := t.TempDir()
	live, err := TempDir(dir, "run-")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run-7", "run-x7", "other-7", "run-8"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "below"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"run-7.lock", "run-x7.lock", "other-7.lock"} { // run-8 was never claimed
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next, err := TempDir(dir, "run-")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"run-7": false, "run-7.lock": false, "run-8": true, "run-x7": true, "run-x7.lock": true, "other-7": true, "other-7.lock": true,
		filepath.Base(live.Path()): true, filepath.Base(next.Path()): true,
	} {
		if _, err := os.Lstat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err == nil, want)
		}
	}
	for _, c := range []*Claim{live, next} {
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "run-*")); len(left) != 3 {
		t.Errorf("left: %q", left)
	}
}

// TestTemporaryPlace: without a directory one is made in that for temporary files, for its owner alone; in one that is not there none is, and nothing is left of the claim.
func TestTemporaryPlace(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	c, err := TempDir("", "run-")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(c.Path()); filepath.Dir(c.Path()) != dir || err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		t.Errorf("%s, %v, %v", c.Path(), info, err)
	}
	if err := c.Remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if c, err := TempDir(filepath.Join(dir, "none"), "run-"); err == nil {
		t.Errorf("made %s", c.Path())
	}
	var none *Claim
	none.Release()
}

// TestSweepBeforeTheLock: a sweep comes between the making of a claim's file and its lock, at both of the moments there are: the claim is
// not made with a file that the sweep has removed, or is about to.
func TestSweepBeforeTheLock(t *testing.T) {
	dir := t.TempDir()
	file := func() *os.File {
		f, err := os.CreateTemp(dir, "run-*"+lockSuffix)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := file()
	if err := Sweep(dir, "run-", os.RemoveAll); err != nil {
		t.Fatal(err)
	}
	if c, err := lockClaim(f); c != nil || err != nil {
		t.Errorf("claimed by a file that is gone: %v, %v", c, err)
	}
	f = file()
	if err := Sweep(dir, "run-", func(string) error {
		if c, err := lockClaim(f); c != nil || err != nil {
			t.Errorf("claimed in the middle of a sweep: %v, %v", c, err)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if c, err := lockClaim(file()); c == nil || err != nil {
		t.Errorf("not claimed: %v", err)
	} else if err := c.Remove(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// TestSweepBesideClaims: claims that are made at once do not sweep each other.
func TestSweepBesideClaims(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				c, err := TempDir(dir, "run-")
				if err != nil {
					t.Error(err)
					return
				}
				if err := os.WriteFile(filepath.Join(c.Path(), "file"), nil, 0o600); err != nil {
					t.Error("somebody swept what lives: ", err)
				}
				if err := c.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}
