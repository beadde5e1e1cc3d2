package lint

import (
	"go/ast"
	"go/types"
	"testing"
)

// atStart are calls that take their time, and are made for a few commands only.
var atStart = map[string]bool{"template.Must": true, "regexp.MustCompile": true, "lab.NewDocument": true, "yaml.Unmarshal": true}

// TestNothingIsReadAtStart: every command, and every task of a shipped program, pays for what packages do before main begins. What
// is parsed there waits in a sync.OnceValue until it is asked for.
func TestNothingIsReadAtStart(t *testing.T) {
	for _, f := range load(t) {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			if vars, ok := d.(*ast.GenDecl); ok {
				checkStart(t, vars)
			}
		}
	}
}

func checkStart(t *testing.T, vars ast.Node) {
	ast.Inspect(vars, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // not called at start, as far as one can see
		case *ast.CallExpr:
			if name := types.ExprString(n.Fun); atStart[name] {
				t.Errorf("%s: %s is called before main begins: put it into a sync.OnceValue", fset.Position(n.Pos()), name)
			}
		}
		return true
	})
}
