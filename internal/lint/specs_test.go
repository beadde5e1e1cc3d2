package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// has reports whether a number leads somewhere: to a section, or, as spec/nas 6.18, to item 18 of section 6.
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
	// loose is a place that only a citation in the same comment makes one.
	loose = regexp.MustCompile(`\bitems? (\d+)(?:(?:-| to | and )(\d+))?|\b[Ee]q\. (\d+)|\bR(\d+)\b|\b(?:of|section) ([1-9]\.[1-9]\d?)\b|^([1-9]\.\d+)(?:$|:| and \d)`)
	bare  = regexp.MustCompile(`(?m)//.*[^a-z]\(\d\.\d+(?:\)|, (?:item|line|example|script|Algorithm))`)
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

// astray returns the places of a comment that stand outside a citation and lead nowhere: they are of a document that the same
// comment cites.
func astray(specs map[string]*spec, comment string) (bad []string) {
	comment = strings.Join(strings.Fields(comment), " ")
	cited := citation.FindAllStringSubmatch(comment, -1)
	for _, m := range loose.FindAllStringSubmatch(citation.ReplaceAllString(comment, "spec"), -1) {
		if !slices.ContainsFunc(cited, func(c []string) bool { return specs[c[1]] != nil && specs[c[1]].leads(c[2], m) }) {
			bad = append(bad, m[0])
		}
	}
	return bad
}

// leads reports whether a loose place is in the document, an item in one of the sections that are cited.
func (s *spec) leads(places string, m []string) bool {
	has := func(item string) bool {
		return item == "" || slices.ContainsFunc(strings.FieldsFunc(places, func(r rune) bool { return r == ' ' || r == ',' }), func(section string) bool { return s.items[section][item] })
	}
	text := strings.ToLower(allText(s))
	switch {
	case m[1] != "":
		return has(m[1]) && has(m[2])
	case m[3] != "":
		return strings.Contains(text, "eq. "+m[3]) || strings.Contains(text, "\n("+m[3]+") ")
	case m[4] != "":
		return strings.Contains(text, "| r"+m[4]+" |")
	}
	return s.has(m[5] + m[6])
}

// TestCitationsAreWhole: no comment cites a place without saying of which specification it is.
func TestCitationsAreWhole(t *testing.T) {
	specs := readSpecs(t)
	for _, f := range load(t) {
		for _, c := range f.ast.Comments {
			for _, bad := range astray(specs, c.Text()) {
				if f.path != "internal/lint/specs_test.go" {
					t.Errorf("%s: %q leads nowhere: write spec/NAME before it, or once in the comment", fset.Position(c.Pos()), bad)
				}
			}
		}
	}
	for comment, bad := range map[string]int{
		"rows is spec/nas 5, item 9, with the tolerance of item 6": 0, "limit is the gate of 3.12 (spec/nas 3.2)": 0, "mu (spec/deadline 3.1), eq. 1": 0,
		"rows is item 9": 1, "lines 5 to 17 of 3.2": 1, "6.21": 1, "2.3 and 6, item 1: how many": 2, "eq. 3 is not evaluated": 1, "whoPays is R18": 1,
		"rows is spec/nas 5, item 9: as items 98 to 99": 1, "mu (spec/deadline 3.1), eq. 17": 1, "spec/slowdown 4.4, R99": 1, "3 of 8 files, 670 of 1.00 GiB": 0,
	} {
		if got := astray(specs, comment); len(got) != bad {
			t.Errorf("%s: %q, want %d", comment, got, bad)
		}
	}
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
