package integration

import (
	"bytes"
	"log/slog"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// A sharedLog is text that many write.
type sharedLog struct {
	mu sync.Mutex // guards the buffer
	b  bytes.Buffer
}

func (l *sharedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestBusyMachine is row 60 of FAULTS.md: on a machine with more to do than it can, at the default patience, nobody is
// taken for dead.
func TestBusyMachine(t *testing.T) {
	require.Faults(t)
	long := 5 * time.Second
	if require.Stressed() {
		long = 5 * time.Minute
	}
	var log sharedLog
	c := testcluster.Start(t, testcluster.Config{
		Workers: 5,
		Master: func(c *master.Config) {
			d := master.DefaultConfig()
			c.Gossip, c.Jobs.Silence, c.Jobs.Grace = "127.0.0.1:0", d.Jobs.Silence, d.Jobs.Grace
			c.Log = slog.New(slog.NewTextHandler(&log, nil))
		},
		Worker: func(c *worker.Config) { c.Gossip = "127.0.0.1:0" },
	})
	for range 8 {
		burner := exec.Command("sh", "-c", "while :; do :; done")
		if err := burner.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = burner.Process.Kill() // it does not end by itself
			_ = burner.Wait()
		}()
	}
	for begin := time.Now(); time.Since(begin) < long; time.Sleep(100 * time.Millisecond) {
		for _, n := range c.Nodes() {
			if n.State != "up" {
				t.Fatalf("%s is %s", n.Node, n.State)
			}
		}
	}
	if s := log.String(); strings.Contains(s, "is gone") {
		t.Errorf("given up:\n%s", s)
	}
}
