package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	wanted = regexp.MustCompile("want `(.+)`")
	found  = regexp.MustCompile(`(?m)^(\S+\.go:\d+):\d+: (.+)$`)
)

// TestAnalysers: go vet with this program finds each mistake of testdata that a comment there wants, and no other.
func TestAnalysers(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "analyse")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	vet := exec.Command("go", "vet", "-vettool="+tool, "./...")
	vet.Dir = filepath.Join("testdata", "mistakes")
	out, err := vet.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		t.Fatalf("%v: %s", err, out)
	}
	want := wantedIn(t, vet.Dir)
	for _, m := range found.FindAllStringSubmatch(string(out), -1) {
		i := slices.IndexFunc(want, func(w string) bool { return strings.HasPrefix(m[1]+" "+m[2], w) })
		if i < 0 {
			t.Errorf("found, and not wanted: %s", m[0])
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
	for _, w := range want {
		t.Errorf("not found: %s", w)
	}
}

// wantedIn is what comments want, as "folder/file.go:7 the beginning of what is found".
func wantedIn(t *testing.T, dir string) (out []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*", "*.go"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		short, _ := filepath.Rel(dir, name) // both have come from Glob
		for i, l := range strings.Split(string(text), "\n") {
			if m := wanted.FindStringSubmatch(l); m != nil {
				out = append(out, fmt.Sprintf("%s:%d %s", short, i+1, m[1]))
			}
		}
	}
	return out
}
