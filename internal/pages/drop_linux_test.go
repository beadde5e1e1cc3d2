package pages_test

import (
	"bytes"
	"testing"

	"github.com/millrace/millrace/internal/pages"
)

// TestDrop: a large buffer is given back whole, also what lies behind its length; a small one is left alone.
func TestDrop(t *testing.T) {
	t.Parallel()
	large := bytes.Repeat([]byte{7}, 2*pages.Large)
	pages.Drop(large[:10])
	if large[pages.Large] != 0 {
		t.Error("a large buffer is still there")
	}
	just := bytes.Repeat([]byte{7}, pages.Large)
	pages.Drop(just)
	if just[pages.Large/2] != 0 {
		t.Error("a buffer that is just large is still there")
	}
	small := bytes.Repeat([]byte{7}, pages.Large-1)
	pages.Drop(small)
	if small[pages.Large/4] != 7 {
		t.Error("a small buffer was given back")
	}
	pages.Drop(nil)
}
