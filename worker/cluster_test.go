package worker_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/worker"
)

// output returns the lines of an output, sorted.
func output(c *testcluster.Cluster, dir string) string {
	parts, _ := c.Parts(dir)
	lines := strings.SplitAfter(strings.Join(parts, ""), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// held is a cluster with a job of six maps, of which the last waits to be released; the others are done.
type held struct {
	*testcluster.Cluster
	job     wire.JobID
	release func()
}

func startHeld(t *testing.T, small int) *held {
	t.Helper()
	wait := make(chan struct{})
	h := &held{release: func() { close(wait) }}
	h.Cluster = testcluster.Start(t, testcluster.Config{
		Workers: 2, Worker: func(w *worker.Config) { w.SmallOutput, w.Capacity.Containers = small, 5 },
		Build: func(*wire.Program) ([]mapreduce.Job, error) {
			return []mapreduce.Job{{
				Name: "count", Input: []string{"dfs:/in"}, Output: "dfs:/out", Reducers: 2, SplitBytes: 10, Fold: mapreduce.Sum,
				Map: mapreduce.Lines(func(line []byte, emit func([]byte, int64)) {
					if string(line) == "last" {
						<-wait
					}
					emit(line, 1)
				}),
			}}, nil
		},
	})
	for i := range 5 {
		h.Cluster.Put(fmt.Sprint("/in/", i), "word\nfile"+fmt.Sprint(i))
	}
	h.Cluster.Put("/in/last", "last")
	got, err := api.JobSubmit.Call(t.Context(), h.Client, h.Addr, wire.JobSpec{Name: "held", Program: wire.Program{Builtin: "count"}, Stages: 1, Output: "dfs:/out", Slowstart: 1})
	if err != nil {
		t.Fatal(err)
	}
	h.job = got.Job
	h.Wait("one map is left", func() bool { m := h.Status(h.job).Maps; return m.Total == 6 && m.Done == 5 })
	return h
}

// mapsOf lists the attempts of each map.
func (h *held) mapsOf(t *testing.T) (out [6][]wire.PastAttempt) {
	t.Helper()
	for i := range out {
		list, err := api.JobAttempts.Call(t.Context(), h.Client, h.Addr, wire.AttemptsRequest{Job: h.job, Task: wire.MapTask, Index: int32(i)})
		if err != nil {
			t.Fatal(err)
		}
		out[i] = list
	}
	return out
}

// withoutLast is the worker on which the last map does not run.
func (h *held) withoutLast(t *testing.T) *testcluster.Node {
	t.Helper()
	maps, busy := h.mapsOf(t), map[wire.NodeName]bool{}
	for _, tries := range maps {
		if len(tries) == 1 && tries[0].End == 0 {
			busy[tries[0].Node] = true
		}
	}
	i := slices.IndexFunc(h.Workers, func(n *testcluster.Node) bool { return !busy[n.Name] })
	if len(busy) != 1 || i < 0 {
		t.Fatalf("%+v", maps)
	}
	return h.Workers[i]
}

// finish releases the last map and wants the job to come to its right end.
func (h *held) finish(t *testing.T) {
	t.Helper()
	h.release()
	if s := h.Finish(h.job); s.State != "SUCCEEDED" {
		t.Fatalf("%s: %s", s.State, s.Error)
	}
	if got := output(h.Cluster, "/out"); got != "file0\t1\nfile1\t1\nfile2\t1\nfile3\t1\nfile4\t1\nlast\t1\nword\t5\n" {
		t.Errorf("%q", got)
	}
	h.Wait("the workers have nothing of the job any more", func() bool {
		for _, n := range h.Workers {
			if left, err := os.ReadDir(filepath.Join(n.Dir, "scratch")); err != nil || len(left) > 0 || !n.Worker.Idle() {
				return false
			}
		}
		return true
	})
}

// TestOutputOutlivesWorker: a worker that is started again has the output of its maps, alone or packed, and no map runs twice; what lies there
// and is no output is gone.
func TestOutputOutlivesWorker(t *testing.T) {
	for _, small := range []int{0, 32 << 10} {
		t.Run(fmt.Sprint("small ", small), func(t *testing.T) {
			t.Parallel()
			h := startHeld(t, small)
			n := h.withoutLast(t)
			n.Stop()
			dir := filepath.Join(n.Dir, "scratch", string(h.job)+".0")
			for _, name := range []string{"map-00000-9.tmp", "notes"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			n.Start()
			left, err := os.ReadDir(dir)
			for _, f := range left {
				if strings.HasSuffix(f.Name(), ".tmp") || f.Name() == "notes" {
					t.Errorf("%s is left", f.Name())
				}
			}
			if err != nil || len(left) == 0 {
				t.Fatal(left, err)
			}
			h.finish(t)
			for i, tries := range h.mapsOf(t) {
				if len(tries) != 1 {
					t.Errorf("map %d ran again: %+v", i, tries)
				}
			}
		})
	}
}

// TestShuffleDoor: reduces get what they ask for, in order, and are told what is not there; others, and questions that make no sense, get nothing.
func TestShuffleDoor(t *testing.T) {
	t.Parallel()
	h := startHeld(t, 0)
	node := h.NewClient(secure.Node, "w9")
	defer node.Close()
	tries := h.mapsOf(t)
	k := slices.IndexFunc(tries[:], func(l []wire.PastAttempt) bool { return l[0].End != 0 })
	done := tries[k][0]
	i := slices.IndexFunc(h.Workers, func(n *testcluster.Node) bool { return n.Name == done.Node })
	addr := h.Workers[i].Worker.Addr()
	good := fmt.Sprintf("m=%d.%d", k, done.Try)
	for _, c := range []struct{ path, want string }{
		{"/shuffle/" + string(h.job) + "/0?p=0&" + good, fmt.Sprintf("map-%05d-%d", k, done.Try)},
		{"/shuffle/" + string(h.job) + "/0?p=1&" + good + "&m=77.1", "is not on node"},
		{"/shuffle/" + string(h.job) + "/1?p=0&" + good, "is not on node"},
		{"/shuffle/" + string(h.job) + "/0?p=2&" + good, "has 2 partitions, not 3"},
		{"/shuffle/" + string(h.job) + "/0?p=-1&" + good, "error: "},
		{"/shuffle/" + string(h.job) + "/0?p=x&" + good, "error: "},
		{"/shuffle/" + string(h.job) + "/x?p=0&" + good, "error: "},
		{"/shuffle/" + string(h.job) + "/0?p=0", "error: "},
		{"/shuffle/" + string(h.job) + "/0?p=0&m=1", "error: "},
	} {
		var text string
		resp, err := node.Get(t.Context(), addr, c.path)
		if err != nil {
			text = "error: " + err.Error()
		} else {
			b, err := io.ReadAll(resp.Body)
			if err := errors.Join(err, resp.Body.Close()); err != nil || resp.ContentLength != int64(len(b)) {
				t.Errorf("%s: %d bytes of %d, %v", c.path, len(b), resp.ContentLength, err)
			}
			text = string(b)
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", c.path, text, c.want)
		}
	}
	if _, err := h.Client.Get(t.Context(), addr, "/shuffle/"+string(h.job)+"/0?p=0&"+good); wire.KindOf(err) != wire.Denied {
		t.Errorf("a user who is no task of the job: %v", err)
	}
	h.finish(t)
}

// TestDoors: a worker says how it is, and what it has carried.
func TestDoors(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	c.Put("/in", strings.Repeat("a b\n", 1000))
	if s := c.Finish(c.Submit(wire.JobSpec{}, "wordcount", "--input", "dfs:/in", "--output", "dfs:/out")); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	w := c.Workers[0].Worker
	for path, wants := range map[string][]string{
		"/healthz": {"ok"},
		"/metrics": {"millrace_worker_attempts ", `millrace_worker_memory_bytes{what="budget"}`, "millrace_worker_volume_failed{", `millrace_worker_sent_bytes_total{`, "millrace_worker_replicas "},
	} {
		resp, err := http.Get("http://" + w.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err := errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s has no %q:\n%s", path, want, b)
			}
		}
	}
	if text, err := api.Health.Call(t.Context(), c.Client, w.Addr(), struct{}{}); err != nil || text.Text != "worker w1 is well" {
		t.Errorf("%q, %v", text.Text, err)
	}
	routes := w.Routes()
	if len(routes) < 5 {
		t.Errorf("%d ways in", len(routes))
	}
}

// TestDrainedWorker: a worker that is to be drained ends what it runs and gets nothing new; the other does the work.
func TestDrainedWorker(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 2})
	w := c.Workers[0].Worker
	w.Drain()
	c.Wait("the master knows", func() bool {
		return slices.ContainsFunc(c.Nodes(), func(n wire.NodeStatus) bool { return n.Node == "w1" && n.State == "draining" })
	})
	id := c.Submit(wire.JobSpec{}, "sleep", "--maps", "6", "--reduces", "1", "--map-time", "1ms", "--output", "dfs:/out")
	if s := c.Finish(id); s.State != "SUCCEEDED" || !w.Idle() {
		t.Errorf("%+v, idle %v", s, w.Idle())
	}
	for i := range int32(6) {
		tries, err := api.JobAttempts.Call(t.Context(), c.Client, c.Addr, wire.AttemptsRequest{Job: id, Task: wire.MapTask, Index: i})
		if err != nil || len(tries) == 0 || tries[0].Node != "w2" {
			t.Errorf("map %d: %+v, %v", i, tries, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// TestNameTaken: a worker that comes under the name of one that lives says at once what it waits for and gives up as soon as that is seen, long before its patience
// ends; the first goes on.
func TestNameTaken(t *testing.T) {
	t.Parallel()
	c := testcluster.Start(t, testcluster.Config{Workers: 1})
	cfg := usable(t)
	cfg.Node, cfg.Master, cfg.NamePatience, cfg.Pause = "w1", c.Addr, time.Hour, 10*time.Millisecond
	var said bytes.Buffer
	cfg.Log = slog.New(slog.NewTextHandler(&said, nil))
	w, err := worker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case err = <-w.Failed():
	case <-time.After(time.Minute):
		t.Error("it waits for the name")
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	if wire.KindOf(err) != wire.Invalid || !strings.Contains(err.Error(), "give this one another --name") || strings.Count(said.String(), "another worker has the name") != 1 {
		t.Errorf("%v; it said %s", err, &said)
	}
	if s := c.Finish(c.Submit(wire.JobSpec{}, "sleep", "--maps", "1", "--map-time", "1ms", "--output", "dfs:/out")); s.State != "SUCCEEDED" {
		t.Errorf("%+v", s)
	}
}

// usable is a configuration with which a worker starts.
func usable(t *testing.T) worker.Config {
	cfg := worker.DefaultConfig()
	cfg.Node, cfg.Master, cfg.Dir, cfg.Reserve, cfg.Log = "w1", "127.0.0.1:1", t.TempDir(), 0, slog.New(slog.DiscardHandler)
	cfg.Build = func(*wire.Program) ([]mapreduce.Job, error) { return nil, errors.New("none") }
	return cfg
}

// TestStartRefuses: a worker that cannot work says so, with what to give, and frees what it had taken.
func TestStartRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(c *worker.Config){
		"memory":                  func(c *worker.Config) { c.Memory = 1 },
		"give --name":             func(c *worker.Config) { c.Node = "" },
		"give --master ADDRESS":   func(c *worker.Config) { c.Master = "" },
		"give --dir":              func(c *worker.Config) { c.Dir = "" },
		`isolation is "jail"`:     func(c *worker.Config) { c.Isolation = "jail" },
		`task network is "radio"`: func(c *worker.Config) { c.TaskNetwork = "radio" },
		"task processes are 31":   func(c *worker.Config) { c.TaskProcesses = 31 },
		"speed is 0.001":          func(c *worker.Config) { c.Speed = 0.001 },
		"speed is 1.5":            func(c *worker.Config) { c.Speed = 1.5 },
		"fetch stall is 0s":       func(c *worker.Config) { c.FetchStall = 0 },
		"task disk is -1 bytes":   func(c *worker.Config) { c.TaskDisk = -1 },
		"the worker cannot build": func(c *worker.Config) { c.Build = nil },
		"0.0.0.0:0":               func(c *worker.Config) { c.Listen = "0.0.0.0:0" },
		"10.0.0.1:7":              func(c *worker.Config) { c.Gossip = "10.0.0.1:7" },
		"data directory":          func(c *worker.Config) { c.Data = []string{filepath.Join(file, "x")} },
		"missing port":            func(c *worker.Config) { c.Listen = "127.0.0.1"; c.Insecure = true },
		"not a directory":         func(c *worker.Config) { c.Dir = file },
	} {
		cfg := usable(t)
		change(&cfg)
		w, err := worker.Start(cfg)
		if err == nil {
			t.Errorf("%s: it started", want)
			_ = w.Close() // the test has failed
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	cfg := usable(t)
	first, err := worker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if w, err := worker.Start(cfg); err == nil || !strings.Contains(err.Error(), "worker w1") {
		t.Errorf("two workers in one directory: %v, %v", w, err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := worker.Start(cfg)
	if err != nil {
		t.Fatalf("after the first has gone: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestWaitingIsSaid: a worker that nobody answers says once why it is not at work yet, with the error, which tells a wrong key from a wrong address.
func TestWaitingIsSaid(t *testing.T) {
	t.Parallel()
	cfg := usable(t)
	cfg.Pause = 10 * time.Millisecond
	said := make(chan string, 100)
	cfg.Log = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) { said <- string(b); return len(b), nil }), nil))
	w, err := worker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	count, end := 0, time.After(time.Minute)
	for count == 0 {
		select {
		case line := <-said:
			if strings.Contains(line, "still waiting for the master") && strings.Contains(line, "127.0.0.1:1") && strings.Contains(line, "refused") {
				count++
			}
		case <-end:
			t.Fatal("it says nothing")
		}
	}
	time.Sleep(200 * time.Millisecond) // twenty tries more
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for len(said) > 0 {
		if strings.Contains(<-said, "still waiting") {
			t.Error("it says it twice")
		}
	}
}

type writerFunc func(b []byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// TestRestartedMasterHearsHowLongAttemptsHaveRun: the policies of a master that was started again hear how old the attempts are that it finds
// running, a map and a driver here.
func TestRestartedMasterHearsHowLongAttemptsHaveRun(t *testing.T) {
	t.Parallel()
	h := startHeld(t, 0)
	const least = 300 * time.Millisecond
	time.Sleep(least) // the attempts get older
	if err := h.Master.Close(); err != nil {
		t.Fatal(err)
	}
	h.StartMaster()
	ages := map[uint8]time.Duration{}
	h.Wait("the master knows of a map and a driver", func() bool {
		got, err := api.SchedulerLines.Call(t.Context(), h.Client, h.Addr, wire.DecisionsRequest{})
		if err != nil {
			return false
		}
		for _, raw := range got.Lines {
			var line struct {
				Event struct {
					Kind     scheduler.EventKind
					Task     struct{ Kind uint8 }
					Duration time.Duration
				}
			}
			if err := json.Unmarshal(raw, &line); err != nil {
				t.Fatal(err)
			}
			if line.Event.Kind == scheduler.EvLaunched {
				ages[line.Event.Task.Kind] = line.Event.Duration
			}
		}
		return len(ages) == 2
	})
	for kind, age := range ages {
		if age < least || age > time.Minute {
			t.Errorf("an attempt of kind %d is %v old, want more than %v", kind, age, least)
		}
	}
	h.finish(t)
}
