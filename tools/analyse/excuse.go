package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var comment = regexp.MustCompile(`^//nolint:([a-z,]+)(?: // (.+))?$`)

// An excuse is a comment that names an analyser.
type excuse struct {
	pos    token.Pos
	reason string
	used   bool
}

// A line is where an excuse stands and what it excuses.
type line struct {
	file   string
	number int
}

// excusable is an analyser whose findings a comment on their line excuses.
func excusable(a *analysis.Analyzer) *analysis.Analyzer {
	of := *a
	of.Run = func(pass *analysis.Pass) (any, error) {
		excuses := excusesOf(pass, a.Name)
		inner := *pass
		inner.Report = func(d analysis.Diagnostic) {
			if e := excuses[lineOf(pass, d.Pos)]; e != nil {
				e.used = true
				return
			}
			d.Message = a.Name + ": " + d.Message
			pass.Report(d)
		}
		result, err := a.Run(&inner)
		for _, e := range excuses {
			switch {
			case e.reason == "":
				pass.Reportf(e.pos, "%s: the comment gives no reason: //nolint:%[1]s // why", a.Name)
			case !e.used:
				pass.Reportf(e.pos, "%s: the comment excuses nothing: take it away", a.Name)
			}
		}
		return result, err
	}
	return &of
}

// excusesOf are the comments of a package that name an analyser.
func excusesOf(pass *analysis.Pass, name string) map[line]*excuse {
	out := map[line]*excuse{}
	for _, f := range pass.Files {
		for c := range commentsOf(f) {
			m := comment.FindStringSubmatch(c.Text)
			if m != nil && slices.Contains(strings.Split(m[1], ","), name) {
				out[lineOf(pass, c.Pos())] = &excuse{pos: c.Pos(), reason: m[2]}
			}
		}
	}
	return out
}

func commentsOf(f *ast.File) func(yield func(*ast.Comment) bool) {
	return func(yield func(*ast.Comment) bool) {
		for _, g := range f.Comments {
			for _, c := range g.List {
				if !yield(c) {
					return
				}
			}
		}
	}
}

func lineOf(pass *analysis.Pass, pos token.Pos) line {
	p := pass.Fset.Position(pos)
	return line{p.Filename, p.Line}
}
