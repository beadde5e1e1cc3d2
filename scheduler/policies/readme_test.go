package policies

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/millrace/millrace/scheduler"
)

// ownInputs is what a policy reads of a job that not all read, as the table of docs/policies says it.
func ownInputs(name string) string {
	var flags []string
	for _, i := range InputsOf(name) {
		if !i.Everyone {
			flags = append(flags, "--"+i.Flag)
		}
	}
	if len(flags) == 0 {
		return "nothing"
	}
	return "`" + strings.Join(flags, " ") + "`"
}

// TestTableOfEffects: docs/policies/README.md has a row for every policy that assigns or admits, with all cells filled, the inputs that the
// policy reads, a page that is there, and tests and laboratories that are: at least one laboratory.
func TestTableOfEffects(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	files, _ := filepath.Glob("../../integration/*_test.go")
	labs, _ := filepath.Glob("../../lab/live/*.go")
	for _, f := range append(files, labs...) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(b)
	}
	rows := map[string][]string{}
	first := regexp.MustCompile(`^\[([a-z-]+)\]\(([a-z-]+\.md)\)$`)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		m := first.FindStringSubmatch(cells[0])
		if m == nil {
			continue
		}
		if rows[m[1]] != nil {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = cells
		if _, err := os.Stat("../../docs/policies/" + m[2]); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
	for _, i := range List() {
		if i.Seam != scheduler.Placing {
			checkRow(t, i.Name, rows[i.Name], source.String())
			delete(rows, i.Name)
		}
	}
	for name := range rows {
		t.Errorf("there is no policy %s", name)
	}
}

func checkRow(t *testing.T, name string, cells []string, source string) {
	if len(cells) != 7 {
		t.Errorf("%s has %d cells of 7: %v", name, len(cells), cells)
		return
	}
	if want := ownInputs(name); cells[1] != want {
		t.Errorf("%s reads %s, the table says %s", name, want, cells[1])
	}
	for i, c := range cells {
		if strings.TrimSpace(c) == "" {
			t.Errorf("%s: cell %d is empty", name, i+1)
		}
	}
	labs := 0
	for what := range strings.SplitSeq(cells[6], ", ") {
		switch {
		case strings.Contains(source, `ID: "`+what+`"`):
			labs++
		case !strings.Contains(source, "func "+what+"("):
			t.Errorf("%s: %s is neither a test of integration nor a live laboratory", name, what)
		}
	}
	if labs == 0 || !strings.Contains(source, `"`+name+`"`) {
		t.Errorf("%s has no live laboratory: give one an arm of it (lab/live), and the row its figures", name)
	}
}
