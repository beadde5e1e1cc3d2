package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// listed is a package in the output of go list.
type listed struct {
	Dir, ImportPath, Export            string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Deps                               []string
}

// list runs go list and calls each for every package.
func list(each func(*listed), args ...string) error {
	var problem bytes.Buffer
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list %s: %w: %s", strings.Join(args, " "), err, &problem)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read what go list says: %w", err)
		}
		each(p)
	}
}

// A checker reports whether a package builds when some of its files are replaced. It uses the type checker, which
// takes a hundredth of the compiler's time and finds the same faults.
type checker struct {
	root    string
	set     *token.FileSet
	folders map[string]*listed
	parsed  map[string]*ast.File // by path; without replaced files
	from    types.Importer
}

func newChecker(folders []string) (*checker, error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	c := &checker{root: root, set: token.NewFileSet(), folders: map[string]*listed{}, parsed: map[string]*ast.File{}}
	exports := map[string]string{}
	args := []string{"-deps", "-export", "-json=Dir,ImportPath,Export,GoFiles", "os", "strconv", "strings"} // these for switchFile
	for _, folder := range folders {
		args = append(args, "./"+folder)
	}
	err = list(func(p *listed) {
		exports[p.ImportPath] = p.Export
		if folder, err := filepath.Rel(root, p.Dir); err == nil {
			c.folders[filepath.ToSlash(folder)] = p
		}
	}, args...)
	c.from = importer.ForCompiler(c.set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c, err
}

// builds returns nil if the package in a folder builds with these files, by path, instead of or beside its own.
func (c *checker) builds(folder string, files map[string][]byte) error {
	var all []*ast.File
	for _, name := range c.folders[folder].GoFiles {
		path := folder + "/" + name
		if files[path] != nil {
			continue
		}
		if c.parsed[path] == nil {
			f, err := parser.ParseFile(c.set, filepath.Join(c.root, path), nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			c.parsed[path] = f
		}
		all = append(all, c.parsed[path])
	}
	for path, text := range files {
		f, err := parser.ParseFile(c.set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	conf := types.Config{Importer: c.from, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := conf.Check(c.folders[folder].ImportPath, c.set, all, nil)
	return err
}

// draw draws n changes that build. The same seed draws the same ones. If there are few, some are drawn twice.
func draw(all []change, n int, seed uint64, builds func(*change) bool) (drawn []*mistake, err error) {
	random := rand.New(rand.NewPCG(seed, 0))
	known := map[int]bool{}
	for some := false; len(drawn) < n; {
		i := random.IntN(len(all))
		if _, asked := known[i]; !asked {
			known[i] = builds(&all[i])
			some = some || known[i]
		}
		if known[i] {
			drawn = append(drawn, &mistake{change: all[i], id: len(drawn) + 1})
		} else if !some && len(known) == len(all) {
			return nil, errors.New("no change that could be made here builds")
		}
	}
	return drawn, nil
}
