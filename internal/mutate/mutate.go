package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// A change is a small mistake: some bytes of a file, replaced.
type change struct {
	file     string
	line     int
	from, to int // offsets in the file
	text     string
	what     string
}

// apply returns the source with the mistake in it.
func (c *change) apply(src []byte) []byte {
	out := append([]byte{}, src[:c.from]...)
	return append(append(out, c.text...), src[c.to:]...)
}

// finder collects the changes of one file.
type finder struct {
	name string
	src  []byte
	set  *token.FileSet
	out  []change
}

// changesOf lists all small mistakes that this package can make in a file, in source order.
func changesOf(name string, src []byte) ([]change, error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	find := &finder{name: name, src: src, set: set}
	ast.Inspect(f, find.visit)
	return find.out, nil
}

func (f *finder) add(from, to token.Pos, text, what string) {
	at := f.set.Position(from)
	f.out = append(f.out, change{f.name, at.Line, at.Offset, f.set.Position(to).Offset, text, what})
}

func (f *finder) source(n ast.Node) string {
	return string(f.src[f.set.Position(n.Pos()).Offset:f.set.Position(n.End()).Offset])
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR // constants and types make no decisions
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.negate(n.Cond)
		}
	case *ast.BinaryExpr:
		f.operator(n)
	case *ast.ReturnStmt:
		f.returned(n)
	case *ast.BlockStmt:
		f.statements(n.List)
	case *ast.CaseClause:
		f.statements(n.Body)
	}
	return true
}

func (f *finder) negate(cond ast.Expr) {
	f.add(cond.Pos(), cond.End(), "!("+f.source(cond)+")", "negate "+f.source(cond))
}

// swaps are the operators that are easily confused.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND, token.ADD: token.SUB, token.SUB: token.ADD,
}

func (f *finder) operator(n *ast.BinaryExpr) {
	if to, ok := swaps[n.Op]; ok {
		f.add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), to.String(), fmt.Sprintf("%v for %v in %s", to, n.Op, f.source(n)))
	}
}

// returned drops a returned error.
func (f *finder) returned(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	last := n.Results[len(n.Results)-1]
	if id, ok := last.(*ast.Ident); ok && id.Name == "err" {
		f.add(last.Pos(), last.End(), "nil", "nil for err in "+f.source(n))
	}
}

// statements drops calls, assignments and steps, one at a time.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if f.logs(s.X) {
				continue
			}
		case *ast.IncDecStmt:
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		default:
			continue
		}
		f.add(s.Pos(), s.End(), "", "drop "+f.source(s))
	}
}

// logs reports whether an expression only writes to the log, whose words no test checks.
func (f *finder) logs(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	return ok && (strings.Contains(f.source(call.Fun), "Log.") || strings.HasPrefix(f.source(call.Fun), "slog."))
}
