package lint

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

func isPure(folder string) bool {
	return slices.ContainsFunc(pure, func(p string) bool { return under(folder, p) }) &&
		!under(folder, "scheduler/schedulertest")
}

func TestPureRoomsHaveNoEffects(t *testing.T) {
	checked := 0
	for _, f := range load(t) {
		if f.test || !isPure(f.folder) {
			continue
		}
		checked++
		checkImports(t, f)
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a pure package starts no goroutine", fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				checkSelector(t, n)
			}
			return true
		})
	}
	if checked == 0 {
		t.Fatal("no file of a pure package found")
	}
}

func checkImports(t *testing.T, f file) {
	for _, p := range f.imports() {
		if slices.Contains(impure, p) || strings.HasPrefix(p, "net/") {
			t.Errorf("%s: a pure package may not import %q", f.path, p)
		}
		if p == "math/rand" {
			t.Errorf("%s: use math/rand/v2 with a *rand.Rand that is passed in", f.path)
		}
	}
}

func TestLeaseCodeReadsNoClock(t *testing.T) {
	checked := 0
	for _, f := range load(t) {
		if f.test || !slices.Contains(clockless, f.folder) {
			continue
		}
		checked++
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && readsClock(s) {
				t.Errorf("%s: leases and timeouts are measured with Config.Now, which does not jump: time.%s", fset.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
	}
	if checked == 0 {
		t.Fatal("no file of such a package found")
	}
}

// readsClock reports whether a function of package time is named that reads the clock or waits.
func readsClock(s *ast.SelectorExpr) bool {
	pkg, ok := s.X.(*ast.Ident)
	return ok && pkg.Obj == nil && pkg.Name == "time" && slices.Contains(wallClock, s.Sel.Name)
}

// checkSelector finds the clock and the global source of randomness.
func checkSelector(t *testing.T, s *ast.SelectorExpr) {
	pkg, ok := s.X.(*ast.Ident)
	if !ok || pkg.Obj != nil { // a local name, not a package
		return
	}
	switch {
	case readsClock(s):
		t.Errorf("%s: a pure package reads no clock: time.%s", fset.Position(s.Pos()), s.Sel.Name)
	case pkg.Name == "rand" && !slices.Contains([]string{"Rand", "Source", "New", "NewPCG", "PCG", "Zipf", "NewZipf"}, s.Sel.Name):
		t.Errorf("%s: a pure package uses no global randomness: rand.%s", fset.Position(s.Pos()), s.Sel.Name)
	}
}
