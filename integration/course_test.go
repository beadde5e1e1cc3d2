package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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

// TestCourse types every command of the lessons and then of their answers, as a student would, in a directory of its own, and wants each table to show
// what the line below its command says.
func TestCourse(t *testing.T) {
	t.Parallel()
	lessons, err := filepath.Glob("../docs/course/[1-9]-*.md")
	if err != nil || len(lessons) != 8 {
		t.Fatalf("%d lessons, %v", len(lessons), err)
	}
	all := read(t, "../docs/course/answers.md")
	for i, lesson := range lessons {
		t.Run(filepath.Base(lesson), func(t *testing.T) {
			t.Parallel()
			_, answers, ok := strings.Cut(all, fmt.Sprintf("**Lesson %d.**", i+1))
			if !ok {
				t.Fatal("it has no answers")
			}
			answers, _, _ = strings.Cut(answers, "**Lesson ")
			script := commands(read(t, lesson)) + commands(answers)
			dir := t.TempDir()
			file := filepath.Join(dir, "lesson.sh")
			if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { // of a lesson that was broken off
				if _, err := os.Stat(filepath.Join(dir, "lesson2")); err == nil {
					_ = exec.Command(millrace, "cluster", "down", "--dir", filepath.Join(dir, "lesson2")).Run()
				}
			})
			if strings.Count(script, "millrace ") < 2 {
				t.Fatalf("%d commands", strings.Count(script, "millrace "))
			}
			out, err := sh(t, dir, file)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if held := wantFigures(t, out); i >= 2 && held < 4 {
				t.Errorf("its answers state %d figures", held)
			}
		})
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// states begins what a script says when a command has ended that a line of figures follows.
const states = "@ states "

// commands are those of a page, which are indented. A comment below one is said, so that it stands behind what the command prints.
func commands(page string) string {
	var script strings.Builder
	simulates := false // the line above
	for line := range strings.Lines(page) {
		typed, ok := strings.CutPrefix(line, "    ")
		if !ok {
			continue
		}
		if figures, ok := strings.CutPrefix(typed, "# "); ok && simulates {
			typed = "echo '" + states + strings.TrimSpace(figures) + "'\n"
		}
		simulates = strings.HasPrefix(typed, "millrace sim run ")
		script.WriteString(typed)
	}
	return script.String()
}

// wantFigures wants each figure that a script states in a row of the last table before it, as in "fair 74.3 s, fbq 2.35". It returns how many there are.
func wantFigures(t *testing.T, out string) (held int) {
	t.Helper()
	rows := map[string][]string{}
	for line := range strings.Lines(out) {
		if cells := strings.Split(line, "│"); len(cells) > 2 {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows[cells[1]] = append(rows[cells[1]], cells[2:]...)
		}
		figures, ok := strings.CutPrefix(strings.TrimSpace(line), states)
		if !ok {
			continue
		}
		for figure := range strings.SplitSeq(figures, ", ") {
			held++
			if !shows(rows, figure) {
				t.Errorf("the answers say %s, the table %v", figure, rows)
			}
		}
		clear(rows)
	}
	return held
}

// shows tells whether the row of a policy has a figure, as in "fair 74.3 s". Names may have spaces.
func shows(rows map[string][]string, figure string) bool {
	for name, cells := range rows {
		if value, ok := strings.CutPrefix(figure, name+" "); ok && slices.Contains(cells, value) {
			return true
		}
	}
	return false
}

// TestOwnPoliciesAreTyped runs the two scripts of docs/policies/write-your-own.md by the command below them, and wants the figures that the page
// states. None of them is much worse than fair: they are there to be copied.
func TestOwnPoliciesAreTyped(t *testing.T) {
	t.Parallel()
	page, dir := read(t, "../docs/policies/write-your-own.md"), t.TempDir()
	_, page, _ = strings.Cut(page, "## The short form")
	page, _, _ = strings.Cut(page, "| of a job |")
	script, typed, ok := strings.Cut(commands(page), "millrace sim run ")
	short, long, both := strings.Cut(script, "# Whoever")
	if !ok || !both || !strings.Contains(short, "def key(") || !strings.Contains(long, "def assign(") {
		t.Fatalf("the page has not both scripts and a command: %s", script)
	}
	for name, text := range map[string]string{"mine.star": short, "least.star": "# Whoever" + long, "typed.sh": "millrace sim run " + typed} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := sh(t, dir, filepath.Join(dir, "typed.sh"))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if held := wantFigures(t, out); held != 3 {
		t.Errorf("the page states %d figures", held)
	}
	mean := map[string]float64{}
	_, stated, _ := strings.Cut(out, states)
	for _, policy := range []string{"fair", "mine", "least"} {
		_, after, _ := strings.Cut(stated, policy+" ")
		value := 0.0
		if _, err := fmt.Sscan(after, &value); err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		mean[policy] = value
	}
	if mean["mine"] > 1.1*mean["fair"] || mean["least"] > 1.1*mean["fair"] {
		t.Errorf("an example is much worse than fair: %v", mean)
	}
}

// TestAssignments: each check passes what answers it and refuses the skeleton.
func TestAssignments(t *testing.T) {
	t.Parallel()
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

// TestLimitIsChecked: the check of assignment D takes the limit of a file, however it is written, and nothing else of it.
func TestLimitIsChecked(t *testing.T) {
	t.Parallel()
	answer := read(t, "../docs/course/assignments/limit/answer.yaml")
	one, _, _ := strings.Cut(answer, "  - {name: j2")
	short := one + "policies: [{policy: fifo}]\nadmission: {policy: marp, params: {marp: \"0.1\"}}\n"
	for text, right := range map[string]bool{
		answer: true,
		strings.Replace(answer, `"0.1"`, "0.1", 1):         true,
		strings.Replace(answer, `"0.1"`, "0.05", 1):        false,
		strings.Replace(answer, `"0.1"`, "'0.6'", 1):       false,
		strings.Replace(short, `"0.1"`, "0.05", 1):         false, // one job alone ends as soon under every limit
		strings.Replace(answer, `marp: "0.1"`, "", 1):      false,
		strings.Replace(answer, `"0.1"`, `"0.1 by 2"`, 1):  false,
		strings.Replace(answer, `"0.1"`, "0.05 # 0.1", 1):  false,
		strings.Replace(answer, "# 20", "# marp: 0.6 ", 1): true,
	} {
		file := filepath.Join(t.TempDir(), "mine.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := sh(t, "../docs/course/assignments/limit", "check.sh", file)
		if (err == nil && strings.HasSuffix(out, "right\n")) != right {
			t.Errorf("the check passes, or not, where it should not, or should: %v, %v\n%s\n%s", right, err, text, out)
		}
	}
}

// TestReplayIsTyped types the commands of docs/simulator.md with which a replay is compared with what happened, on a cluster that is new.
func TestReplayIsTyped(t *testing.T) {
	t.Parallel()
	_, part, _ := strings.Cut(read(t, "../docs/simulator.md"), "## How far a replay is from what happened")
	part, _, _ = strings.Cut(part, "\n## ")
	dir := t.TempDir()
	t.Cleanup(func() { _ = exec.Command(millrace, "cluster", "down", "--dir", filepath.Join(dir, ".cluster")).Run() }) // if it was broken off
	file := filepath.Join(dir, "typed.sh")
	if err := os.WriteFile(file, []byte(commands(part)), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := sh(t, dir, file); err != nil || !strings.Contains(out, "6 jobs and ") || !strings.Contains(out, "│ deadline-max") {
		t.Errorf("%v\n%s", err, out)
	}
}
