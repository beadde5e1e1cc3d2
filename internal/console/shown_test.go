package console

import (
	"bytes"
	"strings"
	"testing"
)

// TestShown: bytes of others reach a terminal as text, however they are cut into pieces; elsewhere they stay as they are.
func TestShown(t *testing.T) {
	const in = "red \x1b[31m and Größe\r\n\tover\rwritten \u202egnp \u009b2J \xff\xfe 日本\n"
	const want = `red \x1b[31m and Größe` + "\r\n\t" + `over\rwritten \u202egnp \u009b2J \xff\xfe 日本` + "\n"
	for size := 1; size <= len(in); size++ {
		var out strings.Builder
		w := &escaper{w: &out}
		for rest := in; rest != ""; {
			n, err := w.Write([]byte(rest[:min(size, len(rest))]))
			if err != nil || n != min(size, len(rest)) {
				t.Fatalf("%d bytes of %d are taken: %v", n, size, err)
			}
			rest = rest[n:]
		}
		if out.String() != want {
			t.Fatalf("in pieces of %d: %q, want %q", size, out.String(), want)
		}
	}
	var pipe bytes.Buffer
	if Shown(&pipe) != &pipe {
		t.Error("what is no terminal gets other bytes")
	}
}
