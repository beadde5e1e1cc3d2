package lint

import (
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// counted is a place in a listing or a list: a line, a step. The section is that of the last citation that has such a thing.
	counted = regexp.MustCompile(`\b([Ll]ine|[Ss]tep)s? (\d+)(?:[a-z]\b)?(?:(?: to |-| and )(\d+))?`)
	// titled is something with a number of the source's own. A document that the file cites has it.
	titled = regexp.MustCompile(`\b(Algorithm|Table|Figure|Appendix|Appendice|script|[Ee]quation)s? \(?([A-Z0-9][0-9IVX.]*[0-9IVX]|[A-Z0-9])\b(?: and ([0-9][0-9.]*[0-9]|[0-9]))?`)
	// researched are the folders whose code is made after documents.
	researched   = regexp.MustCompile(`^(scheduler|sim|lab|netmon|topology)(/|$)`)
	numberedLine = regexp.MustCompile(`^ *(\d+)(?:-(\d+))?[.:]? +\S`)
)

// numbered are the lines of a section's listings, or the steps of its lists.
func (s *spec) numbered(section, kind string) map[int]bool {
	out, inside := map[int]bool{}, false
	for line := range strings.Lines(s.text[section]) {
		if strings.HasPrefix(line, "```") {
			inside = !inside
		}
		listing := inside || strings.HasPrefix(line, "    ")
		if m := numberedLine.FindStringSubmatch(line); m != nil && (listing || strings.EqualFold(kind, "step")) {
			first, _ := strconv.Atoi(m[1])
			last, _ := strconv.Atoi(m[2])
			for n := first; n <= max(first, last); n++ {
				out[n] = true
			}
		}
	}
	return out
}

// A reader goes through the comments of a file from the top, as a stranger does.
type reader struct {
	specs map[string]*spec
	cited [][][]string // by comment so far, citations: document and places
}

// finds reports whether the last comment that cites a section with lines cites one with these.
func (r *reader) finds(m []string) bool {
	first, _ := strconv.Atoi(m[2])
	last, _ := strconv.Atoi(m[3])
	for _, comment := range slices.Backward(r.cited) {
		some := false
		for _, c := range comment {
			for _, p := range place.FindAllStringSubmatch(c[1], -1) {
				lines := r.specs[c[0]].numbered(p[2], m[1])
				if some = some || len(lines) > 0; lines[first] && (last == 0 || lines[last]) {
					return true
				}
			}
		}
		if some {
			return false
		}
	}
	return false
}

// has reports whether a document that was cited so far has a table, figure or algorithm of a number.
func (r *reader) has(kind, number string) bool {
	before := `\b` + kind + `s? (?:[A-Z0-9][0-9IVX.]*(?:,| and|;| to)? )*`
	switch kind {
	case "Figure":
		before = strings.Replace(before, kind, `(?:Figure|Fig\.?)`, 1)
	case "equation", "Equation":
		before = `\(`
	}
	find := regexp.MustCompile(before + regexp.QuoteMeta(number) + `\b`)
	return slices.ContainsFunc(slices.Concat(r.cited...), func(c []string) bool { return find.MatchString(allText(r.specs[c[0]])) })
}

// read returns the places of a comment that lead nowhere.
func (r *reader) read(comment string) (bad []string) {
	comment = strings.Join(strings.Fields(comment), " ")
	var cited [][]string
	for _, m := range citation.FindAllStringSubmatch(comment, -1) {
		if r.specs[m[1]] != nil {
			cited = append(cited, m[1:])
		}
	}
	r.cited = append(r.cited, cited)
	rest := citation.ReplaceAllString(comment, "spec")
	for _, m := range counted.FindAllStringSubmatch(rest, -1) {
		if !r.finds(m) {
			bad = append(bad, m[0])
		}
	}
	for _, m := range titled.FindAllStringSubmatch(rest, -1) {
		if !r.has(m[1], m[2]) || m[3] != "" && !r.has(m[1], m[3]) {
			bad = append(bad, m[0])
		}
	}
	return bad
}

// TestLinesOfListings: a comment that counts lines, steps, tables or figures of a document stands below a citation that has them.
func TestLinesOfListings(t *testing.T) {
	specs, n := readSpecs(t), 0
	for _, f := range load(t) {
		if !researched.MatchString(f.folder) {
			continue
		}
		r := reader{specs: specs}
		for _, c := range f.ast.Comments {
			n += len(counted.FindAllString(c.Text(), -1))
			for _, bad := range r.read(c.Text()) {
				t.Errorf("%s: %q leads nowhere: cite the section that has it, here or above", at(c), bad)
			}
		}
	}
	if n < 20 {
		t.Errorf("only %d lines of listings are cited", n)
	}
	for comments, bad := range map[string]int{
		"mts is Algorithm 2 (spec/nas 3.6).|line 8|lines 9 to 12|Algorithm 1 calls it": 0, "mts is spec/nas 3.6.|line 80|lines 9 to 99": 2,
		"line 8": 1, "line 8 of MTS (spec/nas 3.6)": 0, "rows are spec/nas 2.5|line 8": 1, "equation (3.3) of spec/nas 2.5": 0, "equation (3.9) of spec/nas 2.5": 1, "spec/marp 3.5, script 9.3.3": 0, "script 9.9 of spec/marp 3.5": 1,
		"step 2 of spec/capacity 3.4": 0, "Table 6.8": 1, "spec/capacity 6|Tables 6.8 and 6.9": 0,
		"spec/capacity 6|Table 9.9": 1, "spec/marp 3.5|lines 13-17|lines 13-19": 1,
	} {
		r, got := reader{specs: specs}, 0
		for c := range strings.SplitSeq(comments, "|") {
			got += len(r.read(c))
		}
		if got != bad {
			t.Errorf("%s: %d places lead nowhere, want %d", comments, got, bad)
		}
	}
}

func at(c *ast.CommentGroup) string { return fset.Position(c.Pos()).String() }
