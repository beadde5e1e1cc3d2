package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/millrace/millrace/internal/launch"
)

// TestMain makes the test binary the command itself when it is called by that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"millrace": func() {
		code := run(os.Args[1:])
		notePeak()
		os.Exit(code)
	}, "busy": busy})
}

// peakFile names the variable with the file that notePeak writes.
const peakFile = "MILLRACE_TEST_PEAK"

// notePeak writes down how much memory the process has had at most. What the parent
// learns from wait4 will not do: it counts the memory of the parent itself, which a
// new process shares until it runs its own program.
func notePeak() {
	name := os.Getenv(peakFile)
	if name == "" {
		return
	}
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		err = os.WriteFile(name, status, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// TestScripts runs testdata/script: what a user types and sees.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits, "json": jsonKeys, "clean": clean, "cmpparts": cmpParts, "fits": fits,
		},
	})
}

// exits CODE COMMAND... runs a command and wants that exit code. Its output is then
// there for stdout and stderr.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// json KEY=VALUE... wants an object on standard output with these values; KEY alone
// wants the key, !KEY its absence.
func jsonKeys(ts *testscript.TestScript, _ bool, args []string) {
	var object map[string]any
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	ts.Check(decoder.Decode(&object))
	if decoder.More() {
		ts.Fatalf("more than one object on standard output")
	}
	for _, arg := range args {
		key, want, valued := strings.Cut(arg, "=")
		if absent, ok := strings.CutPrefix(key, "!"); ok {
			if _, has := object[absent]; has {
				ts.Fatalf("has the key %q", absent)
			}
			continue
		}
		value, ok := any(object), true
		for part := range strings.SplitSeq(key, "/") {
			var m map[string]any
			if m, ok = value.(map[string]any); ok {
				value, ok = m[part]
			}
		}
		if !ok {
			ts.Fatalf("no key %q in %v", key, object)
		}
		if text, err := json.Marshal(value); valued && (err != nil || strings.Trim(string(text), `"`) != want) {
			ts.Fatalf("%s is %s, want %s", key, text, want)
		}
	}
}

// clean wants no temporary file and no half-made output anywhere.
func clean(ts *testscript.TestScript, _ bool, _ []string) {
	err := filepath.WalkDir(ts.MkAbs("."), func(p string, _ os.DirEntry, err error) error {
		if name := filepath.Base(p); err == nil && (strings.Contains(name, "millrace-") || strings.Contains(name, "_attempts")) {
			ts.Fatalf("left behind: %s", p)
		}
		return err
	})
	ts.Check(err)
}

// cmpparts DIR FILE compares the parts of an output, one after the other, with a file.
func cmpParts(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: cmpparts DIR FILE")
	}
	var all bytes.Buffer
	ts.Check(launch.PrintParts(&all, ts.MkAbs(args[0])))
	if want := ts.ReadFile(args[1]); (all.String() == want) == neg {
		ts.Fatalf("the parts are\n%.2000s\nwant (%v)\n%.2000s", all.String(), !neg, want)
	}
}

// TestEveryCommandHasAnExample and says what it is for.
func TestEveryCommandHasAnExample(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || slices.Contains([]string{"help", "completion"}, c.Name()) {
			return
		}
		if c.Short == "" || !strings.Contains(c.Example, "millrace ") {
			t.Errorf("%s: summary %q, example %q", c.CommandPath(), c.Short, c.Example)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot())
}
