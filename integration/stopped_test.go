package integration

import (
	"bytes"
	"fmt"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/jobs/textgen"
)

// stallBound is how long a stopped worker may hold a writer up. This machine may be busy, so the best of stallTries counts, and
// each must be within twice that.
const (
	stallBound = 3 * time.Second
	stallTries = 3
)

// TestStoppedPipelineMember: one of the three workers that a file is written through is stopped, in the middle of a block and
// before one is begun, wherever it stands in the pipeline. The writer goes on with the others after a short while.
func TestStoppedPipelineMember(t *testing.T) {
	t.Parallel()
	p := startProcesses(t, 3)
	data := text(t, 8*textgen.BlockBytes)
	for _, at := range []int{0, 2} {
		best := 2 * stallBound
		for try := 0; try < stallTries && best > stallBound; try++ {
			took := p.stall(fmt.Sprintf("/stopped-%d-%d", at, try), data, at)
			t.Logf("replica %d stopped: the writer was done %v later", at+1, took.Round(time.Millisecond))
			if took > 2*stallBound {
				t.Errorf("replica %d stopped: the writer was held up for %v", at+1, took)
			}
			best = min(best, took)
		}
		if best > stallBound {
			t.Errorf("replica %d stopped: the writer was held up for %v at best, want at most %v", at+1, best, stallBound)
		}
	}
}

// stall writes a file, stops one of the workers that it goes through and returns how long the rest took.
func (p *processes) stall(path string, data []byte, at int) time.Duration {
	t := p.t
	t.Helper()
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
	p.signal(victim, syscall.SIGCONT)
	f, err := p.cl.DFS().Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s: %d bytes, %v", path, len(got), err)
	}
	p.healthy()
	return took
}
