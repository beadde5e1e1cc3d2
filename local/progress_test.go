package local_test

import (
	"strings"
	"testing"

	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
)

// TestProgressOfRetries: what an attempt has read that failed is read again, and counts once: no more is read than there is.
func TestProgressOfRetries(t *testing.T) {
	b := newBed(t)
	in := b.write("in", strings.Repeat("a line\n", 200_000))
	var r *local.Runner
	var most local.Progress
	job := mapreduce.Job{
		Name: "retried", Input: []string{in}, Output: b.out, SplitBytes: 16 << 20, Fold: mapreduce.Sum,
		Map: mapreduce.LinesWith(func(task *mapreduce.Task) (func([]byte, func([]byte, int64)), error) {
			lines := 0
			return func(line []byte, emit func([]byte, int64)) {
				if lines++; lines == 199_000 {
					if p := r.Progress(); p.Bytes > most.Bytes {
						most = p
					}
					if task.Attempt < 2 {
						panic("not yet")
					}
				}
				emit(line, 1)
			}, nil
		}),
	}
	r, err := local.New(local.Config{Workers: 1, Scratch: b.tmp})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	if p := r.Progress(); p.Retries != 2 || most.Bytes > most.TotalBytes || most.Bytes < most.TotalBytes/2 {
		t.Errorf("%d of %d bytes read in the third attempt, %d retries", most.Bytes, most.TotalBytes, p.Retries)
	}
	b.take()
}
