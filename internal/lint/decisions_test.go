package lint

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDecisions: each page of docs/decisions has its number, date and status, all parts with something in them, and a row in the
// table and in ARCHITECTURE.md.
func TestDecisions(t *testing.T) {
	pages, err := filepath.Glob("../../docs/decisions/0*.md")
	if err != nil || len(pages) < 21 {
		t.Fatalf("%d decisions, %v", len(pages), err)
	}
	table, architecture := readPage(t, "../../docs/decisions/README.md"), readPage(t, "../../ARCHITECTURE.md")
	head := regexp.MustCompile(`^# (\d+)\. (.+)\n\nDate: (\d{4}-\d\d-\d\d)\. Status: (accepted|superseded by \d+)\.\n`)
	for i, p := range pages {
		name, text := filepath.Base(p), readPage(t, p)
		m := head.FindStringSubmatch(text)
		if m == nil || m[1] != fmt.Sprint(i+1) || !strings.HasPrefix(name, fmt.Sprintf("%04d-", i+1)) {
			t.Errorf("%s does not begin with its number, title, date and status", name)
			continue
		}
		if row := fmt.Sprintf("| %s | [%s](%s) | %s | %s |\n", m[1], m[2], name, m[3], m[4]); !strings.Contains(table, row) {
			t.Errorf("docs/decisions/README.md has no row %s", row)
		}
		if row := fmt.Sprintf("%s. [%s](docs/decisions/%s)\n", m[1], m[2], name); !strings.Contains(architecture, row) {
			t.Errorf("ARCHITECTURE.md does not list %s", row)
		}
		checkParts(t, name, text)
	}
}

func checkParts(t *testing.T, name, text string) {
	t.Helper()
	for _, part := range []string{"Context", "Decision", "Alternatives", "Consequence"} {
		_, rest, found := strings.Cut(text, "\n## "+part+"\n")
		says, _, _ := strings.Cut(rest, "\n## ")
		least := 20
		if part == "Alternatives" {
			least = 80 // what it is, and why not
		}
		if says = strings.TrimSpace(says); !found || len(says) < least || strings.HasPrefix(says, "None") {
			t.Errorf("%s says nothing under %s", name, part)
		}
	}
}
