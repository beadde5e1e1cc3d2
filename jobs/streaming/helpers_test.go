package streaming

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/millrace/millrace/internal/procs"
	"github.com/millrace/millrace/mapreduce"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// attempt is a task to run commands in.
type attempt struct {
	*mapreduce.Task
	counts *mapreduce.CounterSet
	lines  []string // emitted, key and value divided by "|"
}

func newAttempt(ctx context.Context, info mapreduce.TaskInfo) *attempt {
	set := &mapreduce.CounterSet{}
	return &attempt{Task: mapreduce.NewTask(ctx, info, set), counts: set}
}

func (a *attempt) Emit(key, value []byte) {
	a.lines = append(a.lines, string(key)+"|"+string(value))
}

func (a *attempt) EmitInt(key []byte, n int64) { a.Emit(key, strconv.AppendInt(nil, n, 10)) }

// mapLines runs a mapper over lines as the engine would.
func (a *attempt) mapLines(m mapreduce.Map, lines ...string) (err error) {
	mapper, err := m.New(a.Task)
	if err != nil {
		return err
	}
	defer func() {
		if c, ok := mapper.(interface{ Close() error }); ok {
			err = join(err, c.Close())
		}
	}()
	for _, line := range lines {
		if err := mapper.Map(mapreduce.Record{Value: []byte(line)}, a); err != nil {
			return err
		}
	}
	return mapper.(mapreduce.Finisher).Finish(a)
}

func join(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// pidFile is where a command writes the ids of its processes, one in a line.
func pidFile(t *testing.T) string { return filepath.Join(t.TempDir(), "pids") }

// gone waits until none of the processes of a pid file lives. They have been killed
// already, so that it is a matter of the kernel's moments.
func gone(t *testing.T, file string, want int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pids := strings.Fields(string(data))
	if len(pids) < want {
		t.Fatalf("the command wrote %d process ids, want %d", len(pids), want)
	}
	deadline := time.Now().Add(5 * time.Second)
	for _, pid := range pids {
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %s still lives", pid)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && procs.Alive(n)
}

// waitFor waits until a file has so many lines.
func waitFor(t *testing.T, file string, lines int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		data, _ := os.ReadFile(file)
		if strings.Count(string(data), "\n") >= lines {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not get %d lines", file, lines)
		}
		time.Sleep(time.Millisecond)
	}
}
