package lint

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// What is taught is run: a lecture, lesson, example, skeleton or importer that no test runs fails here, or in the test that is named.
//
//	lectures of the playground      cli TestLectures refuses one without a promise that it holds
//	importers and what they write   trace/formats TestEveryFormat
var (
	// pagesRun are the pages of the course that a test does, by the test that reads their name; the numbered ones are TestCourse's.
	pagesRun = map[string]string{"first-hour.md": "../docs/course/first-hour.md"}
	// pagesRead have nothing to do.
	pagesRead = map[string]bool{"README.md": true, "answers.md": true}
)

// taught is what tests of integration name.
type taught struct {
	words       map[string]bool // all strings
	examples    map[string]bool // that newExample is called with
	assignments map[string]bool // keys of the table of TestAssignments
}

func (k *taught) text(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
		s, _ := strconv.Unquote(l.Value) // it compiles
		return s
	}
	return ""
}

// look takes in a declaration.
func (k *taught) look(d ast.Decl) {
	fn, ok := d.(*ast.FuncDecl)
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			k.words[k.text(n)] = true
		case *ast.KeyValueExpr:
			if ok && fn.Name.Name == "TestAssignments" {
				k.assignments[k.text(n.Key)] = true
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "newExample" && len(n.Args) == 2 {
				k.examples[k.text(n.Args[1])] = true
			}
		}
		return true
	})
}

// TestWhatIsTaughtIsRun: every example, page of the course and assignment is named by a test of integration that runs it.
func TestWhatIsTaughtIsRun(t *testing.T) {
	k := taught{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for _, f := range load(t) {
		if f.folder == "integration" && f.test {
			for _, d := range f.ast.Decls {
				k.look(d)
			}
		}
	}
	found := 0
	each := func(pattern string, run func(name string) bool) {
		t.Helper()
		names, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, n := range names {
			found++
			if name := filepath.Base(n); !run(name) {
				t.Errorf("%s of %s: no test of integration runs it", name, pattern)
			}
		}
	}
	each("examples/*", func(name string) bool {
		_, err := os.Stat(filepath.Join("..", "..", "examples", name, "main.go"))
		return err != nil || k.examples[name]
	})
	each("docs/course/*.md", func(name string) bool {
		lesson := len(name) > 2 && name[0] >= '1' && name[0] <= '9' && name[1] == '-'
		return lesson && k.words["../docs/course/[1-9]-*.md"] || pagesRead[name] || pagesRun[name] != "" && k.words[pagesRun[name]]
	})
	each("docs/course/assignments/*", func(name string) bool { return k.assignments[name] })
	if found < 30 {
		t.Errorf("only %d examples, pages and assignments were found", found)
	}
}

// TestLecturesAreListed: the page about the playground has every lecture.
func TestLecturesAreListed(t *testing.T) {
	page := readPage(t, filepath.Join("..", "..", "docs", "play.md"))
	names, err := filepath.Glob("../../play/lectures/*.md")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d lectures, %v", len(names), err)
	}
	for _, n := range names {
		_, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(n), ".md"), "-")
		if !strings.Contains(page, "\n| "+name+" |") {
			t.Errorf("docs/play.md does not list the lecture %s", name)
		}
	}
}
