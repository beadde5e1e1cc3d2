package all

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// mostWords is how long a remark beside its row may be: a word on the unit, or what a mean is over. A sentence belongs into words.md.
const mostWords = 12

// TestRemarksAreInTheWords: what a row says in a sentence is in words.md, whose names are those that the code asks for, no more and no fewer.
func TestRemarksAreInTheWords(t *testing.T) {
	files, err := filepath.Glob("../*/words.md")
	if err != nil || len(files) < 7 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		literals := remarksOf(t, filepath.Dir(f), remarkNames(string(raw)))
		for name := range remarkNames(string(raw)) {
			if !literals[name] {
				t.Errorf("%s has a remark %q that no row asks for", f, name)
			}
		}
	}
}

// remarkNames are those of the lists called Remarks.
func remarkNames(words string) map[string]bool {
	out, inside := map[string]bool{}, false
	name := regexp.MustCompile("^- `([^`]+)`: ")
	for line := range strings.Lines(words) {
		switch m := name.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "**"):
			inside = strings.Contains(line, "Remarks")
		case inside && m != nil:
			out[m[1]] = true
		}
	}
	return out
}

// remarksOf reads the code of a document and returns its literals. Names of remarks must be known.
func remarksOf(t *testing.T, dir string, known map[string]bool) map[string]bool {
	t.Helper()
	set, literals := token.NewFileSet(), map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range files {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if text, ok := literal(n); ok {
				literals[text] = true
			}
			if call, ok := n.(*ast.CallExpr); ok {
				checkRemark(t, set, call, known)
			}
			return true
		})
	}
	return literals
}

func literal(n ast.Node) (string, bool) {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

func checkRemark(t *testing.T, set *token.FileSet, call *ast.CallExpr, known map[string]bool) {
	t.Helper()
	f, ok := call.Fun.(*ast.SelectorExpr)
	switch {
	case !ok:
	case f.Sel.Name == "Say":
		if name, ok := literal(call.Args[0]); ok && !known[name] {
			t.Errorf("%s: words.md has no remark %q", set.Position(call.Pos()), name)
		}
	case f.Sel.Name == "Because" || f.Sel.Name == "Missed":
		ast.Inspect(call.Args[0], func(n ast.Node) bool {
			if text, ok := literal(n); ok && len(strings.Fields(text)) > mostWords {
				t.Errorf("%s: %q is a sentence: write it into words.md, and ask for it with Say", set.Position(n.Pos()), text)
			}
			return true
		})
	}
}
