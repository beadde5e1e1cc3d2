package task

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

// TestOwnOutput: the output of a job of this process has a hidden directory that others take for alive, and whether it is committed or given up, nothing
// is left beside it. What a dead process left there goes.
func TestOwnOutput(t *testing.T) {
	for _, end := range []string{"commit", "abort"} {
		dir := t.TempDir()
		job := &mapreduce.Job{Output: dir + "/deep/out", Input: []string{dir + "/in"}}
		first, err := PrepareOwnOutput(storage.Mux{}, job, true)
		if err != nil {
			t.Fatal(err)
		}
		dead := mapreduce.WorkDir(job.Output, "7")
		if err := errors.Join(os.MkdirAll(dead, 0o700), os.WriteFile(dead+".lock", nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		second, err := PrepareOwnOutput(storage.Mux{}, job, true)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{first.Work(): true, second.Work(): true, dead: false, dead + ".lock": false, job.Output: false} {
			if _, err := os.Stat(name); (err == nil) != want {
				t.Errorf("%s is there: %t", name, !want)
			}
		}
		if err := first.Abort(); err != nil {
			t.Fatal(err)
		}
		want := ""
		if end == "commit" {
			err, want = second.Commit(), "out"
		} else {
			err = second.Abort()
		}
		if got := strings.Join(names(t, dir+"/deep"), " "); err != nil || got != want {
			t.Errorf("%s: %v, and there is %q", end, err, got)
		}
	}
}

// names lists a directory, which need not be there.
func names(t *testing.T, dir string) (out []string) {
	entries, err := filepath.Glob(dir + "/*")
	hidden, err2 := filepath.Glob(dir + "/.*")
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	for _, e := range append(entries, hidden...) {
		out = append(out, filepath.Base(e))
	}
	return out
}

// TestOutputOverItsInput: a pattern that leads into an output that is to be overwritten is refused before anything is; without overwriting it does no harm.
func TestOutputOverItsInput(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"/out/below", "/other"} {
		if err := os.MkdirAll(dir+d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	split := func(paths ...string) *Plan {
		p := &Plan{}
		for _, name := range paths {
			p.Splits = append(p.Splits, Split{Ranges: []Range{{Path: dir + name, Length: 1}, {Path: dir + name + "2", Length: 1}}})
		}
		return p
	}
	for _, x := range []struct {
		plan      *Plan
		overwrite bool
		ok        bool
	}{
		{split("/other/a", "/other/b"), true, true},
		{split("/other/a", "/out/below/b"), true, false},
		{split("/out/b"), true, false},
		{split("/out/b"), false, true},
		{split(), true, true},
	} {
		o := &JobOutput{name: dir + "/out", overwrite: x.overwrite}
		if err := o.CheckInput(storage.Mux{}, x.plan); (err == nil) != x.ok || !x.ok && !strings.Contains(err.Error(), "/out/") {
			t.Errorf("%+v, overwritten %t: %v", x.plan.Splits, x.overwrite, err)
		}
	}
}

// TestSharedOutputIsReplaced: a commit that is repeated after the one before was cut short removes what was to be replaced, and the hidden directory has
// the name that a worker finds by itself.
func TestSharedOutputIsReplaced(t *testing.T) {
	dir := t.TempDir()
	job := &mapreduce.Job{Output: dir + "/out", Input: []string{dir + "/in"}}
	commit := func(id string) *JobOutput {
		o, err := prepare(storage.Mux{}, job, id, true)
		if err != nil {
			t.Fatal(err)
		}
		if work, err := WorkDir(storage.Mux{}, job, id); err != nil || work != o.Work() {
			t.Errorf("looked for in %s, made in %s, %v", work, o.Work(), err)
		}
		if err := o.CommitOnce(id, 20); err != nil {
			t.Fatal(err)
		}
		return o
	}
	commit("job-1")
	o := commit("job-2")
	if err := os.Mkdir(oldDir(o.Work()), 0o700); err != nil { // as if the driver had died before it removed that
		t.Fatal(err)
	}
	if err := o.CommitOnce("job-2", 20); err != nil {
		t.Error(err)
	}
	if mark, err := os.ReadFile(job.Output + "/" + SuccessFile); err != nil || string(mark) != "job-2" {
		t.Errorf("the mark is %q, %v", mark, err)
	}
	if got := strings.Join(names(t, dir), " "); got != "out" {
		t.Errorf("there is %s", got)
	}
	for _, mark := range []string{"job-1", "job-22", "job-", ""} {
		if err := o.CommitOnce(mark, 20); err == nil {
			t.Errorf("%q takes job-2's output for its own", mark)
		}
	}
}

// TestFolds: every kind of fold gives, over several maps and merges, what adding up by hand does.
func TestFolds(t *testing.T) {
	number := mapreduce.Lines(func(line []byte, emit func(string, int64)) { emit("k", int64(len(line))) })
	word := mapreduce.Lines(func(line []byte, emit func(string, string)) { emit("k", string(line)) })
	longest := mapreduce.FoldOf("longest", func(a, b string) string {
		if len(b) > len(a) {
			return b
		}
		return a
	})
	for want, job := range map[string]mapreduce.Job{
		"k\t10\n": {Map: number, Fold: mapreduce.Sum}, "k\t1\n": {Map: number, Fold: mapreduce.Min}, "k\t4\n": {Map: number, Fold: mapreduce.Max},
		"k\tdddd\n": {Map: word, Fold: longest},
	} {
		s := newStage(t, job, 4, 1, "a\nbb\n", "dddd\nccc\n")
		parts, err := s.run(t.Context())
		if got := strings.Join(parts, ""); err != nil || got != want || len(s.plan.Splits) < 2 {
			t.Errorf("%v of %d maps: %q, %v; want %q", job.Fold, len(s.plan.Splits), got, err, want)
		}
	}
	s := newStage(t, mapreduce.Job{Map: number, Fold: mapreduce.Sum}, 100, 1, "a\n")
	s.job.Map = word
	if _, err := s.runMap(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "sum") {
		t.Errorf("words are added up: %v", err)
	}
}

// TestPartsOfValues: a value in parts is one value, whether the output can take parts or not.
func TestPartsOfValues(t *testing.T) {
	type partsEmitter interface {
		EmitParts(key []byte, parts ...[]byte)
	}
	whole := mapreduce.Reduce{New: func(*mapreduce.Task) (mapreduce.Reducer, error) {
		return mapreduce.ReducerFunc(func(key []byte, _ mapreduce.Values, out mapreduce.Emitter) error {
			out.(partsEmitter).EmitParts(key, []byte("x"), nil, []byte("yz"))
			return nil
		}), nil
	}}
	for want, format := range map[string]mapreduce.OutputFormat{"a\txyz\nb\txyz\n": nil, "axyzbxyz": mapreduce.RawOutput} {
		s := newStage(t, mapreduce.Job{Map: mapOf(words{}), Reduce: whole, Format: format}, 100, 1, "b a\n")
		parts, err := s.run(t.Context())
		if got := strings.Join(parts, ""); err != nil || got != want || s.count(mapreduce.OutputRecords) != 2 {
			t.Errorf("%q, %v, %d records; want %q", got, err, s.count(mapreduce.OutputRecords), want)
		}
	}
}
