package launch

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/program"
)

// TestRebuild: a program whose source is in the working directory is built once more for another machine, with the tags it had.
func TestRebuild(t *testing.T) {
	src, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/count\n\ngo 1.26\n",
		"main.go": "//go:build wanted\n\npackage main\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(src)
	info := &debug.BuildInfo{Path: "example.com/count", Settings: []debug.BuildSetting{{Key: "-tags", Value: "wanted"}, {Key: "-buildmode", Value: "pie"}}}
	var said strings.Builder
	exe, err := rebuild(t.Context(), info, out, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"}, &said)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := program.Read(f); err != nil || got != (program.Needs{Platform: "linux/arm64"}) {
		t.Errorf("it needs %+v, %v", got, err)
	}
	if want := "building example.com/count once more with CGO_ENABLED=0 GOOS=linux GOARCH=arm64\n"; said.String() != want {
		t.Errorf("says %q, want %q", said.String(), want)
	}
}

// TestNothingToRebuild: where the source is not, or nobody knows which it is, the user hears why nothing is built.
func TestNothingToRebuild(t *testing.T) {
	t.Chdir(t.TempDir())
	for path, why := range map[string]string{
		"":                       "does not know its package",
		"command-line-arguments": "does not know its package",
		"example.com/count":      "go build example.com/count",
	} {
		_, err := rebuild(t.Context(), &debug.BuildInfo{Path: path}, t.TempDir(), nil, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := rebuild(t.Context(), nil, t.TempDir(), nil, &strings.Builder{}); err == nil {
		t.Error("a program without build information was built")
	}
}
