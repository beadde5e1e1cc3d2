package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A link of Markdown: [text](target). Code in backticks is taken out first.
var (
	link     = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	codeSpan = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	notWord  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows every relative link of the Markdown pages to a file, and to a heading where it names one.
func TestLinks(t *testing.T) {
	n := 0
	for _, page := range markdown(t) {
		for _, m := range link.FindAllStringSubmatch(codeSpan.ReplaceAllString(readPage(t, page), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			if why := broken(t, page, m[1]); why != "" {
				t.Errorf("%s: the link to %s leads nowhere: %s", page, m[1], why)
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d links found", n)
	}
}

// broken says why a link of a page leads nowhere; it is empty if it leads somewhere.
func broken(t *testing.T, page, target string) string {
	t.Helper()
	path, heading, named := strings.Cut(target, "#")
	file := page
	if path != "" {
		file = filepath.Join(filepath.Dir(page), filepath.FromSlash(path))
	}
	if _, err := os.Stat(file); err != nil {
		return "there is no such file"
	}
	if named && strings.HasSuffix(file, ".md") && !headings(readPage(t, file))[heading] {
		return "the page has no such heading"
	}
	return ""
}

// headings lists the anchors of a page, as web pages of repositories name them.
func headings(text string) map[string]bool {
	out := map[string]bool{}
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			plain := notWord.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			out[strings.ReplaceAll(plain, " ", "-")] = true
		}
	}
	return out
}

func markdown(t *testing.T) (out []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(p, ".md") {
			out = append(out, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readPage(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestLinksThatLeadNowhere holds the checker itself.
func TestLinksThatLeadNowhere(t *testing.T) {
	page := filepath.Join("..", "..", "README.md")
	for target, ok := range map[string]bool{
		"ARCHITECTURE.md": true, "docs": true, "ARCHITECTURE.md#decisions": true, "docs/operations.md#watch-it": true, "#scheduling": true,
		"NOSUCH.md": false, "docs/nosuch": false, "ARCHITECTURE.md#nosuch": false, "#nosuch": false,
	} {
		if why := broken(t, page, target); (why == "") != ok {
			t.Errorf("a link to %s: %q, want ok=%v", target, why, ok)
		}
	}
}
