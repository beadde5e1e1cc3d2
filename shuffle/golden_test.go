package shuffle

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files")

// TestGoldenSegments reads files written by earlier versions, and wants the same bytes written
// today where no compressor has a say in them.
func TestGoldenSegments(t *testing.T) {
	for _, codec := range []Compression{None, S2, Zstd} {
		t.Run(codec.String(), func(t *testing.T) {
			_, content, want := smallSegment(t, codec)
			golden := filepath.Join("testdata", "golden-"+codec.String()+".seg")
			if *rewrite {
				if err := os.WriteFile(golden, content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got, err := readSegment(golden)
			if err != nil {
				t.Fatal(err)
			}
			for p := range want {
				wantPairs(t, golden, got[p], want[p])
			}
			old, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if codec == None && !bytes.Equal(old, content) {
				t.Error("the format has changed: raise its version and see docs/formats/segment.md")
			}
		})
	}
}
