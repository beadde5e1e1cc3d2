package lint

import (
	"go/ast"
	"testing"
)

// The number of functions over 40 lines and with more than 6 parameters, in product code. They may only fall: whoever
// shortens one lowers the figure, and a new one needs another that goes.
const (
	longFunctions = 24
	wideFunctions = 8
)

func TestFunctionsStaySmall(t *testing.T) {
	var long, wide []string
	for _, f := range load(t) {
		if f.test {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			where := f.path + " " + fn.Name.Name
			if fset.Position(fn.End()).Line-fset.Position(fn.Pos()).Line+1 > 40 {
				long = append(long, where)
			}
			if fn.Type.Params.NumFields() > 6 {
				wide = append(wide, where)
			}
		}
	}
	for _, row := range []struct {
		what  string
		found []string
		most  int
	}{{"over 40 lines", long, longFunctions}, {"over 6 parameters", wide, wideFunctions}} {
		if len(row.found) > row.most {
			t.Errorf("%d functions are %s, %d were: %q", len(row.found), row.what, row.most, row.found)
		}
		if len(row.found) < row.most {
			t.Errorf("only %d functions are %s: lower the figure from %d", len(row.found), row.what, row.most)
		}
	}
}
