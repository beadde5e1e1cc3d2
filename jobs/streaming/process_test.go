package streaming

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/millrace/millrace/mapreduce"
)

func TestMapperDividesLinesAtTheFirstTab(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	if err := a.mapLines(Map("cat", ""), "k\tv\tw", "only key", "", "\tno key"); err != nil {
		t.Fatal(err)
	}
	want := []string{"k|v\tw", "only key|", "|", "|no key"}
	if diff := cmp.Diff(want, a.lines); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}

func TestMapOnlyKeepsLinesWhole(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	if err := a.mapLines(MapOnly("cat"), "k\tv"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"k\tv|"}, a.lines); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
}

// TestOutputLines: whatever the command makes of its output, lines are lines.
func TestOutputLines(t *testing.T) {
	long := strings.Repeat("x", 3*batchBytes+5)
	for name, c := range map[string]struct {
		command string
		want    []string
	}{
		"no final newline":     {`cat >/dev/null; printf 'a\nb'`, []string{"a|", "b|"}},
		"nothing":              {"cat >/dev/null", nil},
		"a line over a buffer": {fmt.Sprintf("cat >/dev/null; head -c %d /dev/zero | tr '\\0' x; echo; echo y", len(long)), []string{long + "|", "y|"}},
		"bytes that are no text": {`cat >/dev/null; printf '\000\377\n\r\n'`, []string{
			"\x00\xff|", "\r|",
		}},
		"many": {"cat >/dev/null; seq 20000", sequence(20000)},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttempt(t.Context(), mapreduce.TaskInfo{})
			if err := a.mapLines(Map(c.command, ""), "x"); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.want, a.lines) {
				t.Errorf("got %d lines, %.200q", len(a.lines), a.lines)
			}
		})
	}
}

func sequence(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%d|", i+1))
	}
	return out
}

// TestCommandThatReadsNothing may exit well without its input, however much there is.
func TestCommandThatReadsNothing(t *testing.T) {
	lines := slices.Repeat([]string{strings.Repeat("x", 1000)}, 5000)
	for command, want := range map[string][]string{
		"true":                         nil,
		"echo enough":                  {"enough|"},
		"head -n 1 | tr x y | cut -c1": {"y|"},
		"exec <&-; seq 3; sleep 0.05":  {"1|", "2|", "3|"},
	} {
		a := newAttempt(t.Context(), mapreduce.TaskInfo{})
		if err := a.mapLines(Map(command, ""), lines...); err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if !slices.Equal(want, a.lines) {
			t.Errorf("%s: got %q", command, a.lines)
		}
	}
}

// TestCommandThatClosesItsOutput gets its input to the end all the same.
func TestCommandThatClosesItsOutput(t *testing.T) {
	lines := slices.Repeat([]string{strings.Repeat("x", 1000)}, 5000)
	file := filepath.Join(t.TempDir(), "seen")
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	if err := a.mapLines(Map("echo first; exec >&-; wc -l >"+file, ""), lines...); err != nil {
		t.Fatal(err)
	}
	seen, err := os.ReadFile(file)
	if err != nil || strings.TrimSpace(string(seen)) != "5000" || !slices.Equal(a.lines, []string{"first|"}) {
		t.Errorf("the command saw %s of 5000 lines, %v, and printed %q", seen, err, a.lines)
	}
}

// TestFailingCommand: the exit status and the end of standard error are in the error,
// also for each further record, so that a failed command is never taken for one that
// has read enough.
func TestFailingCommand(t *testing.T) {
	for command, words := range map[string][]string{
		"echo why >&2; exit 3":                 {"mapper: exit status 3", "why"},
		"cat >/dev/null; exit 1":               {"exit status 1"},
		"kill -9 $$":                           {"signal: killed"},
		"no-such-command-at-all":               {"exit status 127", "not found"},
		"seq 100000 >&2; exit 4":               {"exit status 4", "\n100000"},
		"exec 1>&-; cat >/dev/null; exit 5":    {"exit status 5"},
		"head -c 300000 /dev/zero >&2; exit 6": {"exit status 6"},
	} {
		a := newAttempt(t.Context(), mapreduce.TaskInfo{})
		err := a.mapLines(Map(command, ""), "a", "b", "c")
		if err == nil {
			t.Errorf("%s: no error", command)
			continue
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: the error lacks %q: %.300v", command, w, err)
			}
		}
		if n := len(err.Error()); n > 2*keepLog {
			t.Errorf("%s: an error of %d bytes", command, n)
		}
	}
}

func TestFailureIsRemembered(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	m := &mapper{task: a.Task, command: "exit 3"}
	failed := 0
	for range 100 {
		if err := m.Map(mapreduce.Record{Value: []byte("x")}, a); err != nil {
			failed++
		} else if failed > 0 {
			t.Fatal("a record went through after the command had failed")
		}
	}
	if err := m.Finish(a); err == nil {
		t.Error("Finish says that all is well")
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestCancelKillsTheGroup: the command never ends and has started others; one holds
// the pipes open, one has closed standard error.
func TestCancelKillsTheGroup(t *testing.T) {
	for name, command := range map[string]string{
		"with children":       `sleep 1000 & echo $! >>PIDS; (sleep 1000 & echo $! >>PIDS; wait) & echo $$ >>PIDS; wait`,
		"without stderr":      `exec 2>/dev/null; echo $$ >>PIDS; echo >>PIDS; echo >>PIDS; sleep 1000`,
		"without any pipe":    `exec >/dev/null 2>&1 </dev/null; echo $$ >>PIDS; echo >>PIDS; echo >>PIDS; exec sleep 1000`,
		"that ignores SIGINT": `trap '' INT TERM HUP; echo $$ >>PIDS; echo >>PIDS; echo >>PIDS; while :; do sleep 1000; done`,
	} {
		t.Run(name, func(t *testing.T) {
			pids := pidFile(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			a := newAttempt(ctx, mapreduce.TaskInfo{})
			ended := make(chan error, 1)
			go func() { ended <- a.mapLines(Map(strings.ReplaceAll(command, "PIDS", pids), ""), "x") }()
			waitFor(t, pids, 3)
			cancel()
			if err := <-ended; err == nil {
				t.Error("a command that was killed ended well")
			}
			gone(t, pids, 1)
		})
	}
}

// TestLeftBehind: a command exits well, but what it started still runs and holds its
// pipes. That must neither hold the attempt up nor live on.
func TestLeftBehind(t *testing.T) {
	pids := pidFile(t)
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	if err := a.mapLines(Map("sleep 1000 & echo $! >"+pids+"; cat", ""), "x"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"x|"}, a.lines); diff != "" {
		t.Errorf("want, got:\n%s", diff)
	}
	gone(t, pids, 1)
}

// TestCloseEndsTheCommand when an attempt fails for another reason.
func TestCloseEndsTheCommand(t *testing.T) {
	pids := pidFile(t)
	a := newAttempt(t.Context(), mapreduce.TaskInfo{})
	m := &mapper{task: a.Task, command: "echo $$ >>" + pids + "; yes"}
	if err := m.Map(mapreduce.Record{Value: []byte("x")}, a); err != nil {
		t.Fatal(err)
	}
	waitFor(t, pids, 1)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := m.Close(); err != nil { // twice is allowed
		t.Error(err)
	}
	gone(t, pids, 1)
}

// TestEndlessLine is refused at the record limit, not gathered for ever.
func TestEndlessLine(t *testing.T) {
	a := newAttempt(t.Context(), mapreduce.TaskInfo{MaxRecord: 1 << 20})
	err := a.mapLines(Map("tr '\\n' ' ' </dev/zero", ""), "x")
	if err == nil || !strings.Contains(err.Error(), "a line of more than 1048576 bytes") {
		t.Errorf("ended with %v", err)
	}
}
