package integration

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// TestZombieWorker is FAULTS row 17: a worker falls silent when one of its reduces has read everything and written nothing.
// The job ends without it; then it wakes up, writes its part and reports. Nothing of that gets anywhere.
func TestZombieWorker(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	var mu sync.Mutex
	links := map[wire.NodeName]*proxy{}
	r := newRig(t, rigConfig{
		workers: 3, splits: 6, reducers: 6,
		master: func(c *master.Config) { c.Jobs.Silence = 2 * time.Second },
		worker: func(c *worker.Config) {
			p := newProxy(t, c.Master)
			c.Master = p.addr()
			mu.Lock()
			links[c.Node] = p
			mu.Unlock()
		},
	})
	held, release := make(chan wire.NodeName, 1), make(chan struct{})
	var once sync.Once
	r.hooks.Store(&hooks{onReduce: func(node wire.NodeName, task *mapreduce.Task) error {
		first := false
		once.Do(func() { first = true })
		if first {
			held <- node
			<-release // however much anybody wants it to end
		}
		return nil
	}})
	id := r.submit(wire.JobSpec{})
	zombie := <-held
	links[zombie].freeze(true)
	s := r.Finish(id)
	before, err := readDir(r.cl, s.Output[len("dfs:"):])
	if s.State != "SUCCEEDED" || err != nil {
		t.Fatalf("%+v, %v", s, err)
	}
	close(release)
	links[zombie].freeze(false)
	r.Wait("the zombie is back and has nothing to do", func() bool {
		for _, n := range r.Workers {
			if n.Name == zombie && !n.Worker.Idle() {
				return false
			}
		}
		for _, n := range r.Nodes() {
			if n.Node == zombie && n.State != "up" {
				return false
			}
		}
		return true
	})
	r.succeed(id)
	after, err := readDir(r.cl, s.Output[len("dfs:"):])
	if err != nil || len(after) != len(before) {
		t.Errorf("the output has %d files, had %d: %v", len(after), len(before), err)
	}
	if text := r.logs(zombie, id); !strings.Contains(text, "failed after") && !strings.Contains(text, "was lost or stopped after") {
		t.Errorf("the worker's logs do not say what became of its attempt: %s", text)
	}
}

// logs is what a worker has noted about the attempts of a job.
func (r *rig) logs(node wire.NodeName, id wire.JobID) (out string) {
	for _, n := range r.Workers {
		files, _ := filepath.Glob(filepath.Join(n.Dir, "logs", string(id)+"*", "*"))
		for _, f := range files {
			b, _ := os.ReadFile(f) // it may have been swept away
			if n.Name == node {
				out += filepath.Base(f) + "\n" + string(b)
			}
		}
	}
	return out
}
