// Command analyse is a tool of go vet: errorlint, nilerr, unparam and usetesting in one program, so that each package is loaded
// once, and only when it has changed. make check calls it.
//
// A finding that is right as it stands has a comment at the end of its line, with the reason:
//
//	return nil //nolint:nilerr // a bare container has none
//
// A comment without a reason, and one that excuses nothing, is a finding too.
package main

import (
	"strings"

	"github.com/gostaticanalysis/nilerr"
	"github.com/ldez/usetesting"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/analysis/unitchecker"
	"golang.org/x/tools/go/packages"
	"mvdan.cc/unparam/check"
)

func main() { unitchecker.Main(analysers()...) }

func analysers() []*analysis.Analyzer {
	return []*analysis.Analyzer{
		excusable(errorlint.NewAnalyzer()),
		excusable(nilerr.Analyzer),
		excusable(usetesting.NewAnalyzer()),
		excusable(&analysis.Analyzer{
			Name:     "unparam",
			Doc:      "unparam reports parameters and results of unexported functions that nobody needs",
			Requires: []*analysis.Analyzer{buildssa.Analyzer},
			Run:      unparam,
		}),
	}
}

// unparam looks at one package with its tests: whoever calls an unexported function is there. A helper of tests may get the same
// argument from all of them: it makes the call say what happens.
func unparam(pass *analysis.Pass) (any, error) {
	var c check.Checker
	c.Packages([]*packages.Package{{Fset: pass.Fset, Syntax: pass.Files, Types: pass.Pkg, TypesInfo: pass.TypesInfo}})
	c.ProgramSSA(pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA).Pkg.Prog)
	issues, err := c.Check()
	for _, i := range issues {
		test := strings.HasSuffix(pass.Fset.Position(i.Pos()).Filename, "_test.go")
		if test && strings.Contains(i.Message(), "always receives") {
			continue
		}
		pass.Reportf(i.Pos(), "%s", i.Message())
	}
	return nil, err
}
