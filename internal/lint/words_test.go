package lint

import (
	"go/ast"
	"regexp"
	"testing"
)

// ruledOut are words that docs/vocabulary.md has another word for, and names that nobody would search for.
const ruledOut = `(?i)\b(bury|buried|forg(ive[ns]?|ave)|lodgers?|ended1|knocks?|how manyth|people|rooms|speculative attempt|backup (task|attempt))\b`

// TestVocabulary: product code has the words of docs/vocabulary.md.
func TestVocabulary(t *testing.T) {
	find := regexp.MustCompile(ruledOut)
	if !find.MatchString("the how manyth try") || find.MatchString("speculative") {
		t.Fatal("the expression finds nothing, or too much")
	}
	for _, f := range load(t) {
		if f.test {
			continue
		}
		if word := find.FindString(f.text(t)); word != "" {
			t.Errorf("%s has %q: see docs/vocabulary.md", f.path, word)
		}
	}
}

// TestOneWordForEachCall: what a worker sends to the master is a report, what a block service sends to the name service a beat,
// and what the policies count a heartbeat. No name has another's word.
func TestOneWordForEachCall(t *testing.T) {
	beat, heartbeat := regexp.MustCompile(`(^b|[a-z0-9]B|^B)eat($|[A-Z])`), regexp.MustCompile(`[hH]eartbeat`)
	blocks := regexp.MustCompile(`^(dfs|internal/(wire|api|testcluster))(/|$)`)
	policies := regexp.MustCompile(`^(scheduler|sim|lab|master|cli|play|integration)(/|$)`)
	found := map[string]int{}
	for _, f := range load(t) {
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			switch {
			case !ok:
			case heartbeat.MatchString(id.Name):
				found["heartbeat"]++
				if !policies.MatchString(f.folder) {
					t.Errorf("%s: %s: a heartbeat is what the policies count: see docs/vocabulary.md", fset.Position(id.Pos()), id.Name)
				}
			case beat.MatchString(id.Name):
				found["beat"]++
				if !blocks.MatchString(f.folder) {
					t.Errorf("%s: %s: a beat is of a block service: see docs/vocabulary.md", fset.Position(id.Pos()), id.Name)
				}
			}
			return true
		})
	}
	if found["beat"] < 10 || found["heartbeat"] < 50 {
		t.Errorf("found %v", found)
	}
}

// TestJobStatesAreAType: product code names a job's state by the constants of internal/wire, so that the compiler finds one that
// is misspelt. Formats of other systems have words of their own, which happen to be the same.
func TestJobStatesAreAType(t *testing.T) {
	literal := regexp.MustCompile(`^"(QUEUED|RUNNING|SUCCEEDED|FAILED|CANCELLED)"$`)
	defined := 0
	for _, f := range load(t) {
		if f.test || f.folder == "trace/formats" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			switch {
			case !ok || !literal.MatchString(lit.Value):
			case f.path == "internal/wire/state.go":
				defined++
			default:
				t.Errorf("%s: %s is a constant of internal/wire", fset.Position(lit.Pos()), lit.Value)
			}
			return true
		})
	}
	if defined != 5 {
		t.Errorf("internal/wire/state.go defines %d states that this test knows, not 5", defined)
	}
}
