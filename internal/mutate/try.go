package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A mistake is a drawn change, and its verdict.
type mistake struct {
	change
	id int
	verdict
}

// A verdict says which tests noticed a mistake, and which failed but also fail without it.
type verdict struct {
	noticed string
	failing []string
}

// unsure reports whether nobody can tell: all tests that failed also fail without the mistake.
func (v verdict) unsure() bool { return v.noticed == "" && len(v.failing) > 0 }

func (v verdict) String() string {
	switch {
	case v.noticed != "":
		return "noticed by " + v.noticed
	case v.unsure():
		return "unsure: without the mistake they fail too: " + strings.Join(v.failing, ", ")
	}
	return "SURVIVED"
}

// nearest returns the folders whose tests are run for a mistake in a file, in this order: its own, then those in
// packages. Tests that do not import the package cannot notice.
func nearest(all []tested, file string, own, whole bool) (out []string) {
	home, _, _ := strings.Cut(file, "/")
	patterns := []string{"./" + path.Dir(file)}
	if !own {
		patterns = append(patterns, packages[home]...)
	}
	if whole {
		patterns = append(patterns, far)
	}
	for _, pattern := range patterns {
		below, deep := strings.CutSuffix(pattern, "/...")
		for _, t := range all {
			here := "./" + t.folder
			if (here == below || deep && strings.HasPrefix(here, below+"/")) && t.imports[path.Dir(file)] && !slices.Contains(out, t.folder) {
				out = append(out, t.folder)
			}
		}
	}
	return out
}

// try runs tests, in the order of their folders, until some notice the mistake. with is a suite that can make it,
// and without one that does not make it unless told to. For a mistake behind a switch they are the same.
func (m *mistake) try(with, without *suite, folders []string) error {
	for _, folder := range folders {
		clean, err := without.of(folder, 0)
		if err != nil {
			return err
		}
		p := clean
		if with != without {
			if p, err = with.of(folder, clean.took); err != nil {
				return err
			}
		}
		if err := m.ask(p, clean); err != nil || m.noticed != "" {
			return err
		}
	}
	return nil
}

// tries bounds how often tests run with one mistake, each time without those that fail anyway.
const tries = 3

// ask runs tests with the mistake, and those that fail again without it.
func (m *mistake) ask(with, clean *program) error {
	anyway := slices.Clone(clean.anyway)
	if len(anyway) > 0 {
		m.failing = append(m.failing, clean.folder+" "+strings.Join(anyway, " "))
	}
	for range tries {
		bad, failed, err := with.run(m.id, "-test.failfast", "-test.skip", exactly(anyway))
		if err != nil || !bad {
			return err
		}
		bad, again, err := clean.run(0, "-test.run", exactly(failed))
		if err != nil {
			return err
		}
		here := slices.DeleteFunc(slices.Clone(failed), func(name string) bool { return slices.Contains(again, name) })
		if !bad || len(here) > 0 && len(here) < len(failed) {
			m.noticed = strings.TrimSpace(clean.folder + " " + strings.Join(here[:min(3, len(here))], " "))
			return nil
		}
		m.failing = append(m.failing, strings.TrimSpace(clean.folder+" "+strings.Join(failed, " ")))
		if len(failed) == 0 {
			return nil
		}
		anyway = append(anyway, failed...)
	}
	return nil
}

// exactly returns the expression for the tests with these names, or "" for none, which a test program takes for no
// expression.
func exactly(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// own returns the suite of a mistake that cannot be behind a switch.
func (m *mistake) own(dir string) (*suite, error) {
	src, err := os.ReadFile(filepath.FromSlash(m.file))
	if err != nil {
		return nil, fmt.Errorf("read what is to be changed: %w", err)
	}
	return newSuite(filepath.Join(dir, fmt.Sprint("a", m.id)), map[string][]byte{m.file: m.apply(src)})
}
