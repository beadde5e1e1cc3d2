package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

func lines(t *testing.T) mapreduce.Job {
	t.Helper()
	in := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(in, []byte("b\na\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return mapreduce.Job{
		Name: "lines", Input: []string{in}, Output: filepath.Join(t.TempDir(), "out"),
		Map: mapreduce.Lines(func(line []byte, emit func([]byte, int64)) { emit(line, 1) }), Fold: mapreduce.Sum,
	}
}

func TestNewRefuses(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"no job":             func(c *Config) { c.Stages = nil },
		"-memory is 5 bytes": func(c *Config) { c.Local.Memory = 5 },
		"progress":           func(c *Config) { c.Progress = "loud" },
		"-detach needs -master: a local run ends with this process": func(c *Config) { c.Detach = true },
		"-memory means nothing on the cluster of h:1":               func(c *Config) { c.Client.Master = "h:1"; c.Given = only("memory") },
		"-workers means nothing on the cluster":                     func(c *Config) { c.Client.Master = "h:1"; c.Given = only("workers") },
		"-scratch means nothing on the cluster":                     func(c *Config) { c.Client.Master = "h:1"; c.Given = only("scratch") },
		"-local runs the job here":                                  func(c *Config) { c.Client.Master = "h:1"; c.Given = only("memory") },
	} {
		c := Config{Stages: []mapreduce.Job{lines(t)}, Local: local.DefaultConfig(), Progress: "none", Dash: "-", Client: client.Config{}}
		change(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func only(name string) func(string) bool { return func(n string) bool { return n == name } }

// TestNobodyAnswers: who waits for a master that is not there is told so after two seconds, and not only at the end.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	job := lines(t)
	job.Output = "dfs:/out"
	run, err := New(Config{
		Stages: []mapreduce.Job{job}, Local: local.DefaultConfig(), Progress: "none", Out: said, Err: said, Dash: "-",
		Program: func(context.Context, *client.Client) (wire.Program, error) {
			return wire.Program{Builtin: "lines"}, nil
		},
		Client: client.Config{Master: "127.0.0.1:1", User: "ann", Patience: 3 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Do(t.Context()); err == nil || !strings.Contains(err.Error(), "is the master at 127.0.0.1:1 running?") {
		t.Error(err)
	}
	got, err := os.ReadFile(said.Name())
	if want := "the master at 127.0.0.1:1 has not taken the job yet; -local would run it here\n"; err != nil || string(got) != want {
		t.Errorf("it said %q, want %q (%v)", got, want, err)
	}
}

// TestHere runs a chain in this process, and fails one.
func TestHere(t *testing.T) {
	var out strings.Builder
	job := lines(t)
	c := Config{Stages: []mapreduce.Job{job}, Local: local.DefaultConfig(), Progress: "none", JSON: true, Out: &out, Err: os.Stderr, Dash: "-"}
	for i, want := range []int{0, 1} { // the output is there the second time
		out.Reset()
		run, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		code, tell := Code(run.Do(t.Context()))
		if code != want || tell || !strings.Contains(out.String(), []string{"SUCCEEDED", "output exists"}[i]) {
			t.Errorf("run %d: code %d, tell %v, %s", i, code, tell, &out)
		}
	}
	var text strings.Builder
	if err := PrintParts(&text, job.Output); err != nil || !strings.Contains(text.String(), "a\t1\n") {
		t.Errorf("%q, %v", &text, err)
	}
}

func TestCode(t *testing.T) {
	for _, c := range []struct {
		err  error
		code int
		tell bool
	}{
		{nil, 0, false}, {errors.New("x"), 1, true}, {errors.Join(errReported, errors.New("x")), 1, false}, {&GoesOn{"job-1", errors.New("x")}, 3, true},
	} {
		if code, tell := Code(c.err); code != c.code || tell != c.tell {
			t.Errorf("%v: %d, %v", c.err, code, tell)
		}
	}
}

// TestPrintParts: the parts of an output go out in order, and nothing else; one that is not there is an error.
func TestPrintParts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"part-00001": "b", "part-00000": "a", "_SUCCESS": "x", "other": "y"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := PrintParts(&out, dir); err != nil || out.String() != "ab" {
		t.Errorf("%q, %v", &out, err)
	}
	if err := PrintParts(&out, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no directory: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "part-00002"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := PrintParts(&out, dir); err == nil {
		t.Error("a part that cannot be read is no error")
	}
}
