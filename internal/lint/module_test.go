package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/millrace/millrace"

// file is one parsed source file.
type file struct {
	path   string // below the module root, with slashes
	folder string // its folder, "." for the root
	ast    *ast.File
	test   bool
}

var fset = token.NewFileSet()

// text is what the file holds.
func (f file) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(f.path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// load parses every Go file of the module. Nested modules are left out.
func load(t *testing.T) []file {
	t.Helper()
	root := filepath.Join("..", "..")
	var out []file
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			return skipDir(p, rel, d.Name())
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(fset, p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, file{rel, path.Dir(rel), parsed, strings.HasSuffix(rel, "_test.go")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 50 {
		t.Fatalf("found only %d files: is the module root where this test thinks?", len(out))
	}
	return out
}

func skipDir(p, rel, name string) error {
	if rel == "." {
		return nil
	}
	if strings.HasPrefix(name, ".") || name == "testdata" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(p, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func (f file) imports() []string {
	var out []string
	for _, spec := range f.ast.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// under reports whether folder is dir or lies below it.
func under(folder, dir string) bool { return folder == dir || strings.HasPrefix(folder, dir+"/") }
