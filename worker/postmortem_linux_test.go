package worker

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/worker/attempt"
)

// kernelSays is a directory with a table of the kernel's about a group.
func kernelSays(t *testing.T, table, text string) string {
	t.Helper()
	dir := t.TempDir()
	mayDo(t, dir, map[string]string{table: text})
	return dir
}

// TestWhyProgramsEnd: the user hears first what the worker has ended the program for, then that the kernel has for want of memory, else how the program
// itself ended, with the last that it printed.
func TestWhyProgramsEnd(t *testing.T) {
	killed := &sandbox{group: &cgroup{dir: kernelSays(t, "memory.events", "low 0\noom 3\noom_kill 2\n")}}
	oldKilled := &sandbox{old: &oldCgroup{dirs: map[string]string{"memory": kernelSays(t, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")}}}
	spared := &sandbox{
		group: &cgroup{dir: kernelSays(t, "memory.events", "low 0\noom 3\noom_kill 0\n")},
		old:   &oldCgroup{dirs: map[string]string{"memory": kernelSays(t, "memory.oom_control", "oom_kill_disable 0\nunder_oom 1\noom_kill 0\n")}},
	}
	for _, x := range []struct {
		what    string
		sandbox *sandbox
		reason  string
		err     error
		printed string
		want    string
	}{
		{"ended by the worker", killed, "timeout: no sign of life for 9s", errors.New("signal: killed"), "words", "timeout: no sign of life for 9s"},
		{"by the kernel", killed, "", errors.New("signal: killed"), "words", "memory limit: more than the 64 MB allowed"},
		{"by an older kernel", oldKilled, "", errors.New("signal: killed"), "words", "memory limit: more than the 64 MB allowed"},
		{"by somebody", spared, "", errors.New("signal: killed"), "", "the program ended without a result: signal: killed"},
		{"by itself", &sandbox{}, "", errors.New("exit status 3"), "panic: no\nat 7\n", "the program ended without a result: exit status 3\npanic: no\nat 7\n"},
		{"well, it thinks", spared, "", nil, "", "the program ended without a result: does it call millrace.Main?"},
		{"the same, with words", &sandbox{}, "", nil, "usage: x", "the program ended without a result: does it call millrace.Main?\nusage: x"},
	} {
		l := &cappedLog{end: []byte(x.printed)}
		c := &childRun{w: &Worker{cfg: DefaultConfig()}, l: &wire.Launch{ID: speaker, MemoryMB: 64}, logs: l, sandbox: x.sandbox, reason: x.reason}
		if got := c.postMortem(x.err); got.Error != x.want || got.ID != speaker || got.OK || got.Lost || got.Final {
			t.Errorf("%s: %+v, want %q", x.what, got, x.want)
		}
		if c.killed() != (x.reason != "") {
			t.Errorf("%s: killed %v", x.what, c.killed())
		}
	}
}

// TestKilledIn: only a count of kills that is not 0 is one; what cannot be read says nothing.
func TestKilledIn(t *testing.T) {
	for text, want := range map[string]bool{
		"oom_kill 0\n": false, "oom_kill 1\n": true, "oom 1\noom_kill 10": true, "oom_kill_disable 1\nunder_oom 1\n": false, "": false, "low 1\noom_group_kill 1\noom_kill 0\n": false,
	} {
		if got := killedIn(filepath.Join(kernelSays(t, "table", text), "table")); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	if killedIn(filepath.Join(t.TempDir(), "table")) {
		t.Error("a table that is not there tells of kills")
	}
}

// TestExcess: a program is ended that holds more memory than it may, and one that is silent for longer than it may be, unless it is a driver.
func TestExcess(t *testing.T) {
	for _, x := range []struct {
		what     string
		memory   int64
		timeout  time.Duration
		silent   time.Duration
		kind     wire.TaskKind
		contains string // "": it may go on
	}{
		{"within all", 1 << 20, time.Minute, time.Second, wire.MapTask, ""},
		{"silent", 1 << 20, time.Minute, 61 * time.Second, wire.MapTask, "timeout: no sign of life for 1m1s"},
		{"silent for ever, as it may be", 1 << 20, 0, 1000 * time.Hour, wire.ReduceTask, ""},
		{"a silent driver", 1 << 20, time.Minute, time.Hour, wire.DriverTask, ""},
		{"large", 1, time.Minute, time.Hour, wire.MapTask, " MB used, 1 MB allowed"},
	} {
		w := &Worker{cfg: DefaultConfig()}
		w.cfg.TaskTimeout = x.timeout
		c := &childRun{
			w: w, l: &wire.Launch{ID: wire.AttemptID{Kind: x.kind}, MemoryMB: x.memory}, sandbox: &sandbox{pid: os.Getpid()}, last: time.Now().Add(-x.silent),
		}
		if got := c.excess(); (got == "") != (x.contains == "") || !strings.Contains(got, x.contains) {
			t.Errorf("%s: %q, want %q", x.what, got, x.contains)
		}
	}
}

// TestExcessOfDisks: what a program has written counts against what it may write, looked at twice a second; files of the worker's do not.
func TestExcessOfDisks(t *testing.T) {
	require.Root(t)
	w := &Worker{cfg: DefaultConfig()}
	const uid = 1_999_999
	for _, x := range []struct {
		allowed int64
		owner   int
		want    string
	}{{1 << 20, uid, "disk limit: 3 MB written, 1 MB allowed"}, {1 << 20, 0, ""}, {4 << 20, uid, ""}, {0, uid, ""}} {
		dir := t.TempDir()
		deep := filepath.Join(dir, "deep")
		if err := os.Mkdir(deep, 0o700); err != nil {
			t.Fatal(err)
		}
		for name, size := range map[string]int{filepath.Join(dir, "one"): 1 << 20, filepath.Join(deep, "two"): 2 << 20} {
			if err := errors.Join(os.WriteFile(name, make([]byte, size), 0o600), os.Chown(name, x.owner, x.owner)); err != nil {
				t.Fatal(err)
			}
		}
		c := &childRun{w: w, l: &wire.Launch{MemoryMB: 1 << 20}, sandbox: &sandbox{dir: dir, uid: uid, disk: x.allowed}, last: time.Now()}
		if got := c.excess(); got != x.want {
			t.Errorf("%+v: %q", x, got)
		}
		if n := c.sandbox.written(); n != 0 {
			t.Errorf("%+v: it has looked again at once, and seen %d", x, n)
		}
		c.sandbox.looked = time.Now().Add(-lookEvery)
		if n := c.sandbox.written(); n>>20 != int64(map[bool]int{true: 3}[x.owner == uid]) {
			t.Errorf("%+v: %d bytes after a while", x, n)
		}
	}
}

// shippedTo is a worker that has a program of ann's already.
func shippedTo(t *testing.T, hash string) *Worker {
	t.Helper()
	w := &Worker{cfg: DefaultConfig()}
	w.cfg.Node = "w1"
	calls := rpc.NewClient(rpc.ClientConfig{})
	t.Cleanup(func() { _ = calls.Close() })
	w.dfs = dfs.NewClient(dfs.Config{Master: "127.0.0.1:1", Client: calls})
	var err error
	if w.shipped, err = openShipped(t.TempDir(), w.jobRuns); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.shipped.name("ann", hash), []byte("program of ann"), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestProgramsOfAttempts: an attempt runs the program that was shipped, which everybody may execute, or this executable with the worker's words for a
// built-in one. Where nobody reaches the network, programs of users are refused, and commands are not.
func TestProgramsOfAttempts(t *testing.T) {
	hash := strings.Repeat("a", 64)
	w := shippedTo(t, hash)
	w.cfg.Child = func(p *wire.Program) []string { return []string{"run", p.Builtin} }
	l := func(p wire.Program) *wire.Launch {
		return &wire.Launch{ID: speaker, Spec: &wire.JobSpec{User: "ann", Program: p}}
	}
	shipped := l(wire.Program{Exe: "/bin/x", Hash: hash, Args: []string{"a", "b"}})
	f, args, err := w.program(t.Context(), shipped)
	if err != nil {
		t.Fatal(err)
	}
	st, err := f.Stat()
	if err != nil || st.Mode().Perm() != 0o755 || st.Size() != int64(len("program of ann")) || strings.Join(args, " ") != "a b" {
		t.Errorf("%v, %q, %v", st, args, err)
	}
	for _, network := range []string{NetworkAll, NetworkNone} {
		w.cfg.TaskNetwork = network
		self, args, err := w.program(t.Context(), l(wire.Program{Builtin: "streaming"}))
		if err != nil || self.Name() != "/proc/self/exe" || strings.Join(args, " ") != "run streaming" {
			t.Errorf("a built-in one, network %s: %q, %v", network, args, err)
		}
		_ = self.Close() // it was only opened
	}
	if _, _, err := w.program(t.Context(), shipped); err == nil || !strings.Contains(err.Error(), "worker w1 runs no programs, only commands") || !strings.Contains(err.Error(), "--task-network none") {
		t.Errorf("without a network: %v", err)
	}
	w.cfg.TaskNetwork = NetworkAll
	if _, _, err := w.program(t.Context(), l(wire.Program{Exe: "/bin/x", Hash: "short"})); wire.KindOf(err) != wire.Invalid {
		t.Errorf("a hash that is none: %v", err)
	}
	_ = f.Close() // as above
	for p, own := range map[*wire.Program]bool{{Exe: "x"}: true, {Builtin: "wordcount"}: false, {Builtin: "streaming"}: true} {
		w.cfg.Child = func(p *wire.Program) []string { return map[string][]string{"streaming": {"run"}}[p.Builtin] }
		if got := w.ownProcess(p); got != own {
			t.Errorf("%+v: a process of its own %v", p, got)
		}
	}
	w.cfg.Child = nil
	if w.ownProcess(&wire.Program{Builtin: "streaming"}) {
		t.Error("a worker that starts no processes starts one")
	}
}

// TestOrders: a process is told who it is, where its files are and what it may use, and gets who it is to others from a cluster with a key.
func TestOrders(t *testing.T) {
	key, err := secure.Parse(secure.Generate())
	if err != nil {
		t.Fatal(err)
	}
	for mode, sandboxed := range map[string]bool{IsolationNone: false, IsolationLandlock: true} {
		for _, k := range []*secure.Key{nil, key} {
			w := &Worker{cfg: DefaultConfig(), connections: connections{addr: "127.0.0.1:7"}}
			w.cfg.Node, w.cfg.Master, w.cfg.Rack, w.cfg.Speed, w.cfg.FetchStall, w.cfg.Key = "w1", "10.0.0.1:1", "r1", 0.5, 7*time.Second, k
			w.cfg.Log = slog.New(slog.DiscardHandler)
			c := &childRun{w: w, l: &wire.Launch{ID: speaker, MemoryMB: 64, Spec: &wire.JobSpec{User: "ann"}}, sandbox: &sandbox{j: &jail{cfg: &w.cfg, mode: mode}, dir: "/scratch/x"}}
			b, err := c.order()
			var got attempt.Order
			if err := errors.Join(err, json.Unmarshal(b, &got)); err != nil {
				t.Fatal(err)
			}
			if got.Launch.ID != speaker || got.Master != w.cfg.Master || got.Node != "w1" || got.Rack != "r1" || got.Speed != 0.5 || got.FetchStall != 7*time.Second || got.Memory != 32<<20 {
				t.Errorf("%s: %+v", mode, got)
			}
			if got.Scratch != "/scratch/x" || got.SideDir != "/scratch/x/side" || got.Sandboxed != sandboxed || !got.OneMachine || got.Gate != 0 || got.Emulate != nil {
				t.Errorf("%s: %+v", mode, got)
			}
			if (got.Credential != "") != (k != nil) {
				t.Errorf("%s, key %v: credential %q", mode, k != nil, got.Credential)
			}
		}
	}
}
