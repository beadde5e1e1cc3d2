package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/internal/require"
)

// sh runs a script with the command millrace on its path.
func sh(t *testing.T, dir, script string, args ...string) (string, error) {
	t.Helper()
	bin := t.TempDir() // of millrace alone: beside it lies the example grep
	if err := os.Symlink(millrace, filepath.Join(bin, "millrace")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-e", script}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "MILLRACE_MASTER=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestCourse types every command of the lessons, as a student would, in a directory of its own.
func TestCourse(t *testing.T) {
	t.Parallel()
	lessons, err := filepath.Glob("../docs/course/[1-9]-*.md")
	if err != nil || len(lessons) != 8 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	for _, lesson := range lessons {
		t.Run(filepath.Base(lesson), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(lesson)
			if err != nil {
				t.Fatal(err)
			}
			var script strings.Builder
			for line := range strings.Lines(string(text)) {
				if typed, ok := strings.CutPrefix(line, "    "); ok {
					script.WriteString(typed)
				}
			}
			dir := t.TempDir()
			file := filepath.Join(dir, "lesson.sh")
			if err := os.WriteFile(file, []byte(script.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { // of a lesson that was broken off
				if _, err := os.Stat(filepath.Join(dir, "lesson2")); err == nil {
					_ = exec.Command(millrace, "cluster", "down", "--dir", filepath.Join(dir, "lesson2")).Run()
				}
			})
			if strings.Count(script.String(), "millrace ") < 2 {
				t.Fatalf("%d commands", strings.Count(script.String(), "millrace "))
			}
			if out, err := sh(t, dir, file); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestAssignments: each check passes what answers it and refuses the skeleton.
func TestAssignments(t *testing.T) {
	t.Parallel()
	require.Tool(t, "python3")
	for name, given := range map[string][2]string{ // TestWhatIsTaughtIsRun wants each
		"ngrams": {"./skeleton", "./answer"}, "visits": {"./skeleton", "./answer"},
		"policy": {"skeleton.star", "answer.star"}, "limit": {"cluster.yaml", "answer.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("../docs/course/assignments", name)
			if out, err := sh(t, dir, "check.sh", given[0]); err == nil || strings.Contains(out, "right") {
				t.Errorf("the skeleton passes:\n%s", out)
			}
			if out, err := sh(t, dir, "check.sh", given[1]); err != nil || !strings.Contains(out, "right") {
				t.Errorf("the answer fails: %v\n%s", err, out)
			}
		})
	}
}
