package integration

import (
	"bytes"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/jobs/textgen"
)

// stallBound is how long a stopped worker may hold a writer up, twice over: this machine may be busy.
const stallBound = 2 * 3 * time.Second

// TestStoppedPipelineMember: one of the three workers that a file is written through is stopped, in the middle of a block and
// before one is begun, wherever it stands in the pipeline. The writer goes on with the others after a short while.
func TestStoppedPipelineMember(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 3)
	data := text(t, 8*textgen.BlockBytes)
	for _, at := range []int{0, 2} {
		path := map[int]string{0: "/first", 2: "/last"}[at]
		w, err := p.cl.DFS().Create(t.Context(), path, dfs.CreateOptions{BlockSize: int64(len(data)) / 2})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data[:len(data)/4]); err != nil {
			t.Fatal(err)
		}
		victim := string(w.Pipeline()[at])
		p.signal(victim, syscall.SIGSTOP)
		begin := time.Now()
		_, err = w.Write(data[len(data)/4:]) // the rest of this block, and another that the victim is asked for, too
		if cerr := w.Close(); err != nil || cerr != nil {
			t.Fatalf("%s: %v, %v", path, err, cerr)
		}
		took := time.Since(begin)
		t.Logf("replica %d stopped: the writer was done %v later", at+1, took.Round(time.Millisecond))
		if took > stallBound {
			t.Errorf("replica %d stopped: the writer was held up for %v", at+1, took)
		}
		p.signal(victim, syscall.SIGCONT)
		f, err := p.cl.DFS().Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
		f.Close()
		p.healthy()
	}
}
