package task

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/storage"
)

func prepared(t testing.TB, dir string, overwrite bool) *JobOutput {
	t.Helper()
	job := &mapreduce.Job{Output: dir + "/out", Input: []string{dir + "/in"}}
	o, err := prepare(storage.Mux{}, job, "test", overwrite)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// prepare is what a driver does before its attempts begin.
func prepare(mux storage.Mux, job *mapreduce.Job, id string, overwrite bool) (*JobOutput, error) {
	o, err := CheckOutput(mux, job, id, overwrite)
	if err == nil {
		err = o.Make()
	}
	return o, err
}

// write writes a part as one attempt would, without committing it.
func write(t testing.TB, o *JobOutput, index, attempt int, content string) *part {
	t.Helper()
	p, err := o.create(mapreduce.ReduceTask, ID{Kind: mapreduce.ReduceTask, Index: index, Attempt: attempt})
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.open(&mapreduce.Job{Reduce: mapreduce.Reduce{Value: mapreduce.CodecFor[mapreduce.None]()}, Format: mapreduce.RawOutput}, 0, &mapreduce.Task{})
	if err != nil {
		t.Fatal(err)
	}
	w.Emit([]byte(content), nil)
	return p
}

func list(t testing.TB, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// TestOneAttemptCommits: of two attempts of one part that commit at the same time,
// exactly one does; the other learns of it and leaves nothing.
func TestOneAttemptCommits(t *testing.T) {
	dir := t.TempDir()
	o := prepared(t, dir, false)
	for index := range 200 {
		var parts [2]*part
		var errs [2]error
		for i := range parts {
			parts[i] = write(t, o, index, i, string("ab"[i]))
		}
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range parts {
			wg.Go(func() {
				<-start
				errs[i] = parts[i].Commit()
				parts[i].Discard()
			})
		}
		close(start)
		wg.Wait()
		winner := 0
		if errs[0] != nil {
			winner = 1
		}
		if errs[winner] != nil || !errors.Is(errs[1-winner], ErrCommitted) {
			t.Fatalf("part %d: %v", index, errs)
		}
		got, err := os.ReadFile(filepath.Join(o.work, parts[0].name))
		if err != nil || string(got) != string("ab"[winner]) {
			t.Fatalf("part %d holds %q, %v; attempt %d won", index, got, err, winner)
		}
	}
	if left := list(t, filepath.Join(o.work, attemptDir)); left != "" {
		t.Errorf("attempts left %s", left)
	}
}

// TestNothingIsVisibleBeforeCommit, and all of it after.
func TestNothingIsVisibleBeforeCommit(t *testing.T) {
	dir := t.TempDir()
	o := prepared(t, dir, false)
	p := write(t, o, 0, 0, "x")
	loser := write(t, o, 0, 1, "y")
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	found, err := storage.Mux{}.Expand([]string{dir})
	if err != nil || len(found) != 0 {
		t.Errorf("a reader finds %v, %v", found, err)
	}
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	loser.Discard() // late, after its directory has gone
	if got := list(t, dir); got != "out" {
		t.Errorf("the directory holds %s", got)
	}
	if got := list(t, dir+"/out"); got != "_SUCCESS part-r-00000" {
		t.Errorf("the output holds %s", got)
	}
}

func TestAbortRemovesEverything(t *testing.T) {
	dir := t.TempDir()
	o := prepared(t, dir, true)
	if err := write(t, o, 0, 0, "x").Commit(); err != nil {
		t.Fatal(err)
	}
	p := write(t, o, 1, 0, "x")
	if err := o.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(); err == nil {
		t.Error("a part was committed after the job had been given up")
	}
	p.Discard()
	if got := list(t, dir); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

// TestAbortRemovesParentsThatItMade, and no others.
func TestAbortRemovesParentsThatItMade(t *testing.T) {
	for _, inUse := range []bool{false, true} {
		dir := t.TempDir()
		if err := os.Mkdir(dir+"/a", 0o755); err != nil {
			t.Fatal(err)
		}
		job := &mapreduce.Job{Output: dir + "/a/b/c/out", Input: []string{dir + "/in"}}
		o, err := PrepareOwnOutput(storage.Mux{}, job, false)
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if inUse { // somebody else's, meanwhile
			want = "b"
			if err := os.WriteFile(dir+"/a/b/c/other", nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.Abort(); err != nil {
			t.Fatal(err)
		}
		if got := list(t, dir+"/a"); got != want {
			t.Errorf("in use %v: %q is left, want %q", inUse, got, want)
		}
	}
}

// TestLongOutputName: as long as file systems allow.
func TestLongOutputName(t *testing.T) {
	dir := t.TempDir()
	name := strings.Repeat("ä", 127)
	o, err := prepare(storage.Mux{}, &mapreduce.Job{Output: dir + "/" + name, Input: []string{dir + "/in"}}, "test", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); got != name {
		t.Errorf("the directory holds %q", got)
	}
}

// TestReplaceKeepsTheOldUntilTheEnd: if the new output cannot take its place, the
// old one is back.
func TestReplaceKeepsTheOldUntilTheEnd(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/out", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(dir+"/out/old", nil, 0o644), os.WriteFile(dir+"/out/"+SuccessFile, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	o := prepared(t, dir, true)
	o.store = noRename{o.store, o.work}
	if err := o.Commit(); err == nil {
		t.Fatal("committed")
	}
	if got := list(t, dir+"/out"); got != "_SUCCESS old" {
		t.Errorf("the output holds %s", got)
	}
	if err := o.Abort(); err != nil {
		t.Fatal(err)
	}
	o = prepared(t, dir, true)
	if err := o.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir) + ": " + list(t, dir+"/out"); got != "out: _SUCCESS" {
		t.Errorf("the directory holds %s", got)
	}
}

// noRename is a store in which one name cannot be changed.
type noRename struct {
	storage.FS
	name string
}

func (s noRename) Rename(from, to string) error {
	if from == s.name {
		return errors.New("not today")
	}
	return s.FS.Rename(from, to)
}

// TestOverwriteKeepsWhatNoJobMade: a directory that holds something and has no mark of ours is left alone.
func TestOverwriteKeepsWhatNoJobMade(t *testing.T) {
	dir := t.TempDir()
	plant := func(name string) {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	plant("home/diary")
	plant("made/_SUCCESS")
	plant("made/part-r-00000")
	plant("half/_attempts/part-r-00000-0")
	if err := os.Mkdir(dir+"/empty", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"home": "is not the output of a job", "made": "", "half": "", "empty": "", "new": ""} {
		o, err := prepare(storage.Mux{}, &mapreduce.Job{Output: dir + "/" + name, Input: []string{dir + "/in"}}, "test", true)
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrOutputExists) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err == nil {
			if err := o.Abort(); err != nil {
				t.Error(err)
			}
		}
	}
	if got := list(t, dir); got != "empty half home made" {
		t.Errorf("there is %s", got)
	}
}

// TestOutputOverOneself: the root and the directory one stands in are no outputs.
func TestOutputOverOneself(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(dir+"/a/b", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir + "/a/b")
	for out, want := range map[string]string{
		".": "the directory you work in", "..": "the directory you work in", "../": "the directory you work in", dir: "one above it", "/": "root directory", "//": "root directory", "/..": "root directory",
	} {
		for _, overwrite := range []bool{false, true} {
			_, err := prepare(storage.Mux{}, &mapreduce.Job{Output: out, Input: []string{dir + "/in"}}, "test", overwrite)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", out, err, want)
			}
		}
	}
}

// TestSweepBringsBackWhatWasBeingReplaced: a process died between the two renames that replace an output.
func TestSweepBringsBackWhatWasBeingReplaced(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		".out.millrace-7/part-r-00000": "new", ".out.millrace-7-old/part-r-00000": "old", ".out.millrace-7-old/_SUCCESS": "", ".out.millrace-7.lock": "",
		".out.millrace-job-3-0/part": "a cluster's", "in": "a\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job := &mapreduce.Job{Output: dir + "/out", Input: []string{dir + "/in"}}
	if _, err := PrepareOwnOutput(storage.Mux{}, job, false); !errors.Is(err, ErrOutputExists) {
		t.Errorf("the old output is not there again: %v", err)
	}
	if b, err := os.ReadFile(dir + "/out/part-r-00000"); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
	left, err := filepath.Glob(dir + "/.*")
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != ".out.millrace-job-3-0" {
		t.Errorf("left: %q, %v", left, err)
	}
}

// TestOutputTakenMeanwhile: of two jobs with one output the second to commit is told why it cannot, and the output of the first stays.
func TestOutputTakenMeanwhile(t *testing.T) {
	dir := t.TempDir()
	job := &mapreduce.Job{Output: dir + "/out", Input: []string{dir + "/in"}}
	var both []*JobOutput
	for range 2 {
		o, err := PrepareOwnOutput(storage.Mux{}, job, false)
		if err != nil {
			t.Fatal(err)
		}
		both = append(both, o)
	}
	if err := both[0].Commit(); err != nil {
		t.Fatal(err)
	}
	if err := both[1].Commit(); !errors.Is(err, ErrOutputExists) || !strings.Contains(err.Error(), "another job has committed its output there meanwhile") {
		t.Error(err)
	}
	if err := both[1].Abort(); err != nil {
		t.Fatal(err)
	}
	if got := list(t, dir); got != "out" {
		t.Errorf("%q is left", got)
	}
}
