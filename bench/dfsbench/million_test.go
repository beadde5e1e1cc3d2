package dfsbench

import (
	"os"
	"testing"
)

// TestManyFiles fills a namespace and reads the memory of a process.
func TestManyFiles(t *testing.T) {
	list, err := fillNames(t.Context(), t.TempDir(), 1500)
	if err != nil || len(list) != 1500 {
		t.Fatalf("%d blocks, %v", len(list), err)
	}
	for i, b := range list {
		if b.ID == 0 || b.Len == 0 {
			t.Fatalf("file %d has block %+v", i, b)
		}
	}
	if n, err := resident(os.Getpid()); err != nil || n < 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
