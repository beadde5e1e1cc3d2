package integration

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
)

// submit hands in a built-in job.
func (p *processes) submit(name string, words ...string) wire.JobID {
	p.t.Helper()
	id, err := p.cl.Submit(p.t.Context(), p.spec(name, words))
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

func (p *processes) trySubmit(name string, words ...string) error {
	p.t.Helper()
	_, err := p.cl.Submit(p.t.Context(), p.spec(name, words))
	return err
}

func (p *processes) spec(name string, words []string) wire.JobSpec {
	p.t.Helper()
	stages, err := jobs.Parse(name, words)
	if err != nil {
		p.t.Fatal(err)
	}
	return client.SpecOf(stages, wire.Program{Builtin: name, Args: words}, false)
}

// synthetic hands in a job that sleeps and shuffles a little.
func (p *processes) synthetic(maps, reduces int, mapTime, reduceTime time.Duration, out string) wire.JobID {
	p.t.Helper()
	return p.submit("synthetic", "--maps", strconv.Itoa(maps), "--reduces", strconv.Itoa(reduces), "--map-time", mapTime.String(),
		"--reduce-time", reduceTime.String(), "--shuffle-bytes", "64KiB", "--output", out)
}

// status asks until the master answers: it may be away.
func (p *processes) status(id wire.JobID) (s wire.JobStatus) {
	p.t.Helper()
	p.wait("the master answers", func() (ok bool) {
		var err error
		s, err = p.cl.Status(p.t.Context(), id)
		return err == nil
	})
	return s
}

func (p *processes) finish(id wire.JobID) (s wire.JobStatus) {
	p.t.Helper()
	for range 4 { // minutes, for the slowest of machines
		begin := time.Now()
		for time.Since(begin) < 50*time.Second {
			if s = p.status(id); s.State.Ended() {
				return s
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	p.t.Fatalf("%s has not ended: %+v", id, s)
	return s
}

// story is all that happened to a job that has ended.
func (p *processes) story(id wire.JobID) (out []wire.PastEvent) {
	p.t.Helper()
	p.wait("the history has "+string(id), func() bool {
		s, err := p.cl.Summary(p.t.Context(), id)
		return err == nil && s.Over()
	})
	if err := p.cl.Events(p.t.Context(), id, func(e *wire.PastEvent) { out = append(out, *e) }); err != nil {
		p.t.Fatal(err)
	}
	return out
}

// state is how the master sees a worker.
func (p *processes) state(node string) string {
	list, err := p.cl.Nodes(p.t.Context())
	if err != nil {
		return err.Error()
	}
	for _, n := range list {
		if string(n.Node) == node {
			return n.State
		}
	}
	return "unknown"
}

// signal sends a signal to a process and to all that it has started.
func (p *processes) signal(name string, sig syscall.Signal) {
	p.t.Helper()
	pid := p.run[name].Process.Pid
	for _, child := range descendants(pid) {
		_ = syscall.Kill(child, sig) // it may have ended
	}
	if err := p.run[name].Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// descendants lists the processes that a process has started, and those that they have.
func descendants(pid int) (out []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, l := range lists {
		b, _ := os.ReadFile(l) // the thread may be gone
		for f := range strings.FieldsSeq(string(b)) {
			if child, err := strconv.Atoi(f); err == nil {
				out = append(append(out, child), descendants(child)...)
			}
		}
	}
	return out
}

// slowWords counts first words with tasks that take their time; at is where it writes.
func (p *processes) slowWords(mapTime, reduceTime, at string) wire.JobID {
	p.t.Helper()
	return p.submit("streaming", "--mapper", "sleep "+mapTime+"; cut -d' ' -f1", "--reducer", "sleep "+reduceTime+"; uniq -c",
		"--input", "dfs:/in", "--output", "dfs:"+at, "--split-bytes", "65536", "--reducers", "4")
}

// slowInput makes the input of so many maps, and returns what slowWords must write.
func (p *processes) slowInput(maps int) []string {
	p.t.Helper()
	data := text(p.t, maps<<16)
	p.put("/in", data)
	return reference(p.t, data, "streaming", "--mapper", "cut -d' ' -f1", "--reducer", "uniq -c", "--reducers", "4")
}

// doneOn lists the maps that were done on a node, as far as the story goes.
func doneOn(story []wire.PastEvent, node string) map[int32]bool {
	out := map[int32]bool{}
	for _, e := range story {
		if e.Kind == wire.PastDone && e.Task == wire.MapTask && string(e.Node) == node {
			out[e.Index] = true
		}
	}
	return out
}

// TestRestartedWorkerProcess: a worker is killed with kill -9 and started again. What it had finished is on its disk: none
// of it is done again, although the worker has another address now.
func TestRestartedWorkerProcess(t *testing.T) {
	require.Faults(t)
	p := startProcesses(t, 3, "master:--silence", "master:2m", "master:--return", "master:2m")
	id := p.synthetic(24, 3, 100*time.Millisecond, 10*time.Millisecond, "dfs:/out")
	p.wait("some maps are done", func() bool { return p.status(id).Maps.Done >= 12 })
	p.kill("w2")
	p.startWorker("w2", "r2")
	if s := p.finish(id); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	story := p.story(id)
	launched := map[int32]int{}
	for _, e := range story {
		switch {
		case e.Kind == wire.PastOutputLost:
			t.Errorf("the output of map %d was given up: %s", e.Index, e.Text)
		case e.Kind == wire.PastLaunched && e.Task == wire.MapTask:
			launched[e.Index]++
		}
	}
	again := 0
	for _, n := range launched {
		again += n - 1
	}
	t.Logf("%d maps were done on the worker, before and after; %d that ran there ran again", len(doneOn(story, "w2")), again)
	if again > 2 { // its two containers
		t.Errorf("%d maps were started again", again)
	}
}

// TestDrainSurvivesTheMaster: a node that was drained is still so when the master was killed and started again.
func TestDrainSurvivesTheMaster(t *testing.T) {
	require.Faults(t)
	p := startProcesses(t, 4)
	restart := func(undo bool, want string) {
		t.Helper()
		if err := p.cl.Drain(t.Context(), "w1", undo); err != nil {
			t.Fatal(err)
		}
		p.kill("master")
		p.startMaster()
		p.wait("w1 is "+want, func() bool { return p.state("w1") == want && p.state("w2") == "up" })
		p.wait("its store is "+want, func() bool {
			stores, err := p.cl.DFS().Nodes(t.Context())
			i := slices.IndexFunc(stores, func(n wire.StoreNode) bool { return n.Node == "w1" })
			return err == nil && i >= 0 && stores[i].State != "dead" && strings.HasPrefix(stores[i].State, "drain") != undo
		})
	}
	restart(false, "draining")
	id := p.synthetic(8, 2, time.Millisecond, time.Millisecond, "dfs:/out")
	if s := p.finish(id); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	for _, e := range p.story(id) {
		if e.Kind == wire.PastLaunched && e.Node == "w1" {
			t.Errorf("%s %d was started on the drained node", e.Task, e.Index)
		}
	}
	restart(true, "up")
}

// parts are the files of an output, by name.
func (p *processes) parts(dir string) map[string][]byte {
	p.t.Helper()
	out, err := readDir(p.cl, dir)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// TestZombieProcess is FAULTS row 17 with signals: a worker and the attempts on it are stopped in the middle of its reduces;
// the job ends elsewhere; then all go on where they were. Nothing of what they write then is seen.
func TestZombieProcess(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	p := startProcesses(t, 3, "master:--silence", "master:6s", "master:--no-speculation")
	want := p.slowInput(6)
	id := p.slowWords("0.01", "8", "/out")
	var zombie string
	p.wait("a reduce runs where the driver does not", func() bool {
		s := p.status(id)
		for i := range int32(4) {
			list, err := p.cl.Attempts(t.Context(), wire.AttemptsRequest{Job: id, Task: wire.ReduceTask, Index: i})
			if err == nil && len(list) > 0 && string(list[0].Node) != s.Driver && s.Reduces.Running > 0 {
				zombie = string(list[0].Node)
			}
		}
		return zombie != ""
	})
	p.wait("its program runs", func() bool { return len(descendants(p.run[zombie].Process.Pid)) > 1 })
	p.signal(zombie, syscall.SIGSTOP)
	if s := p.finish(id); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	before := p.parts("/out")
	p.signal(zombie, syscall.SIGCONT)
	p.wait("the zombie is back and has nothing to do", func() bool {
		list, err := p.cl.Nodes(t.Context())
		i := slices.IndexFunc(list, func(n wire.NodeStatus) bool { return string(n.Node) == zombie })
		return err == nil && i >= 0 && list[i].State == "up" && list[i].Running == 0 && len(descendants(p.run[zombie].Process.Pid)) == 0
	})
	p.wait("what it did is cleared away", func() bool {
		left, err := filepath.Glob(filepath.Join(p.dir, zombie, "scratch", "*"))
		return err == nil && len(left) == 0
	})
	if after := p.parts("/out"); !maps.EqualFunc(before, after, bytes.Equal) {
		t.Errorf("the output has changed: %d files, before %d", len(after), len(before))
	}
	if got := lines(p.output("/out")); !slices.Equal(got, want) {
		t.Errorf("another output than on one machine: %d lines, want %d", len(got), len(want))
	}
	lost := 0
	for _, e := range p.story(id) {
		if e.Task == wire.ReduceTask && e.Kind == wire.PastLost && string(e.Node) == zombie {
			lost++
		}
	}
	if lost == 0 {
		t.Error("no reduce of the stopped worker was given up, so nothing was tested")
	}
}

// TestFlappingWorker is FAULTS row 5: a worker is stopped and goes on, again and again. It is excluded for a while, the job ends,
// and not much is done twice.
func TestFlappingWorker(t *testing.T) {
	require.Stress(t) // a short silence and a machine that is busy with other tests do not go together
	const long, times, tasks = 3 * time.Second, 10, 400
	p := startProcesses(t, 4, "master:--silence", "master:2s", "master:--exclude", "master:30s")
	want := p.slowInput(tasks)
	begin := time.Now()
	if s := p.finish(p.slowWords("0.5", "0.1", "/clean")); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	clean := time.Since(begin)
	begin = time.Now()
	id := p.slowWords("0.5", "0.1", "/out")
	p.wait("it runs", func() bool { return p.status(id).Maps.Done > 0 })
	excluded := false
	for range times {
		p.signal("w2", syscall.SIGSTOP)
		time.Sleep(long)
		p.signal("w2", syscall.SIGCONT)
		time.Sleep(long)
		list, err := p.cl.Nodes(t.Context())
		excluded = excluded || err == nil && slices.ContainsFunc(list, func(n wire.NodeStatus) bool { return n.Node == "w2" && n.State == "excluded" })
	}
	s := p.finish(id)
	took := time.Since(begin)
	t.Logf("%s, without faults %s; %d attempts of %d tasks", took, clean, s.Attempts, tasks+5)
	if s.State != "SUCCEEDED" || s.Attempts > 2*(tasks+5) || took > 2*clean+time.Minute || !excluded {
		t.Errorf("%s after %s, without faults %s; excluded: %t: %+v", s.State, took, clean, excluded, s)
	}
	if got := lines(p.output("/out")); !slices.Equal(got, want) {
		t.Errorf("another output than on one machine: %d lines, want %d", len(got), len(want))
	}
}

// TestMasterKilledAgainAndAgain is FAULTS row 18 with processes: the master is killed with kill -9 at several moments of a
// job, and started again after 200 ms. No task that was done is started again, and none that runs is stopped.
func TestMasterKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	moments := []int{1, 5, 9, 14}
	if require.Stressed() {
		moments = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	}
	p := startProcesses(t, 3, "master:--no-speculation", "master:--grace", "master:20s")
	id := p.synthetic(16, 4, 400*time.Millisecond, 400*time.Millisecond, "dfs:/out")
	for _, n := range moments {
		p.wait(fmt.Sprint(n, " maps are done"), func() bool { return p.status(id).Maps.Done >= n })
		p.kill("master")
		time.Sleep(200 * time.Millisecond) // as a supervisor would
		p.startMaster()
	}
	if s := p.finish(id); s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	done := map[string]int{}
	for _, e := range p.story(id) {
		task := fmt.Sprint(e.Task, " ", e.Index)
		switch e.Kind {
		case wire.PastLaunched: // perhaps twice, if the master died before the worker heard of it
			if done[task] > 0 {
				t.Errorf("%s was done, and started again", task)
			}
		case wire.PastDone:
			done[task]++
		case wire.PastStopped, wire.PastLost, wire.PastOutputLost, wire.PastFailed:
			if e.Task != wire.DriverTask { // which is stopped when the job has ended
				t.Errorf("%s: %s: %s", task, e.Kind, e.Text)
			}
		}
	}
	tasks := 0
	for task, n := range done {
		if tasks++; n != 1 {
			t.Errorf("%s was done %d times", task, n)
		}
	}
	if tasks < 20 {
		t.Errorf("%d of 20 tasks were done", tasks)
	}
}

// residentKiB is what a process has in memory, and the most it ever had.
func residentKiB(t *testing.T, pid int) (now, most int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "VmRSS:":
			now, _ = strconv.Atoi(f[1])
		case len(f) > 1 && f[0] == "VmHWM:":
			most, _ = strconv.Atoi(f[1])
		}
	}
	return now, most
}

// TestStormOfFetchFailures is FAULTS row 34: a worker with map output dies while many reduces fetch. They complain all at
// once; the master grows little, and the job ends.
func TestStormOfFetchFailures(t *testing.T) {
	require.Stress(t)
	const maps, reduces = 200, 50
	p := startProcesses(t, 3, "--containers", strconv.Itoa(reduces), "--fetch-stall", "1s", "master:--silence", "master:10s")
	id := p.submit("synthetic", "--maps", strconv.Itoa(maps), "--reduces", strconv.Itoa(reduces), "--map-time", "20ms", "--reduce-time", "20ms",
		"--shuffle-bytes", "8MiB", "--output", "dfs:/out")
	p.wait("most maps are done", func() bool { return p.status(id).Maps.Done >= maps*3/4 })
	before, _ := residentKiB(t, p.run["master"].Process.Pid)
	victim := "w1"
	if p.status(id).Driver == victim {
		victim = "w2"
	}
	p.signal(victim, syscall.SIGSTOP) // silent, so that everybody tries
	time.Sleep(2 * time.Second)
	p.kill(victim)
	s := p.finish(id)
	_, most := residentKiB(t, p.run["master"].Process.Pid)
	t.Logf("the master had %d KiB, at most %d; %d attempts", before, most, s.Attempts)
	if s.State != "SUCCEEDED" {
		t.Fatalf("%+v", s)
	}
	if most-before > 50<<10 {
		t.Errorf("the master grew by %d KiB", most-before)
	}
}
