package millrace

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/worker/attempt"
)

// TestMain makes this binary the program of these tests where a worker starts it.
func TestMain(m *testing.M) {
	if os.Getenv(attempt.ChildEnv) == "" {
		os.Exit(m.Run())
	}
	flag.CommandLine = flag.NewFlagSet("own", flag.ContinueOnError)
	if loops(os.Args) {
		MainLoop(loop())
	}
	Main(words())
}

// loops reports whether a child is one of the loop.
func loops(args []string) bool {
	for _, a := range args {
		if strings.HasPrefix(a, "-"+turnFlag+"=") {
			return true
		}
	}
	return false
}

// words counts words, each with the text of a flag of the program before it.
func words() mapreduce.Job {
	before := flag.String("before", "", "what is put before each word")
	return mapreduce.Job{
		Name: "words", Fold: mapreduce.Sum,
		Map: mapreduce.LinesWith(func(*mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
			return func(line []byte, emit func([]byte, int64)) {
				for w := range bytes.FieldsSeq(line) {
					emit(append([]byte(*before), w...), 1)
				}
			}, nil
		}),
	}
}

// loop adds the number of the round to each word: first "!", then 1 and 2 and so on, until the third.
func loop() Loop {
	add := func(what string) mapreduce.Job {
		return mapreduce.Job{
			Name: "add", Fold: mapreduce.Sum, Reducers: 1, Params: map[string]string{"add": what},
			Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
				return func(line []byte, emit func([]byte, int64)) {
					key, _, _ := bytes.Cut(line, []byte("\t"))
					emit(append(bytes.Clone(key), t.Param("add")...), 1)
				}, nil
			}),
		}
	}
	return Loop{
		First: []mapreduce.Job{add("!")}, Round: []mapreduce.Job{add("1")},
		Again: func(done *Rounded) (map[string]string, bool, error) {
			text, err := done.Output()
			if err == nil && !strings.Contains(text, fmt.Sprint(done.Round)+"\t") || done.Counts.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords) == 0 {
				err = fmt.Errorf("round %d wrote %q", done.Round, text)
			}
			return map[string]string{"add": fmt.Sprint(done.Round + 1)}, done.Round < 3, err
		},
	}
}

// run runs a program as Main does and returns its exit code and what it printed.
func run(t *testing.T, main func() int, args ...string) (code int, out, errs string) {
	t.Helper()
	old, oldFlags, oldOut, oldErr := os.Args, flag.CommandLine, os.Stdout, os.Stderr
	defer func() { os.Args, flag.CommandLine, os.Stdout, os.Stderr = old, oldFlags, oldOut, oldErr }()
	os.Args, flag.CommandLine = append([]string{"own"}, args...), flag.NewFlagSet("own", flag.ExitOnError)
	files := [2]*os.File{}
	for i := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), "printed"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	os.Stdout, os.Stderr = files[0], files[1]
	code = main()
	var texts [2]string
	for i, f := range files {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return code, texts[0], texts[1]
}

func mainWords() int {
	p := program{stages: []mapreduce.Job{words()}}
	return p.main()
}

func mainLoop() int {
	l := loop()
	return l.main()
}

// TestExitCodes: a program ends with 0 when its job is done, with 1 when it failed, and with 2, in one line, when it was called wrongly.
func TestExitCodes(t *testing.T) {
	t.Setenv("MILLRACE_MASTER", "")
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.WriteFile(in, []byte("b a b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		main func() int
		args string
		code int
		want string
	}{
		{mainWords, "-input IN", 2, "no output: give -output DIRECTORY (-help lists the flags)\n"},
		{mainWords, "-output OUT", 2, "no input: give -input"},
		{mainWords, "-input IN -output OUT more", 2, `unexpected argument "more": give input as -input`},
		{mainWords, "-input IN -output OUT -reducers 0", 2, "-reducers"},
		{mainWords, "-input IN -output OUT -memory much", 2, "-memory: "},
		{mainWords, "-input IN -output OUT -none", 2, "flag provided but not defined: -none (-help lists the flags)\n"},
		{mainWords, "-input IN -output OUT -detach", 2, "-detach needs -master"},
		{mainWords, "-input INnone -output OUT", 1, "no such file"},
		{mainWords, "-input IN -output OUT -before x -reducers 3 -progress none", 0, "words"},
		{mainWords, "-input IN -output OUT", 1, "output exists"},
		{mainLoop, "-input IN -output OUT2 -rounds 0", 2, "-rounds is 0, must be at least 1"},
		{mainLoop, "-input IN -output OUT2 -memory 1B", 2, "-memory"},
		{mainLoop, "-input IN -output OUT2 -progress none", 0, "add"},
		{func() int { p := program{}; return p.main() }, "", 2, "no job to Main"},
		{func() int { l := Loop{Round: []mapreduce.Job{{}}}; return l.main() }, "", 2, "no job to Main"},
	} {
		args := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(c.args, "IN", in), "OUT", out))
		if code, _, errs := run(t, c.main, args...); code != c.code || !strings.Contains(errs, c.want) || c.code == 2 && strings.Count(errs, "\n") != 1 {
			t.Errorf("%d, %s: %d %s", i, c.args, code, errs)
		}
	}
	if got := partsOf(t, out); got != "xa\t1\nxb\t2\n" {
		t.Errorf("%q", got)
	}
	if parts, err := filepath.Glob(filepath.Join(out, "part-*")); err != nil || len(parts) != 3 {
		t.Errorf("%v, %v", parts, err)
	}
	if got := partsOf(t, out+"2"); got != "b a b!123\t1\n" {
		t.Errorf("%q", got)
	}
	if code, _, errs := run(t, mainWords, "-help"); code != 0 || !strings.Contains(errs, "-before") && !strings.Contains(errs, "Usage") {
		t.Errorf("%d %s", code, errs)
	}
}

// partsOf returns the lines of an output, sorted.
func partsOf(t *testing.T, dir string) string {
	t.Helper()
	parts, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, p := range parts {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.SplitAfter(string(b), "\n")...)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestOnACluster: a program ships itself, runs there with its own flags, and comes to what it comes to here; so does a loop.
func TestOnACluster(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	t.Setenv("MILLRACE_MASTER", c.Addr)
	cl, err := client.New(client.Config{Master: c.Addr})
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	local := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(local, []byte("b a b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in, _, err := cl.Ship(t.Context(), local) // a file of the block store
	if err != nil {
		t.Fatal(err)
	}
	code, out, errs := run(t, mainWords, "-input", "dfs:"+in, "-output", "dfs:/tmp/words", "-before", "x y", "-json")
	var report struct{ State, Output string }
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || report.State != "SUCCEEDED" || report.Output != "dfs:/tmp/words" {
		t.Fatalf("%d %s %s %v", code, out, errs, err)
	}
	if got := storedOf(t, cl, "/tmp/words"); got != "x ya\t1\nx yb\t2\n" {
		t.Errorf("%q", got)
	}
	if code, out, errs := run(t, mainLoop, "-input", "dfs:"+in, "-output", "dfs:/tmp/loop", "-rounds", "2"); code != 0 || out != "" || !strings.Contains(errs, "it would go on") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if got := storedOf(t, cl, "/tmp/loop"); got != "b a b!12\t1\n" {
		t.Errorf("%q", got)
	}
	if code, _, errs := run(t, mainWords, "-local", "-input", local, "-output", local+".out"); code != 0 || strings.Contains(errs, "submitted") {
		t.Errorf("%d %s", code, errs)
	}
}

// storedOf is partsOf for the block store.
func storedOf(t *testing.T, cl *client.Client, dir string) string {
	t.Helper()
	list, err := cl.DFS().ListAll(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range list {
		if !strings.Contains(e.Path, "/part-") {
			continue
		}
		f, err := cl.DFS().Open(t.Context(), e.Path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.SplitAfter(string(b), "\n")...)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
