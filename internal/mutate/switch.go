package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// switchFile is added to each package with a switched mistake. A program makes the mistake whose number its own name
// ends with, so that tests that start themselves again with another environment make it, too.
const switchFile = `package %s

import (
	switchOS "os"
	switchNumbers "strconv"
	switchText "strings"
)

var switchedTo = func() int {
	name, _ := switchOS.Executable()
	n, _ := switchNumbers.Atoi(name[switchText.LastIndexByte(name, '.')+1:])
	return n
}()
`

// switched returns a file with mistakes that wait for their number. A mistake is made in a copy of its function. The
// function calls the copy if the program is to make that mistake. So mistakes of one function, or of one expression,
// need not be compatible. The second result lists the mistakes that are included: not those in a variable of the
// package, which are in no function, nor those in a function that recovers, which must itself be the deferred one.
func switched(name string, src []byte, some []*mistake) (out []byte, in []*mistake, err error) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, fmt.Errorf("parse %s: %w", name, err)
	}
	s := &switcher{src: src, file: set.File(f.Pos())}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || recovers(fn) {
			continue
		}
		here := slices.DeleteFunc(slices.Clone(some), func(m *mistake) bool {
			return m.from <= s.file.Offset(fn.Body.Lbrace) || m.to > s.file.Offset(fn.Body.Rbrace)
		})
		if len(here) > 0 {
			s.function(fn, here)
			in = append(in, here...)
		}
	}
	return s.apply(), in, nil
}

func recovers(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if ok {
			id, ok := call.Fun.(*ast.Ident)
			found = found || ok && id.Name == "recover"
		}
		_, inner := n.(*ast.FuncLit)
		return !inner
	})
	return found
}

// A switcher collects the changes of a file, and what is added at its end.
type switcher struct {
	src   []byte
	file  *token.File
	edits []change
	added bytes.Buffer
}

func (s *switcher) edit(from, to token.Pos, text string) {
	s.edits = append(s.edits, change{from: s.file.Offset(from), to: s.file.Offset(to), text: text})
}

func (s *switcher) apply() []byte {
	slices.SortStableFunc(s.edits, func(a, b change) int { return b.from - a.from })
	out := s.src
	for _, e := range s.edits {
		out = e.apply(out)
	}
	return append(append(slices.Clip(out), '\n'), s.added.Bytes()...)
}

func (s *switcher) function(fn *ast.FuncDecl, some []*mistake) {
	receiver := ""
	if fn.Recv != nil {
		receiver = s.names(fn.Recv, "switchedOn")[0] + "."
	}
	parts := ""
	if of := fn.Type.TypeParams; of != nil {
		parts = "[" + strings.Join(s.names(of, "_"), ", ") + "]"
	}
	args := strings.Join(s.names(fn.Type.Params, "switchedArg"), ", ")
	start, rename := s.file.Offset(fn.Pos()), s.file.Offset(fn.Name.End())
	var enter strings.Builder
	for _, m := range some {
		call := fmt.Sprintf("%s%sMistake%d%s(%s)", receiver, fn.Name.Name, m.id, parts, args)
		if fn.Type.Results == nil {
			fmt.Fprintf(&enter, " if switchedTo == %d { %s; return };", m.id, call)
		} else {
			fmt.Fprintf(&enter, " if switchedTo == %d { return %s };", m.id, call)
		}
		copied := m.apply(s.src[:s.file.Offset(fn.End())])
		fmt.Fprintf(&s.added, "\n%sMistake%d%s\n", copied[start:rename], m.id, copied[rename:])
	}
	s.edit(fn.Body.Lbrace+1, fn.Body.Lbrace+1, enter.String())
}

// names returns a function's parameters as another call passes them on. It names those without a name.
func (s *switcher) names(list *ast.FieldList, prefix string) (names []string) {
	for _, field := range list.List {
		dots := ""
		if _, ok := field.Type.(*ast.Ellipsis); ok {
			dots = "..."
		}
		if len(field.Names) == 0 {
			name := fmt.Sprint(prefix, len(names))
			s.edit(field.Type.Pos(), field.Type.Pos(), name+" ")
			names = append(names, name+dots)
		}
		for _, id := range field.Names {
			name := id.Name
			if name == "_" {
				name = fmt.Sprint(prefix, len(names))
				s.edit(id.Pos(), id.End(), name)
			}
			names = append(names, name+dots)
		}
	}
	return names
}

// switchAll adds mistakes to the files of their packages, by path. Those that cannot be added are returned as alone.
func switchAll(check *checker, some []*mistake) (files map[string][]byte, alone []*mistake, err error) {
	files = map[string][]byte{}
	folders := map[string][]*mistake{}
	for _, m := range some {
		folders[path.Dir(m.file)] = append(folders[path.Dir(m.file)], m)
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		here, in, err := switchFolder(folder, folders[folder])
		if err != nil {
			return nil, nil, err
		}
		if check.builds(folder, here) != nil { // rare: then add each one separately
			in = slices.DeleteFunc(in, func(m *mistake) bool {
				one, _, err := switchFolder(folder, []*mistake{m})
				return err != nil || check.builds(folder, one) != nil
			})
			if here, in, err = switchFolder(folder, in); err != nil {
				return nil, nil, err
			}
			if err := check.builds(folder, here); err != nil {
				return nil, nil, fmt.Errorf("mistakes that build one by one do not together: %w", err)
			}
		}
		maps.Copy(files, here)
		alone = append(alone, slices.DeleteFunc(folders[folder], func(m *mistake) bool { return slices.Contains(in, m) })...)
	}
	return files, alone, nil
}

func switchFolder(folder string, some []*mistake) (files map[string][]byte, in []*mistake, err error) {
	files = map[string][]byte{}
	for _, m := range some {
		if files[m.file] != nil {
			continue
		}
		src, err := os.ReadFile(filepath.FromSlash(m.file))
		if err != nil {
			return nil, nil, fmt.Errorf("read what is to be changed: %w", err)
		}
		text, fit, err := switched(m.file, src, slices.DeleteFunc(slices.Clone(some), func(o *mistake) bool { return o.file != m.file }))
		if err != nil {
			return nil, nil, err
		}
		files[m.file], in = text, append(in, fit...)
		clause, err := parser.ParseFile(token.NewFileSet(), m.file, src, parser.PackageClauseOnly)
		if err != nil {
			return nil, nil, err
		}
		files[folder+"/mistakes_switch.go"] = fmt.Appendf(nil, switchFile, clause.Name.Name)
	}
	return files, in, nil
}

// overlay writes the input of go build -overlay: files, by path, that replace others or are added. It returns its
// name.
func overlay(dir string, files map[string][]byte) (string, error) {
	replace := map[string]string{}
	for at, text := range files {
		abs, err := filepath.Abs(filepath.FromSlash(at))
		if err != nil {
			return "", err
		}
		replace[abs] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[abs], text, 0o644); err != nil {
			return "", fmt.Errorf("write a changed file: %w", err)
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, text, 0o644)
}
