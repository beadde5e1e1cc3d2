package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// TestBesideManyMaps is F12 and F13: beside a job of 10,000 empty maps (100,000 with stress) on four workers somebody puts files
// of 14 bytes, each within a second, and looks at the job's page, which comes within 0.3 s, also when the job has ended and the page is about all of
// its attempts. No worker is taken for dead, so that no attempt is repeated. Others use the machine, too: of the puts the median
// counts, of the pages the best, and of the ended job a page may come later if it takes little of a processor.
func TestBesideManyMaps(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	maps := 10_000
	if require.Stressed() {
		maps = 100_000
	}
	p := startProcesses(t, 4)
	id, err := p.cl.Submit(t.Context(), wire.JobSpec{Name: "many", User: "ann", Stages: 1, Output: "dfs:/many", Program: wire.Program{Builtin: "sleep", Args: []string{
		"--maps", fmt.Sprint(maps), "--reduces", "1", "--map-time", "0s", "--reduce-time", "0s", "--output", "dfs:/many",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	var puts, looks []time.Duration
	s := wire.JobStatus{State: wire.Queued}
	for !s.State.Ended() {
		if s, err = p.cl.Status(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if s.Maps.Done > 0 && s.State == wire.Running {
			puts = append(puts, timed(func() { p.put(fmt.Sprint("/small", len(puts)), []byte("fourteen bytes")) }))
			looks = append(looks, timed(func() { p.look(id) }))
		}
		time.Sleep(100 * time.Millisecond)
	}
	if s.State != wire.Succeeded || s.Attempts != maps+2 {
		t.Errorf("%s after %d attempts: %s", s.State, s.Attempts, s.Error)
	}
	ended, spent := p.looks(id, 5)
	if len(puts) < 5 {
		t.Fatalf("there were only %d puts beside the job", len(puts))
	}
	slices.Sort(puts)
	slices.Sort(looks)
	t.Logf("%d maps in %s; %d puts: median %v, worst %v; pages meanwhile: best %v, median %v; of the ended job: %v, each %v of a processor",
		maps, time.Since(begin).Round(time.Second), len(puts), puts[len(puts)/2], puts[len(puts)-1], looks[0], looks[len(looks)/2], ended, spent)
	if m := puts[len(puts)/2]; m > time.Second {
		t.Errorf("a put of 14 bytes takes %v", m)
	}
	const page = 300 * time.Millisecond
	if looks[0] > page {
		t.Errorf("the job's page takes %v while it runs", looks[0])
	}
	if slices.Min(ended) > page && spent > page/4 { // else others had the processors
		t.Errorf("the job's page takes %v when it has ended, %v of a processor", slices.Min(ended), spent)
	}
}

// looks reads the page of a job n times, and returns how long each took, and the processor time of the master that one took on average.
func (p *processes) looks(id wire.JobID, n int) (took []time.Duration, spent time.Duration) {
	p.t.Helper()
	pid := p.run["master"].Process.Pid
	before := processorTime(p.t, pid)
	for range n {
		took = append(took, timed(func() { p.look(id) }))
	}
	return took, (processorTime(p.t, pid) - before) / time.Duration(n)
}

// processorTime is what a process has used so far, which the system counts in hundredths of a second.
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func timed(do func()) time.Duration {
	begin := time.Now()
	do()
	return time.Since(begin)
}

// look reads the page of a job to its end.
func (p *processes) look(id wire.JobID) {
	p.t.Helper()
	resp, err := http.Get("http://" + p.addr + "/jobs/" + string(id))
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 1000 || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("the page of %s: %s, %d bytes, %v", id, resp.Status, n, err)
	}
}
