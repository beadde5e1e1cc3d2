package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/jobs/gensort"
)

// programs are what builds each example, once, when a test needs it; millrace is the one binary, and testprog the program
// that misbehaves.
var (
	programs           = map[string]func() (string, error){}
	millrace, testprog string
)

// program is the path of an example.
func program(t *testing.T, name string) string {
	t.Helper()
	require.Tool(t, "go")
	if programs[name] == nil {
		t.Fatalf("there is no example %s", name)
	}
	path, err := programs[name]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "examples-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if _, err := exec.LookPath("go"); err == nil {
		found, _ := filepath.Glob("../examples/*/main.go")
		for _, f := range found {
			name := filepath.Base(filepath.Dir(f))
			path := filepath.Join(dir, "examples", name)
			programs[name] = sync.OnceValues(func() (string, error) {
				if out, err := exec.Command("go", "build", "-o", path, "../examples/"+name).CombinedOutput(); err != nil {
					return "", fmt.Errorf("build the example %s: %w\n%s", name, err, out)
				}
				return path, nil
			})
		}
		millrace, testprog = filepath.Join(dir, "millrace"), filepath.Join(dir, "testprog")
		if out, err := exec.Command("go", "build", "-o", dir, "../cmd/millrace", "./testprog").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the command: %v\n%s", err, out)
			return 1
		}
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("6") // clusters mostly wait, so more of them than processors run at once
	}
	return m.Run()
}

// example runs one of the programs in a directory of its own.
type example struct {
	t    *testing.T
	dir  string
	path string
}

func newExample(t *testing.T, name string) *example {
	t.Helper()
	return &example{t: t, dir: t.TempDir(), path: program(t, name)}
}

func (e *example) write(name string, content []byte) {
	e.t.Helper()
	if err := os.WriteFile(filepath.Join(e.dir, name), content, 0o644); err != nil {
		e.t.Fatal(err)
	}
}

// run returns what the program prints and its exit code.
func (e *example) run(args ...string) (stdout, stderr string, code int) {
	e.t.Helper()
	cmd := exec.CommandContext(e.t.Context(), e.path, args...)
	cmd.Dir = e.dir
	cmd.Env = append(os.Environ(), "TMPDIR="+e.t.TempDir())
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			e.t.Fatal(err)
		}
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// output runs the program, which must succeed, and returns its parts.
func (e *example) output(args ...string) string {
	e.t.Helper()
	if _, stderr, code := e.run(append(args, "-output", "out", "-overwrite")...); code != 0 {
		e.t.Fatalf("exit code %d: %s", code, stderr)
	}
	parts, err := filepath.Glob(filepath.Join(e.dir, "out", "part-*"))
	if err != nil {
		e.t.Fatal(err)
	}
	var all bytes.Buffer
	for _, p := range parts {
		content, err := os.ReadFile(p)
		if err != nil {
			e.t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

const poem = "the fox and the dog\nthe end\n\nfoxes, fox\n"

func TestWordCountExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "wordcount")
	e.write("in", []byte(poem))
	counts := map[string]int{}
	for w := range strings.FieldsSeq(poem) {
		counts[w]++
	}
	var want []string
	for w, n := range counts {
		want = append(want, fmt.Sprintf("%s\t%d\n", w, n))
	}
	slices.Sort(want)
	for _, reducers := range []string{"1", "4"} {
		got := strings.SplitAfter(e.output("-input", "in", "-reducers", reducers), "\n")
		slices.Sort(got)
		if strings.Join(got, "") != strings.Join(want, "") {
			t.Errorf("with %s reducers the output is %q, want %q", reducers, got, want)
		}
	}
}

func TestGrepExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "grep")
	e.write("in", []byte(poem))
	counts := map[string]int{}
	for _, match := range regexp.MustCompile("fox|the|dog").FindAllString(poem, -1) {
		counts[match]++
	}
	if counts["the"] != 3 || counts["fox"] != 3 || counts["dog"] != 1 {
		t.Fatalf("the reference is %v", counts)
	}
	got := e.output("-input", "in", "-pattern", "fox|the|dog")
	if got != "3\tfox\n3\tthe\n1\tdog\n" && got != "3\tthe\n3\tfox\n1\tdog\n" {
		t.Errorf("the output is %q", got)
	}
	_, stderr, code := e.run("-input", "in", "-output", "bad", "-pattern", "(")
	if code != 1 || !strings.Contains(stderr, "missing closing )") {
		t.Errorf("a wrong pattern: exit code %d, %s", code, stderr)
	}
}

func TestTeraSortExample(t *testing.T) {
	t.Parallel()
	e := newExample(t, "terasort")
	data := make([]byte, 20_000*gensort.RecordSize)
	gensort.NewGenerator(gensort.Uint128{}, gensort.Binary).Fill(data)
	e.write("rows", data)
	var before, after gensort.Summary
	if err := before.Add(data); err != nil {
		t.Fatal(err)
	}
	if err := after.Add([]byte(e.output("-input", "rows", "-reducers", "3", "-memory", "32MiB"))); err != nil {
		t.Fatal(err)
	}
	if !after.Sorted() || after.Records != before.Records || after.Checksum != before.Checksum {
		t.Errorf("%d rows, checksum %s, %d out of order", after.Records, after.Checksum, after.Unordered)
	}
}

// TestExamplesAreShort: each shows one idea on one screen or two.
func TestExamplesAreShort(t *testing.T) {
	for name := range programs {
		source, err := os.ReadFile("../examples/" + name + "/main.go")
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(source, []byte("\n")); n >= 100 {
			t.Errorf("%s has %d lines, want fewer than 100", name, n)
		}
	}
}

// TestProgramsOfMain: what every program made by millrace.Main does with its command
// line.
func TestProgramsOfMain(t *testing.T) {
	e := newExample(t, "wordcount")
	e.write("in", []byte("a b a\n"))
	e.write("in2", []byte("a b a\n"))
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"twice the same":   {[]string{"-input", "in,in", "-output", "o"}, 1, `input "in" is given twice`},
		"no input":         {nil, 2, "no input: give -input"},
		"no output":        {[]string{"-input", "in"}, 2, "no output: give -output"},
		"unknown flag":     {[]string{"-nosuch"}, 2, "nosuch"},
		"an argument":      {[]string{"-input", "in", "-output", "o", "in2"}, 2, `unexpected argument "in2"`},
		"wrong memory":     {[]string{"-input", "in", "-output", "o", "-memory", "much"}, 2, "-memory"},
		"little memory":    {[]string{"-input", "in", "-output", "o", "-memory", "1"}, 2, "must be at least"},
		"wrong progress":   {[]string{"-input", "in", "-output", "o", "-progress", "x"}, 2, "progress"},
		"too many reduces": {[]string{"-input", "in", "-output", "o", "-reducers", "1000000000"}, 2, "-reducers is 1000000000, must be in 1..100000"},
		"no reduces":       {[]string{"-input", "in", "-output", "o", "-reducers", "0"}, 2, "-reducers is 0, must be in 1..100000 (leave it out to have it chosen)"},
		"no memory":        {[]string{"-input", "in", "-output", "o", "-memory", "0"}, 2, "-memory is 0 bytes, must be at least"},
		"here":             {[]string{"-input", "in", "-output", ".", "-overwrite"}, 1, "the directory you work in"},
		"missing input":    {[]string{"-input", "nowhere", "-output", "o"}, 1, `"nowhere" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			_, stderr, code := e.run(c.args...)
			if code != c.code || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, want %d with %q:\n%s", code, c.code, c.want, stderr)
			}
			if _, err := os.Lstat(filepath.Join(e.dir, "o")); err == nil {
				t.Error("the output is visible")
			}
		})
	}
	stdout, stderr, code := e.run("-input", "in,in2", "-output", "out", "-json")
	var report struct {
		Job, State, Output string
		Counters           map[string]int64
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	if report.Job != "wordcount" || report.State != "SUCCEEDED" || report.Output != "out" || report.Counters["output_records"] != 2 {
		t.Errorf("the report is %+v", report)
	}
	if _, stderr, code := e.run("-input", "in", "-output", "out"); code != 1 || !strings.Contains(stderr, "overwrite") {
		t.Errorf("an output that exists: exit code %d, %s", code, stderr)
	}
}
