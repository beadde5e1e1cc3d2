package lint

import (
	"regexp"
	"strings"
	"testing"
)

// twice is how many pairs of product files have six lines in common, comments and imports left out, and lines of hardly more than brackets. It may only
// fall. One is left: examples/bfs and examples/pagerank, each of which is to be copied as it stands.
const twice = 1

const sameLines = 6

// TestNothingIsWrittenTwice finds lines that a new file has copied from another.
func TestNothingIsWrittenTwice(t *testing.T) {
	where, pairs := map[string][]string{}, map[[2]string]string{}
	for _, f := range load(t) {
		if f.test || f.folder == "integration/testprog" {
			continue
		}
		for _, w := range windows(f.text(t)) {
			for _, other := range where[w] {
				if pair := [2]string{other, f.path}; other != f.path && pairs[pair] == "" {
					pairs[pair] = w
				}
			}
			where[w] = append(where[w], f.path)
		}
	}
	if len(pairs) < twice {
		t.Errorf("only %d pairs of files have lines in common: lower the figure from %d", len(pairs), twice)
	}
	if len(pairs) > twice {
		t.Errorf("%d pairs of files have %d lines in common, %d had: keep what is common once", len(pairs), sameLines, twice)
		for pair, w := range pairs {
			t.Logf("%s and %s:\n%s", pair[0], pair[1], w)
		}
	}
}

var (
	imports = regexp.MustCompile(`(?s)\nimport \(.*?\n\)`)
	comment = regexp.MustCompile(`(^|\s)//.*`)
	word    = regexp.MustCompile(`[^\s{}()]`)
)

// windows returns each six lines of a file that follow each other and say something.
func windows(text string) (out []string) {
	var lines []string
	for line := range strings.Lines(imports.ReplaceAllString(text, "")) {
		line = strings.Join(strings.Fields(comment.ReplaceAllString(line, "")), " ")
		if line == "" || strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "import ") {
			continue
		}
		if lines = append(lines, line); len(lines) < sameLines {
			continue
		}
		w := strings.Join(lines[len(lines)-sameLines:], "\n")
		if len(word.FindAllStringIndex(w, -1)) >= 60 {
			out = append(out, w)
		}
	}
	return out
}
