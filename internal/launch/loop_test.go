package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/task"
)

// grow is a job that adds its parameter to the first field of each line.
func grow(input []string, output string, params map[string]string) mapreduce.Job {
	return mapreduce.Job{
		Name: "grow", Input: input, Output: output, Params: params, Reducers: 1, Fold: mapreduce.Sum,
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
			return func(line []byte, emit func([]byte, int64)) {
				key, _, _ := bytes.Cut(line, []byte("\t"))
				emit(append(bytes.Clone(key), t.Param("add")...), 1)
			}, nil
		}),
	}
}

// parcel is what the jobs of a round are made of, on a cluster.
type parcel struct {
	Input  []string
	Output string
	Params map[string]string
}

func build(p *wire.Program) ([]mapreduce.Job, error) {
	var got parcel
	err := json.Unmarshal([]byte(p.Args[0]), &got)
	return []mapreduce.Job{grow(got.Input, got.Output, got.Params)}, err
}

// rig is a loop of grow, here or on a cluster, with what it prints.
type rig struct {
	Loop
	cfg  Config
	out  bytes.Buffer
	told func() string
}

func newRig(t *testing.T, master, in, out string) *rig {
	t.Helper()
	r := &rig{}
	errs, told := said(t)
	r.told = told
	r.cfg = Config{Local: local.DefaultConfig(), Client: client.Config{Master: master, User: client.CurrentUser()}, Progress: "plain", Out: &r.out, Err: errs, Dash: "-"}
	r.Loop = Loop{
		Round: []mapreduce.Job{grow([]string{in}, out, map[string]string{"add": "."})}, Most: 5,
		Again: func(n int, c mapreduce.Counts, text func() (string, error)) (map[string]string, bool, error) {
			return map[string]string{"add": fmt.Sprint(n + 1)}, n < 3, nil
		},
		Configure: func(stages []mapreduce.Job, first bool, params map[string]string) (Config, error) {
			c := r.cfg
			c.Stages = stages
			c.Program = func(context.Context, *client.Client) (wire.Program, error) {
				last := stages[len(stages)-1]
				text, err := json.Marshal(parcel{stages[0].Input, last.Output, last.Params})
				return wire.Program{Builtin: "grow", Args: []string{string(text)}}, err
			}
			return c, nil
		},
	}
	return r
}

// TestLoop: rounds read what the one before wrote, with the parameters that it was given, here and on a cluster, until it says that it is
// enough or there are no more; then the last output has its name, and nothing else is left.
func TestLoop(t *testing.T) {
	c := testcluster.Start(t, testcluster.Config{Workers: 1, Build: build})
	for name, x := range map[string]struct {
		change func(r *rig)
		want   string // the key
		says   []string
	}{
		"until enough":   {func(*rig) {}, "b.23", []string{"round 1: done in", "round 3: done in", ", the last"}},
		"most":           {func(r *rig) { r.Most = 2 }, "b.2", []string{"stopped after 2 rounds, as -rounds says: it would go on"}},
		"reread":         {func(r *rig) { r.Reread = true }, "b3", nil},
		"once":           {func(r *rig) { r.Most = 1 }, "b.", []string{"stopped after 1 round,"}},
		"with a first":   {func(r *rig) { r.First = []mapreduce.Job{grow(r.Round[0].Input, "", map[string]string{"add": "!"})} }, "b!.23", []string{"round 0: done in"}},
		"over its own":   {func(r *rig) { r.cfg.Local.Overwrite = true }, "b.23", nil},
		"output is read": {func(r *rig) { r.Again = readsOutput }, "b.b.", nil},
	} {
		for _, master := range []string{"", c.Addr} {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
			if err := os.WriteFile(in, []byte("b\nb\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			r := newRig(t, master, in, out)
			x.change(r)
			if r.cfg.Local.Overwrite {
				leave(t, out, task.SuccessFile)
				leave(t, out+".rounds", loopFile) // a loop was killed
			}
			if err := r.Do(t.Context()); err != nil {
				t.Errorf("%s on %q: %v", name, master, err)
				continue
			}
			got, err := os.ReadFile(filepath.Join(out, "part-r-00000"))
			if key, _, _ := strings.Cut(string(got), "\t"); err != nil || key != x.want {
				t.Errorf("%s on %q: %q, %v, want %s", name, master, got, err, x.want)
			}
			for _, s := range x.says {
				if !strings.Contains(r.told(), s) {
					t.Errorf("%s on %q: %q is not said: %s", name, master, s, r.told())
				}
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
				t.Errorf("%s on %q: %v is left, %v", name, master, left, err)
			}
		}
	}
}

// readsOutput hands what the first round wrote on to the second.
func readsOutput(n int, _ mapreduce.Counts, text func() (string, error)) (map[string]string, bool, error) {
	s, err := text()
	key, _, _ := strings.Cut(s, "\t")
	return map[string]string{"add": key}, n < 2, err
}

// leave makes a directory with a file in it.
func leave(t *testing.T, dir, file string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, file), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
}

// TestLoopReport: the report of a loop says how many rounds it had, and whether it would go on.
func TestLoopReport(t *testing.T) {
	in := lines(t).Input[0]
	for most, want := range map[int]string{2: `"rounds":2,"unfinished":true`, 3: `"rounds":3`} {
		out := filepath.Join(t.TempDir(), "out")
		r := newRig(t, "", in, out)
		r.Most, r.cfg.JSON = most, true
		if err := r.Do(t.Context()); err != nil || !strings.Contains(strings.ReplaceAll(strings.ReplaceAll(r.out.String(), " ", ""), "\n", ""), want) || !strings.Contains(r.out.String(), out) || r.told() != "" {
			t.Errorf("%d rounds: %s, %v, %s", most, &r.out, err, r.told())
		}
	}
}

// TestLoopRefuses: a loop that cannot be does not begin, and one that fails leaves nothing.
func TestLoopRefuses(t *testing.T) {
	for want, change := range map[string]func(r *rig, out string){
		"-detach: a loop needs this program": func(r *rig, _ string) { r.cfg.Detach = true },
		"output exists":                      func(_ *rig, out string) { leave(t, out, task.SuccessFile) },
		"is not the output of a job": func(r *rig, out string) {
			leave(t, out, "thesis.tex")
			r.cfg.Local.Overwrite = true
		},
		"exists and is no loop's": func(_ *rig, out string) { leave(t, out+".rounds", "thesis.tex") },
		"after round 1: enough": func(r *rig, _ string) {
			r.Again = func(int, mapreduce.Counts, func() (string, error)) (map[string]string, bool, error) {
				return nil, false, errors.New("enough")
			}
		},
		"the parameters of the next round have 70003 bytes": func(r *rig, _ string) {
			r.Again = func(int, mapreduce.Counts, func() (string, error)) (map[string]string, bool, error) {
				return map[string]string{"big": strings.Repeat("x", 70_000)}, true, nil
			}
		},
		"nosuch":            func(r *rig, _ string) { r.Round[0].Output = "nosuch:/out" },
		"must be HOST:PORT": func(r *rig, _ string) { r.cfg.Client.Master = "nowhere" },
		"no such file":      func(r *rig, _ string) { r.Round[0].Input = []string{"/none/at/all"} },
		"not today": func(r *rig, _ string) {
			r.Configure = func([]mapreduce.Job, bool, map[string]string) (Config, error) {
				return Config{}, errors.New("not today")
			}
		},
	} {
		dir := t.TempDir()
		out := filepath.Join(dir, "out")
		r := newRig(t, "", lines(t).Input[0], out)
		change(r, out)
		before, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Do(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		after, err := os.ReadDir(dir)
		if err != nil || len(after) != len(before) {
			t.Errorf("%s: %v was there, %v is there; %v", want, before, after, err)
		}
	}
}

// TestParametersOfRounds: those of a round stand over those of the job, which keeps its own; all of a round together have a limit.
func TestParametersOfRounds(t *testing.T) {
	job := map[string]string{"a": "1", "b": "2"}
	for _, x := range []struct{ job, round, want map[string]string }{
		{job, nil, job},
		{nil, map[string]string{"c": "3"}, map[string]string{"c": "3"}},
		{nil, nil, nil},
		{job, map[string]string{"b": "5", "c": "3"}, map[string]string{"a": "1", "b": "5", "c": "3"}},
	} {
		if got := WithParams(x.job, x.round); !maps.Equal(got, x.want) {
			t.Errorf("%v and %v make %v", x.job, x.round, got)
		}
	}
	if len(job) != 2 || job["b"] != "2" {
		t.Errorf("the job has %v", job)
	}
	for size, ok := range map[int]bool{maxParams: true, maxParams + 1: false} {
		if err := checkParams(map[string]string{"a": strings.Repeat("x", 9), "name": strings.Repeat("x", size-14)}); (err == nil) != ok {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestLoopIsExplained: each round has a page of its own.
func TestLoopIsExplained(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, "", lines(t).Input[0], filepath.Join(dir, "out"))
	r.Most, r.cfg.Explain = 2, filepath.Join(dir, "page.html")
	if err := r.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"page-1.html": true, "page-2.html": true, "page.html": false, "page-3.html": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLongOutput: what is too long to be looked at is not read to its end.
func TestLongOutput(t *testing.T) {
	for size, ok := range map[int]bool{maxText: true, maxText + 1: false, 3 * maxText: false} {
		text, err := textOf(func(w io.Writer) error {
			_, err := io.Copy(w, strings.NewReader(strings.Repeat("x", size)))
			return err
		})()
		if (err == nil) != ok || ok && len(text) != size || !ok && !strings.Contains(err.Error(), "larger than 1.00 MiB") {
			t.Errorf("%d bytes: %d, %v", size, len(text), err)
		}
	}
	if _, err := textOf(func(io.Writer) error { return errors.New("gone") })(); err == nil {
		t.Error("an output that cannot be read was")
	}
}

// TestLoopLooksAtItsOutput whatever its name is: brackets are no pattern.
func TestLoopLooksAtItsOutput(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out[1]")
	r := newRig(t, "", lines(t).Input[0], out)
	r.Again = func(_ int, _ mapreduce.Counts, text func() (string, error)) (map[string]string, bool, error) {
		if s, err := text(); err != nil || s == "" {
			t.Errorf("the round wrote %q, %v", s, err)
		}
		return nil, false, nil
	}
	if err := r.Do(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLoopKeepsItsInput: an output that takes the place of the input is refused as in a job of one round, and so are rounds that a later one would read as its input.
func TestLoopKeepsItsInput(t *testing.T) {
	for name, c := range map[string]struct {
		in, out string
		want    string // "" if it is no mistake
		change  func(r *rig)
	}{
		"the input":           {"data", "data", "lies inside", func(r *rig) { r.cfg.Local.Overwrite = true }},
		"above the input":     {"data/part-*", "data", "lies inside", func(r *rig) { r.cfg.Local.Overwrite = true }},
		"below the input":     {"data", "data/out", `output "DIR/data/out" lies inside`, func(*rig) {}},
		"rounds in a pattern": {"data/*", "data/out", "would read what the rounds write", func(r *rig) { r.Reread = true }},
		"beside a pattern":    {"data/part-*", "data/out", "", func(r *rig) { r.Reread = true }},
		"read once":           {"data/*", "data/out", "", func(*rig) {}},
	} {
		dir := t.TempDir()
		leave(t, filepath.Join(dir, "data"), task.SuccessFile)
		kept := filepath.Join(dir, "data", "part-r-00000")
		if err := os.WriteFile(kept, []byte("b\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		r := newRig(t, "", filepath.Join(dir, c.in), filepath.Join(dir, c.out))
		c.change(r)
		err := r.Do(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), strings.ReplaceAll(c.want, "DIR", dir)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if data, err := os.ReadFile(kept); string(data) != "b\n" {
			t.Errorf("%s: the input is %q, %v", name, data, err)
		}
	}
}
