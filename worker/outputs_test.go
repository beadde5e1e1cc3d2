package worker

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStagesWithoutOutputGo: a directory in which a worker that was killed has left nothing of use is removed at the next start: no master is
// told of it, so that none would say that it can go.
func TestStagesWithoutOutputGo(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "job-7.0")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"reduce-00001-4.spill": "half", packName: ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o, held, err := openOutputs(root, 1000)
	if err != nil || len(held) != 0 {
		t.Fatalf("%v are held: %v", held, err)
	}
	defer o.files.close()
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there (%v)", err)
	}
	if n := len(o.files.open); n != 0 {
		t.Errorf("%d packs are open", n)
	}
}
