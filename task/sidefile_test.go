package task

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestPlaceSide(t *testing.T) {
	dir := t.TempDir()
	file, name := filepath.Join(dir, "file"), filepath.Join(dir, "name")
	if err := os.WriteFile(file, []byte("words"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := PlaceSide(file, name); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); string(b) != "words" {
		t.Errorf("%q, %v", b, err)
	}
	if err := PlaceSide(file, name); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second time: %v", err)
	}
	if err := CopyFile(file, name); !errors.Is(err, os.ErrExist) {
		t.Errorf("a copy over it: %v", err)
	}
	other := filepath.Join(dir, "other")
	if err := CopyFile(file, other); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(other); string(b) != "words" {
		t.Errorf("the copy has %q, %v", b, err)
	}
	if info, err := os.Stat(other); err != nil || info.Mode().Perm()&0o500 != 0o500 {
		t.Errorf("the copy cannot be run: %v, %v", info.Mode(), err)
	}
	for from, to := range map[string]string{filepath.Join(dir, "gone"): filepath.Join(dir, "new"), file: filepath.Join(dir, "nowhere", "new")} {
		if err := CopyFile(from, to); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s to %s: %v", from, to, err)
		}
	}
}
