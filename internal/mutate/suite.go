package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/procs"
)

// A suite is the test programs of packages, each built once, with the files of an overlay.
type suite struct {
	dir, overlay string
	mu           sync.Mutex          // guards programs
	programs     map[string]*program // by folder
}

func newSuite(dir string, files map[string][]byte) (*suite, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	name, err := overlay(dir, files)
	return &suite{dir: dir, overlay: name, programs: map[string]*program{}}, err
}

// A program is the test program of a package.
type program struct {
	once   sync.Once
	err    error
	folder string
	path   string
	took   time.Duration // without a mistake
	anyway []string      // tests that fail without a mistake
}

// of builds the tests of a folder and, unless took is known, measures how long they take.
func (s *suite) of(folder string, took time.Duration) (*program, error) {
	s.mu.Lock()
	p := s.programs[folder]
	if p == nil {
		p = &program{folder: folder, path: filepath.Join(s.dir, fmt.Sprintf("%d.test", len(s.programs))), took: took}
		s.programs[folder] = p
	}
	s.mu.Unlock()
	p.once.Do(func() {
		out, err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", s.overlay, "-o", p.path, "./"+folder).CombinedOutput()
		if err != nil {
			p.err = fmt.Errorf("build the tests of %s: %w: %s", folder, err, out)
		} else if took == 0 {
			p.err = p.measure()
		}
	})
	return p, p.err
}

// measure finds out how long the tests take without a mistake, and which fail.
func (p *program) measure() error {
	start := time.Now()
	failed, tests, err := p.run(0)
	p.took = time.Since(start)
	if err != nil || !failed {
		return err
	}
	if failed, p.anyway, err = p.run(0, "-test.run", exactly(tests)); failed {
		fmt.Printf("    %s fails without a mistake, too: %s\n", p.folder, strings.Join(p.anyway, ", "))
	}
	return err
}

// limit returns after how long tests with a mistake hang.
func (p *program) limit() time.Duration {
	if p.took == 0 {
		return 20 * time.Minute
	}
	return min(10*p.took+10*time.Second, p.took+4*time.Minute)
}

// memory is how much memory tests with a mistake may use, in KiB. One that drops the step of a loop would use all
// there is.
const memory = 6 << 20

// run runs tests with a mistake, or without one if id is 0, and returns whether they fail, and which. A test that
// hangs fails.
func (p *program) run(id int, args ...string) (failed bool, tests []string, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(filepath.Dir(p.path)), "t")
	if err != nil {
		return false, nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, fmt.Sprintf("%s.test.%d", path.Base(p.folder), id))
	if err := os.Link(p.path, name); err != nil {
		return false, nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.limit()+10*time.Second)
	defer cancel()
	args = append([]string{"-c", fmt.Sprintf(`ulimit -d %d; exec "$0" "$@"`, memory), name, "-test.v=test2json", "-test.paniconexit0", "-test.timeout", p.limit().String()}, args...)
	cmd := exec.CommandContext(ctx, "/bin/sh", args...)
	var seen events
	cmd.Stdout, cmd.Dir, cmd.WaitDelay = &seen, filepath.FromSlash(p.folder), 10*time.Second
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	group, err := procs.Start(cmd)
	if err != nil {
		return false, nil, fmt.Errorf("run the tests of %s: %w", p.folder, err)
	}
	defer group.Kill()
	failed = cmd.Wait() != nil
	return failed, seen.failures(), nil
}

// events parses the event lines of test output, which begin with a character that tests do not print.
type events struct {
	line         []byte
	open, failed []string
}

func (e *events) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		if len(e.line) < 1<<16 { // no test has a longer name
			e.line = append(e.line, part...)
		}
		if part[len(part)-1] == '\n' {
			e.read(e.line)
			e.line = e.line[:0]
		}
	}
	return len(p), nil
}

func (e *events) read(line []byte) {
	words := strings.Fields(string(line[bytes.LastIndexByte(line, 0x16)+1:]))
	if len(words) < 3 || strings.Contains(words[2], "/") || bytes.IndexByte(line, 0x16) < 0 {
		return
	}
	switch words[0] + " " + words[1] {
	case "=== RUN":
		e.open = append(e.open, words[2])
	case "--- PASS:", "--- SKIP:", "--- FAIL:":
		e.open = slices.DeleteFunc(e.open, func(name string) bool { return name == words[2] })
		if words[1] == "FAIL:" {
			e.failed = append(e.failed, words[2])
		}
	}
}

// failures returns the tests that failed or, if none did, those that were running at the end.
func (e *events) failures() []string {
	if len(e.failed) > 0 {
		return e.failed
	}
	return e.open
}

// A tested package has tests, and imports others.
type tested struct {
	folder  string
	imports map[string]bool // folders, including its own
}

// testedPackages lists the packages that have tests, in order.
func testedPackages() (out []tested, err error) {
	root, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	dirs, deps := map[string]string{}, map[string][]string{} // by import path
	err = list(func(p *listed) {
		if of, ok := strings.CutSuffix(p.ImportPath, ".test"); ok {
			deps[of] = p.Deps
		} else if !strings.Contains(p.ImportPath, " ") {
			dirs[p.ImportPath] = p.Dir
		}
	}, "-test", "-json=ImportPath,Dir,Deps", "./...")
	for _, of := range slices.Sorted(maps.Keys(deps)) {
		t := tested{imports: map[string]bool{}}
		for _, dep := range append(deps[of], of) {
			dep, _, _ = strings.Cut(dep, " ")
			if folder, err := filepath.Rel(root, dirs[dep]); err == nil && dirs[dep] != "" {
				t.imports[filepath.ToSlash(folder)] = true
			}
		}
		folder, err := filepath.Rel(root, dirs[of])
		if err != nil {
			return nil, err
		}
		t.folder = filepath.ToSlash(folder)
		out = append(out, t)
	}
	return out, err
}
