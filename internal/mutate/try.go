package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

var errBuild = errors.New("the change does not build")

// A verdict says which tests noticed a mistake, and which failed but fail without it too.
type verdict struct {
	noticed string
	failing []string
}

// unsure is true where nobody can tell: all that failed fails without the mistake too.
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

// try makes a mistake and asks the tests near it.
func try(dir string, c *change, whole bool) (v verdict, err error) {
	src, err := os.ReadFile(c.file)
	if err != nil {
		return v, fmt.Errorf("read what is to be changed: %w", err)
	}
	abs, err := filepath.Abs(c.file)
	if err != nil {
		return v, err
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {abs: changed}})
	if err != nil {
		return v, err
	}
	if err := errors.Join(os.WriteFile(changed, c.apply(src), 0o644), os.WriteFile(overlay, list, 0o644)); err != nil {
		return v, fmt.Errorf("write the change: %w", err)
	}
	pkg := "./" + filepath.ToSlash(filepath.Dir(c.file))
	if exec.Command("go", "build", "-o", os.DevNull, "-overlay", overlay, pkg).Run() != nil { // or the tests would fail for that, and seem to notice
		return v, errBuild
	}
	folder, _, _ := strings.Cut(c.file, "/")
	nearest := append([]string{pkg}, packages[folder]...)
	if whole {
		nearest = append(nearest, far)
	}
	for _, tests := range nearest {
		if v.ask(overlay, tests); v.noticed != "" {
			break
		}
	}
	return v, nil
}

// tries bounds how often tests run with one mistake, each time without those that fail anyway.
const tries = 3

// ask runs tests with the mistake, and what fails again without it.
func (v *verdict) ask(overlay, tests string) {
	var anyway []string
	for range tries {
		failed := failing("-failfast", "-overlay", overlay, "-skip", exactly(anyway), tests)
		before := len(anyway)
		for _, pkg := range slices.Sorted(maps.Keys(failed)) {
			again := slices.Collect(maps.Values(failing("-run", exactly(failed[pkg]), pkg)))
			here := slices.DeleteFunc(slices.Clone(failed[pkg]), func(name string) bool { return slices.Contains(slices.Concat(again...), name) })
			if len(again) == 0 || len(here) > 0 && len(here) < len(failed[pkg]) {
				v.noticed = strings.TrimSpace(pkg + " " + strings.Join(here, " "))
				return
			}
			v.failing = append(v.failing, strings.TrimSpace(pkg+" "+strings.Join(failed[pkg], " ")))
			anyway = append(anyway, failed[pkg]...)
		}
		if len(anyway) == before {
			return
		}
	}
}

// exactly is the expression for the tests of these names, "" for none: go test takes that for no expression.
func exactly(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// failing runs go test with these arguments and returns what does not pass: by package the tests, none where the package
// fails as a whole. What hangs does not pass.
func failing(args ...string) map[string][]string {
	var out bytes.Buffer
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1", "-timeout", "4m"}, args...)...)
	cmd.Stdout, cmd.WaitDelay = &out, 10*time.Second
	if cmd.Run() == nil {
		return nil
	}
	if failed := failures(&out); len(failed) > 0 {
		return failed
	}
	return map[string][]string{args[len(args)-1]: nil}
}

// failures reads what go test -json prints.
func failures(r io.Reader) map[string][]string {
	failed, open, out := map[string][]string{}, map[string][]string{}, map[string][]string{}
	for d := json.NewDecoder(r); ; {
		var e struct{ Action, Package, Test string }
		if d.Decode(&e) != nil {
			return out
		}
		switch {
		case e.Test == "" && e.Action == "fail":
			out[e.Package] = failed[e.Package]
			if len(out[e.Package]) == 0 { // those under way when it ended
				out[e.Package] = open[e.Package]
			}
		case e.Test == "" || strings.Contains(e.Test, "/"):
		case e.Action == "run":
			open[e.Package] = append(open[e.Package], e.Test)
		case e.Action == "pass" || e.Action == "skip" || e.Action == "fail":
			open[e.Package] = slices.DeleteFunc(open[e.Package], func(name string) bool { return name == e.Test })
			if e.Action == "fail" {
				failed[e.Package] = append(failed[e.Package], e.Test)
			}
		}
	}
}
