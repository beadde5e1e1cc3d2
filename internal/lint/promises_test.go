package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPromises: each promise of docs/promises.md stands in the README, and the tests that are to hold it exist.
func TestPromises(t *testing.T) {
	readme := strings.Join(strings.Fields(readPage(t, "../../README.md")), " ")
	tests := allTests(t)
	name := regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	n := 0
	for line := range strings.Lines(readPage(t, "../../docs/promises.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "--") || strings.TrimSpace(cells[1]) == "promise" {
			continue
		}
		n++
		if promise := strings.TrimSpace(cells[1]); !strings.Contains(readme, promise) {
			t.Errorf("the README does not say: %s", promise)
		}
		named := name.FindAllStringSubmatch(cells[2], -1)
		if len(named) == 0 {
			t.Errorf("no test holds: %s", cells[1])
		}
		for _, m := range named {
			if !tests[m[1]] {
				t.Errorf("there is no test %s", m[1])
			}
		}
	}
	if n < 15 {
		t.Errorf("only %d promises", n)
	}
}

// TestHeldPromises: every test that docs/reliability.md and docs/security.md name exists.
func TestHeldPromises(t *testing.T) {
	tests := allTests(t)
	name := regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9]+`)
	for _, page := range []string{"../../docs/reliability.md", "../../docs/security.md"} {
		named := name.FindAllString(readPage(t, page), -1)
		if len(named) < 10 {
			t.Errorf("%s names %d tests", page, len(named))
		}
		for _, n := range named {
			if !tests[n] {
				t.Errorf("%s: there is no test %s", page, n)
			}
		}
	}
}

// allTests lists the names of all tests.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	decl := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range decl.FindAllSubmatch(b, -1) {
			out[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
