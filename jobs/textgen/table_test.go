package textgen

import (
	"bytes"
	"regexp"
	"testing"
)

// Every kind makes the lines that it says, whole ones, for blocks of every size, and the same for the same seed.
func TestTables(t *testing.T) {
	forms := map[string]string{
		"graph": `^n\d+ n\d+ *$`, "points": `^-?\d+ -?\d+ *$`, "visits": `^\d+ u\d+ /page/\d+ \d+ *$`, "matrix": `^[AB] \d+ \d+ -?\d+ *$`,
	}
	for _, kind := range Kinds() {
		form := regexp.MustCompile(forms[kind])
		table, err := NewTable(TableConfig{Kind: kind, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range []int{1, 2, 3, 10, 40, 100, 1000, BlockBytes} {
			got, again := make([]byte, size), make([]byte, size)
			table.Fill(got, 3)
			table.Fill(again, 3)
			if !bytes.Equal(got, again) || got[size-1] != '\n' {
				t.Fatalf("%s: %d bytes are not the same twice, or no whole lines", kind, size)
			}
			for line := range bytes.Lines(got) {
				if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > 0 && !form.Match(line) || len(line) == 0 && size >= 40 {
					t.Fatalf("%s: line %q", kind, line)
				}
			}
		}
		other := make([]byte, 1000)
		same := make([]byte, 1000)
		table.Fill(other, 4)
		table.Fill(same, 3)
		if bytes.Equal(other, same) {
			t.Errorf("%s: two blocks are equal", kind)
		}
	}
	for _, wrong := range []TableConfig{{Kind: "chairs"}, {Kind: "graph", Things: -1}, {Kind: "graph", Things: 1 << 25}} {
		if _, err := NewTable(wrong); err == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

// Points lie around as many centres as asked for.
func TestPointsLieAroundTheirCentres(t *testing.T) {
	seen := map[[2]int64]bool{}
	for n := range 24 {
		x, y := circle(n, 24)
		if r := x*x + y*y; r < 990_000 || r > 1_010_000 {
			t.Errorf("centre %d at %d, %d", n, x, y)
		}
		seen[[2]int64{x, y}] = true
	}
	if len(seen) != 24 {
		t.Errorf("%d centres of 24", len(seen))
	}
}
