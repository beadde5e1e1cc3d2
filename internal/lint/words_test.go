package lint

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// ruledOut are words that docs/vocabulary.md has another word for, and names that nobody would search for.
const ruledOut = `(?i)\b(bury|buried|forgiven?|lodgers?|ended1|knocks?|how manyth|people|rooms|speculative attempt|backup (task|attempt))\b`

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
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		if at := find.FindIndex(text); at != nil {
			t.Errorf("%s has %q: see docs/vocabulary.md", f.path, text[at[0]:at[1]])
		}
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
