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

// writePart writes one attempt's part as a worker would: in another process, so by JoinOutput.
func writePart(t *testing.T, job *mapreduce.Job, work string, try uint64, text string) {
	t.Helper()
	o, err := JoinOutput(storage.Mux{}, job, work, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.create(mapreduce.ReduceTask, ID{Kind: mapreduce.ReduceTask, Try: try})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Discard()
	out, err := p.open(job, 0, &mapreduce.Task{})
	if err != nil {
		t.Fatal(err)
	}
	out.Emit([]byte(text), nil)
	if err := errors.Join(out.Failure(), p.Commit()); err != nil {
		t.Fatal(err)
	}
}

// TestSharedOutput: of two attempts the one that is published counts, and every step may be
// repeated.
func TestSharedOutput(t *testing.T) {
	job := &mapreduce.Job{Output: filepath.Join(t.TempDir(), "out"), Map: mapreduce.Lines(func(line []byte, emit func(string, string)) {})}
	o, err := prepare(storage.Mux{}, job, "job-1", false)
	if err != nil {
		t.Fatal(err)
	}
	o.Share()
	writePart(t, job, o.Work(), 7, "loser")
	writePart(t, job, o.Work(), 9, "winner")
	if _, err := os.Stat(job.Output); err == nil {
		t.Error("visible before the commit")
	}
	for range 2 {
		if err := o.Publish(mapreduce.ReduceTask, []uint64{9}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		// A second driver commits after the first one's word was lost.
		again, err := JoinOutput(storage.Mux{}, job, o.Work(), false)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(again.Publish(mapreduce.ReduceTask, []uint64{9}), again.CommitOnce("job-1", 20)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(filepath.Join(job.Output, "part-r-00000"))
	if err != nil || !strings.HasPrefix(string(got), "winner") {
		t.Errorf("the output is %q, %v", got, err)
	}
	entries, err := os.ReadDir(filepath.Dir(job.Output))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := o.CommitOnce("job-2", 21); err == nil {
		t.Error("another job's output was taken for ours")
	}
	if err := os.Remove(filepath.Join(job.Output, SuccessFile)); err != nil {
		t.Fatal(err)
	}
	if err := o.CommitOnce("job-1", 22); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "the hidden directory is gone, and") {
		t.Errorf("an output without a mark was taken for ours: %v", err)
	}
	if _, err := JoinOutput(storage.Mux{}, job, "/etc", false); err == nil {
		t.Error("a hidden directory elsewhere was accepted")
	}
}
