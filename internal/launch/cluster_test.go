package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// said returns a file for what a run tells people, and a function that reads it.
func said(t *testing.T) (*os.File, func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f, func() string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// builtin is a run of a built-in job to some output; master is empty for one here.
func builtin(t *testing.T, master string, out io.Writer, errs *os.File, to string, words ...string) Config {
	t.Helper()
	all := words
	if to != "" {
		all = append(all, "--output", to)
	}
	stages, err := jobs.Parse(all[0], all[1:])
	if err != nil {
		t.Fatal(err)
	}
	job, err := jobs.Find(words[0])
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Stages: stages, Local: local.DefaultConfig(), Client: client.Config{Master: master, User: client.CurrentUser()}, Result: &job, Progress: "plain", Out: out, Err: errs, Dash: "--",
		Program: func(context.Context, *client.Client) (wire.Program, error) {
			return wire.Program{Builtin: words[0], Args: append(slices.Clone(words[1:]), "--output", stages[len(stages)-1].Output)}, nil
		},
	}
}

func do(t *testing.T, ctx context.Context, c Config) error {
	t.Helper()
	run, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return run.Do(ctx)
}

// TestResults: a job whose result is short shows it, here and on a cluster, as words or in the report, and leaves nothing behind.
func TestResults(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	for _, master := range []string{"", c.Addr} {
		errs, text := said(t)
		var out bytes.Buffer
		cfg := builtin(t, master, &out, errs, "", "pi", "--maps", "2", "--samples", "1000")
		cfg.Local.Scratch = t.TempDir()
		if err := do(t, t.Context(), cfg); err != nil || !strings.Contains(out.String(), "3.1") {
			t.Errorf("on %q: %q, %v", master, &out, err)
		}
		if told := text(); !strings.Contains(told, "pi") || (master != "") != strings.Contains(told, "job-1 is submitted to "+c.Addr) {
			t.Errorf("on %q: %s", master, told)
		}
		out.Reset()
		cfg.JSON, cfg.Stages[0].Output = true, ""
		err := do(t, t.Context(), cfg)
		var report struct {
			State, Output string
			Result        map[string]any
		}
		if err := errors.Join(err, json.Unmarshal(out.Bytes(), &report)); err != nil || report.State != "SUCCEEDED" || report.Output != "" || len(report.Result) == 0 {
			t.Errorf("on %q: %s, %v", master, &out, err)
		}
		if left, err := os.ReadDir(cfg.Local.Scratch); err != nil || len(left) > 0 {
			t.Errorf("on %q: %v is left, %v", master, left, err)
		}
	}
	errs, _ := said(t)
	to := filepath.Join(t.TempDir(), "out")
	if err := do(t, t.Context(), builtin(t, "", io.Discard, errs, to, "pi", "--maps", "2", "--samples", "1000")); err != nil {
		t.Error(err)
	}
	if parts, err := filepath.Glob(filepath.Join(to, "part-*")); err != nil || len(parts) == 0 {
		t.Errorf("an output is said, and it is not there: %v, %v", parts, err)
	}
	if left, err := c.DFS.ListAll(t.Context(), "/tmp/.millrace"); err != nil || len(left) > 0 { // the directory is the proof that the results were there
		t.Errorf("%+v is left in the store, %v", left, err)
	}
}

// TestOutputs: a cluster writes where the output is said to be, in the block store or on this machine, refuses what is there, and can be
// left alone.
func TestOutputs(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	dir := t.TempDir()
	t.Chdir(dir)
	if err := os.WriteFile("in", []byte("b a b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	in := "file:" + filepath.Join(dir, "in")
	for _, out := range []string{"dfs:/tmp/out", "out", "file:" + filepath.Join(dir, "out2")} {
		errs, text := said(t)
		var shown bytes.Buffer
		full, err := Absolute(out)
		if err != nil {
			t.Fatal(err)
		}
		cfg := builtin(t, c.Addr, io.Discard, errs, out, "wordcount", "--input", in)
		cfg.Then = func(res local.Result, parts func(io.Writer) error) error {
			if res.Counts.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords) == 0 || res.Output != full {
				t.Errorf("%+v", res)
			}
			return parts(&shown)
		}
		if err := do(t, t.Context(), cfg); err != nil || shown.String() != "a\t1\nb\t2\n" && shown.String() != "b\t2\na\t1\n" {
			t.Errorf("to %s: %q, %v, %s", out, &shown, err, text())
		}
		cfg.Then = nil
		if err := do(t, t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("to %s, again: %v", out, err)
		}
		cfg.Local.Overwrite = true
		if err := do(t, t.Context(), cfg); err != nil || !strings.Contains(text(), "wordcount") {
			t.Errorf("to %s, over it: %v %s", out, err, text())
		}
	}
	var out bytes.Buffer
	cfg := builtin(t, c.Addr, &out, os.Stderr, "dfs:/tmp/later", "sleep", "--maps", "1", "--map-time", "1h")
	errs, _ := said(t)
	cfg.Detach, cfg.Progress, cfg.Err = true, "none", errs
	if err := do(t, t.Context(), cfg); err != nil || !strings.HasPrefix(out.String(), "job-") {
		t.Errorf("%q, %v", &out, err)
	}
}

// TestGoesOn: a job goes on by itself when its user, or the master, does not; the user is told its name.
func TestGoesOn(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cfg := builtin(t, c.Addr, io.Discard, os.Stderr, "dfs:/tmp/later", "sleep", "--maps", "1", "--map-time", "1h")
	cfg.Progress, cfg.Patience = "none", time.Second
	ctx, cancel := context.WithCancel(t.Context())
	var beside sync.WaitGroup // ends before the cluster is stopped
	defer beside.Wait()
	beside.Go(func() {
		c.Wait("the job runs", func() bool { return c.Status("job-1").Maps.Running > 0 })
		cancel()
	})
	err := do(t, ctx, cfg)
	on, ok := errors.AsType[*GoesOn](err)
	if code, tell := Code(err); !ok || on.Job != "job-1" || code != 3 || !tell || !strings.Contains(err.Error(), "interrupted; job-1 goes on by itself (millrace job watch job-1") {
		t.Errorf("%v", err)
	}
	if s := c.Status("job-1"); s.State != "RUNNING" {
		t.Errorf("%+v", s)
	}
	errs, text := said(t)
	cfg.Stages[0].Output, cfg.Progress, cfg.Err = "dfs:/tmp/later2", "plain", errs
	beside.Go(func() {
		c.Wait("the user knows the second job", func() bool { return strings.Contains(text(), "job-2 is submitted") })
		if err := c.Master.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := do(t, t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "job-2 goes on") || !strings.Contains(err.Error(), "has not answered for 1s") {
		t.Errorf("%v", err)
	}
}

// TestRefusedSubmissions: what cannot be submitted is said before anything runs.
func TestRefusedSubmissions(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	for want, change := range map[string]func(*Config){
		"must be HOST:PORT": func(c *Config) { c.Client.Master = "nowhere" },
		"no program today": func(c *Config) {
			c.Program = func(context.Context, *client.Client) (wire.Program, error) {
				return wire.Program{}, errors.New("no program today")
			}
		},
		"side file":                 func(c *Config) { c.Stages[0].SideFiles = []string{filepath.Join(t.TempDir(), "none")} },
		"the directory you work in": func(c *Config) { c.Stages[0].Output = "." },
		"dfs:/none":                 func(c *Config) { c.Stages[0].Input = []string{"dfs:/none"} },
	} {
		cfg := builtin(t, c.Addr, io.Discard, os.Stderr, "dfs:/tmp/out", "wordcount", "--input", "dfs:/none")
		cfg.Progress = "none"
		change(&cfg)
		if err := do(t, t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if s := c.Status("job-1"); s.Job != "" {
		t.Errorf("%+v was submitted", s)
	}
}

// TestExplained: a page tells what became of each record of a small input, and only of a small one.
func TestExplained(t *testing.T) {
	errs, text := said(t)
	cfg := builtin(t, "", io.Discard, errs, filepath.Join(t.TempDir(), "out"), "wordcount", "--input", lines(t).Input[0])
	cfg.Explain = filepath.Join(t.TempDir(), "page.html")
	if err := do(t, t.Context(), cfg); err != nil || !strings.Contains(text(), cfg.Explain) {
		t.Errorf("%v %s", err, text())
	}
	if page, err := os.ReadFile(cfg.Explain); err != nil || !bytes.Contains(page, []byte("<html")) {
		t.Errorf("%.100s, %v", page, err)
	}
	cfg.Local.Overwrite = true
	large := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(large, bytes.Repeat([]byte("many words\n"), 6000), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg.Stages[0].Input = []string{large}
	if err := do(t, t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "--explain shows each record, of up to 64") {
		t.Errorf("a large input: %v", err)
	}
	for want, change := range map[string]func(*Config){
		"--explain shows a run on this machine": func(c *Config) { c.Client.Master = "h:1" },
		"is no file":                            func(c *Config) { c.Explain = t.TempDir() },
		"cannot be written":                     func(c *Config) { c.Explain = filepath.Join(t.TempDir(), "none", "page.html") },
		"--detach needs --output":               func(c *Config) { c.Explain, c.Client.Master, c.Detach, c.Stages[0].Output = "", "h:1", true, "" },
	} {
		wrong := cfg
		wrong.Stages = append([]mapreduce.Job{}, cfg.Stages...)
		change(&wrong)
		if _, err := New(wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	fresh := filepath.Join(t.TempDir(), "page.html")
	for name, want := range map[string]bool{cfg.Explain: true, fresh: false} { // asking leaves all as it was
		if err := canWrite(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if page, err := os.ReadFile(name); (err == nil && bytes.Contains(page, []byte("<html"))) != want {
			t.Errorf("%s: %.100s, %v", name, page, err)
		}
	}
}

// TestHint: a join that found nothing says what may be wrong.
func TestHint(t *testing.T) {
	errs, text := said(t)
	cfg := builtin(t, "", io.Discard, errs, filepath.Join(t.TempDir(), "out"), "wordcount", "--input", lines(t).Input[0])
	cfg.Result = &jobs.Builtin{Hint: func(c mapreduce.Counts) string {
		return fmt.Sprint("two lines were read: ", c.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords) == 2)
	}}
	if err := do(t, t.Context(), cfg); err != nil || !strings.Contains(text(), "hint: two lines were read: true") {
		t.Errorf("%v %s", err, text())
	}
}
