package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A spec is what can be cited in one document of docs/specs: sections, numbered items of each, and the text of each.
type spec struct {
	text  map[string]string          // by section, "3" or "3.14"; a section has the text of its parts too
	items map[string]map[string]bool // by section
}

var (
	specHeading = regexp.MustCompile(`^#{2,3} (?:Appendix )?([A-Z0-9]+(?:\.\d+)?)\.? `)
	specItem    = regexp.MustCompile(`^(?:(\d+)\.|\| (?:\d+\.)?(\d+) \||\((\w)\)) `)
)

func readSpecs(t *testing.T) map[string]*spec {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "docs", "specs", "*.md"))
	if err != nil || len(paths) < 7 {
		t.Fatalf("docs/specs has %d documents: %v", len(paths), err)
	}
	out := map[string]*spec{}
	for _, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(p), ".md")] = parseSpec(string(raw))
	}
	return out
}

func parseSpec(raw string) *spec {
	s := &spec{text: map[string]string{}, items: map[string]map[string]bool{}}
	section := ""
	for line := range strings.Lines(raw) {
		if m := specHeading.FindStringSubmatch(line); m != nil {
			section = m[1]
		}
		whole, _, _ := strings.Cut(section, ".")
		for _, name := range []string{section, whole} {
			s.text[name] += line
			if s.items[name] == nil {
				s.items[name] = map[string]bool{}
			}
			if m := specItem.FindStringSubmatch(strings.TrimSpace(line) + " "); m != nil {
				s.items[name][m[1]+m[2]+m[3]] = true
			}
			if whole == section {
				break
			}
		}
	}
	return s
}

// has reports whether a number leads somewhere: to a section, or, as 6.18, to item 18 of section 6.
func (s *spec) has(number string) bool {
	if _, ok := s.text[number]; ok {
		return true
	}
	whole, item, _ := strings.Cut(number, ".")
	return s.items[whole][item]
}

// A citation is spec/NAME and the places after it: "3.14", "6, items 1 and 3-5", "2.6(a)", "Table 4.1", "Appendix A".
var (
	citation = regexp.MustCompile(`\bspec/([a-z]+)((?:(?:[,;]? (?:and |to )?)(?:\d+(?:\.\d+)?[a-z]?(?:\([a-z]\))?(?:[-–]\d+(?:\.\d+)?)?|items?|examples?|Table|Appendix [A-Z]))*)`)
	place    = regexp.MustCompile(`(items?|examples?|Table|Appendix)|(\d+(?:\.\d+)?)(?:\(?([a-z])\)?)?(?:[-–](\d+))?|\b([A-Z])\b`)
	joined   = regexp.MustCompile(`\s*\n\s*(?:// ?)?`)
	source   = regexp.MustCompile(`//.*\b(?:[Ee]quation \(|Algorithm |Table |Figure )\d`) // of a document
	bare     = regexp.MustCompile(`(?m)//.*[^a-z]\(\d\.\d+(?:\)|, (?:item|line|example|script|Algorithm))`)
)

// check returns the places of one citation that lead nowhere.
func (s *spec) check(places string) (bad []string) {
	section, kind := "", ""
	for _, m := range place.FindAllStringSubmatch(places, -1) {
		switch {
		case m[1] != "":
			kind = strings.TrimSuffix(m[1], "s")
		case m[5] != "":
			if _, ok := s.text[m[5]]; !ok {
				bad = append(bad, m[0])
			}
		case kind == "Table":
			if !strings.Contains(strings.Join([]string{s.text[section], allText(s)}, "\n"), "Table "+m[2]) {
				bad = append(bad, "Table "+m[2])
			}
			kind = ""
		case (kind == "item" || kind == "example") && !strings.Contains(m[2], "."):
			bad = append(bad, s.missingItems(section, m[2], m[4])...)
		default:
			section, kind = m[2], ""
			if !s.has(section) || m[3] != "" && !s.items[section][m[3]] {
				bad = append(bad, m[0])
			}
		}
	}
	return bad
}

func (s *spec) missingItems(section, from, to string) (bad []string) {
	first, _ := strconv.Atoi(from)
	last, _ := strconv.Atoi(to)
	for i := first; i <= max(first, last); i++ {
		if !s.items[section][strconv.Itoa(i)] {
			bad = append(bad, "item "+strconv.Itoa(i)+" of "+section)
		}
	}
	return bad
}

func allText(s *spec) string {
	var b strings.Builder
	for _, t := range s.text {
		b.WriteString(t)
	}
	return b.String()
}

// TestCitations follows every citation of a specification, in code and in docs, to its place in docs/specs.
func TestCitations(t *testing.T) {
	specs := readSpecs(t)
	n := 0
	for _, p := range citing(t) {
		raw, err := os.ReadFile(filepath.Join("..", "..", p))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range citation.FindAllStringSubmatch(joined.ReplaceAllString(string(raw), " "), -1) {
			s := specs[m[1]]
			if s == nil {
				t.Errorf("%s cites spec/%s, which docs/specs does not have", p, m[1])
				continue
			}
			n++
			for _, bad := range s.check(m[2]) {
				t.Errorf("%s cites spec/%s%s: docs/specs/%s.md has no %s", p, m[1], m[2], m[1], bad)
			}
		}
		for line := range strings.Lines(string(raw)) {
			if strings.HasSuffix(p, ".go") && !strings.HasSuffix(p, "_test.go") && source.MatchString(line) && !strings.Contains(line, "spec/") {
				t.Errorf("%s: %q names no specification: write spec/NAME beside it", p, strings.TrimSpace(line))
			}
		}
		if m := bare.FindString(string(raw)); m != "" && strings.HasPrefix(p, "scheduler/") && !strings.Contains(m, "equation (") {
			t.Errorf("%s: %q names no specification: write spec/NAME before the number", p, m)
		}
	}
	if n < 500 {
		t.Errorf("only %d citations found", n)
	}
}

// citing lists the files that may cite: all Go files and the pages of docs, but for the specifications.
func citing(t *testing.T) (out []string) {
	t.Helper()
	for _, f := range load(t) {
		if f.path != "internal/lint/specs_test.go" {
			out = append(out, f.path)
		}
	}
	for _, pattern := range []string{"docs/*.md", "docs/policies/*.md", "docs/lab/*.md", "docs/lab/live/*.md", "docs/course/*.md", "lab/*/words.md"} {
		pages, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			rel, _ := filepath.Rel(filepath.Join("..", ".."), p)
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// TestCitationsThatLeadNowhere holds the checker itself: each of these must be noticed.
func TestCitationsThatLeadNowhere(t *testing.T) {
	specs := readSpecs(t)
	for cite, bad := range map[string]int{
		"spec/nas 3.14": 0, "spec/nas 6.18": 0, "spec/nas 5, items 4, 7-10": 0, "spec/hybrid 2.6(a)": 0, "spec/marp Appendix A": 0,
		"spec/capacity Table 4.1": 0, "spec/nas 3.14, 4.1 and 5": 0,
		"spec/nas 3.99": 1, "spec/nas 9": 1, "spec/nas 6.180": 1, "spec/nas 5, items 15-18": 2, "spec/hybrid 2.6(q)": 1, "spec/marp Appendix Z": 1,
	} {
		m := citation.FindStringSubmatch(cite)
		if m == nil {
			t.Errorf("%s is not seen", cite)
			continue
		}
		if got := specs[m[1]].check(m[2]); len(got) != bad {
			t.Errorf("%s: %d places lead nowhere (%v), want %d", cite, len(got), got, bad)
		}
	}
}
