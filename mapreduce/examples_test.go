package mapreduce_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEverythingHasAnExample: each exported type, and each exported function that is
// not for engines, has an example that runs.
func TestEverythingHasAnExample(t *testing.T) {
	forEngines := map[string]bool{"NewTask": true, "ParsePriority": true, "WorkDir": true, "TooLate": true}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	examples := map[string]bool{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if strings.HasSuffix(name, "_test.go") {
				noteExample(t, file, d, examples)
			} else {
				want = append(want, exported(d)...)
			}
		}
	}
	if len(want) < 40 {
		t.Errorf("found only %d exported names", len(want))
	}
	for _, name := range want {
		if !examples[name] && !forEngines[name] {
			t.Errorf("%s has no example: write Example%s", name, name)
		}
	}
}

// exported lists the exported types and functions that a declaration makes.
func exported(d ast.Decl) (out []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			out = append(out, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok && s.Name.IsExported() {
				out = append(out, s.Name.Name)
			}
		}
	}
	return out
}

// noteExample records what an example is for, and wants it to have an output: one
// without is compiled but never run.
func noteExample(t *testing.T, file *ast.File, d ast.Decl, examples map[string]bool) {
	f, ok := d.(*ast.FuncDecl)
	if !ok || !strings.HasPrefix(f.Name.Name, "Example") {
		return
	}
	subject, _, _ := strings.Cut(strings.TrimPrefix(f.Name.Name, "Example"), "_")
	examples[subject] = true
	for _, c := range file.Comments {
		if f.Body.Lbrace < c.Pos() && c.Pos() < f.Body.Rbrace && strings.HasPrefix(c.Text(), "Output:") {
			return
		}
	}
	t.Errorf("%s has no output, so that it does not run", f.Name.Name)
}
