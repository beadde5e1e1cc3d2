package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
	"github.com/millrace/millrace/mapreduce"
	"github.com/millrace/millrace/master"
	"github.com/millrace/millrace/worker"
)

// hooks are called by the word count of a rig: a map before it reads, a reduce when it has fetched everything. They may
// wait, fail, or break something.
type hooks struct {
	onMap, onReduce func(node wire.NodeName, t *mapreduce.Task) error
}

// rigConfig is what a rig is like; zero means as usual.
type rigConfig struct {
	workers, splits, reducers int
	lineBytes                 int // of values, to make map output large
	slots                     int32
	master                    func(c *master.Config)
	worker                    func(c *worker.Config)
}

// A rig is a cluster on which faults are tried: it knows what a job without faults leaves.
type rig struct {
	*testcluster.Cluster
	t      *testing.T
	cfg    rigConfig
	cl     *client.Client
	hooks  atomic.Pointer[hooks]
	want   map[string][]byte // by part
	clean  wire.JobStatus
	took   time.Duration // of the clean run
	runs   int
	random atomic.Bool // jobs from now on are randomMaps
}

func newRig(t *testing.T, cfg rigConfig) *rig {
	t.Helper()
	cfg.workers, cfg.splits, cfg.reducers = max(cfg.workers, 1), max(cfg.splits, 1), max(cfg.reducers, 1)
	r := &rig{t: t, cfg: cfg}
	r.hooks.Store(&hooks{})
	r.Cluster = testcluster.Start(t, testcluster.Config{
		Workers: cfg.workers, Racks: 2,
		Master: func(c *master.Config) {
			c.Jobs.SecondAttempts.Off, c.Hold = true, 200*time.Millisecond // a busy machine makes stragglers
			if cfg.master != nil {
				cfg.master(c)
			}
		},
		Worker: func(c *worker.Config) {
			node := c.Node
			c.FetchStall, c.SmallOutput = time.Second, 0 // each output a file of its own, to be damaged
			c.Build = func(p *wire.Program) ([]mapreduce.Job, error) { return r.build(node, p) }
			if cfg.slots > 0 {
				c.Capacity = wire.Capacity{Containers: cfg.slots}
			}
			if cfg.worker != nil {
				cfg.worker(c)
			}
		},
		Build: func(p *wire.Program) ([]mapreduce.Job, error) { return r.build("", p) },
	})
	r.cl = newClient(t, r.Cluster, "ann")
	data := text(t, 20_000*cfg.splits)
	dfsPut(t, r.Cluster, "/in", data)
	r.reference(data)
	begin := time.Now()
	id := r.submit(wire.JobSpec{})
	r.clean = r.Finish(id)
	r.took = time.Since(begin)
	r.inv(r.clean, "/out1")
	return r
}

// build makes the rig's word count, or a built-in job.
func (r *rig) build(node wire.NodeName, p *wire.Program) ([]mapreduce.Job, error) {
	if p.Builtin != "words" {
		return jobs.Parse(p.Builtin, p.Args)
	}
	in, out := p.Args[0], p.Args[1]
	hook := func(which func(h *hooks) func(wire.NodeName, *mapreduce.Task) error) func(t *mapreduce.Task) error {
		return func(t *mapreduce.Task) error {
			if fn := which(r.hooks.Load()); fn != nil {
				return fn(node, t)
			}
			return nil
		}
	}
	list := countWords(in, out,
		hook(func(h *hooks) func(wire.NodeName, *mapreduce.Task) error { return h.onMap }),
		hook(func(h *hooks) func(wire.NodeName, *mapreduce.Task) error { return h.onReduce }))
	list[0].SplitBytes, list[0].Reducers = 20_000, r.cfg.reducers
	if r.cfg.lineBytes > 0 {
		list[0].Map = fatWords(list[0].Map, r.cfg.lineBytes)
	}
	if r.random.Load() {
		return randomMaps(list), nil
	}
	return list, nil
}

// fatWords makes the map output of a word count larger.
func fatWords(m mapreduce.Map, n int) mapreduce.Map {
	value := bytes.Repeat([]byte("x"), n)
	made := m.New
	m.New = func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		inner, err := made(t)
		if err != nil {
			return nil, err
		}
		return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
			return inner.Map(r, fatEmitter{out, value})
		}), nil
	}
	return m
}

type fatEmitter struct {
	mapreduce.Emitter
	value []byte
}

func (e fatEmitter) Emit(key, _ []byte) { e.Emitter.Emit(key, e.value) }

// reference runs the same job on one machine.
func (r *rig) reference(data []byte) {
	r.t.Helper()
	dir := r.t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	writeFile(r.t, in, data)
	stages, err := r.build("", &wire.Program{Builtin: "words", Args: []string{in, out}})
	if err == nil {
		_, err = local.Run(r.t.Context(), local.Config{Scratch: dir}, stages...)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.want = map[string][]byte{}
	for i := range r.cfg.reducers {
		name := fmt.Sprintf("part-r-%05d", i)
		if r.want[name], err = os.ReadFile(filepath.Join(out, name)); err != nil {
			r.t.Fatal(err)
		}
	}
}

// submit starts the word count once more; its output is /outN.
func (r *rig) submit(spec wire.JobSpec) wire.JobID {
	r.t.Helper()
	r.runs++
	return r.Submit(spec, "words", "dfs:/in", "dfs:/out"+strconv.Itoa(r.runs))
}

// succeed waits for the job of the last submit and checks all that must be true of it.
func (r *rig) succeed(id wire.JobID) {
	r.t.Helper()
	r.inv(r.Finish(id), "/out"+strconv.Itoa(r.runs))
}

// inv is INV of FAULTS.md: the same bytes, nothing else, and the same counters as without faults.
func (r *rig) inv(s wire.JobStatus, out string) {
	r.t.Helper()
	if s.State != "SUCCEEDED" {
		r.t.Fatalf("%s: %+v", out, s)
	}
	got, err := readDir(r.cl, out)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, ok := got["_SUCCESS"]; !ok {
		r.t.Errorf("%s has no _SUCCESS", out)
	}
	delete(got, "_SUCCESS")
	for name, b := range r.want {
		if !bytes.Equal(got[name], b) {
			r.t.Errorf("%s/%s is not that of a run on one machine: %d bytes, want %d", out, name, len(got[name]), len(b))
		}
		delete(got, name)
	}
	for name := range got {
		r.t.Errorf("%s holds %s", out, name)
	}
	r.tidy()
	if got, want := anywhere(s.Counts), anywhere(r.clean.Counts); want != nil && !reflect.DeepEqual(got, want) {
		r.t.Errorf("%s: counters are %v, without faults %v", out, got, want)
	}
	for task, n := range r.winners(s.Job) {
		if n != 1 {
			r.t.Errorf("%s: %d attempts of %s count", out, n, task)
		}
	}
}

// anywhere returns counters in which the bytes of the shuffle are one, wherever they came from: where tasks run is chance, and
// so is how long reduces wait.
func anywhere(c mapreduce.Counts) mapreduce.Counts {
	if c == nil {
		return nil
	}
	out := c.Clone()
	delete(out[mapreduce.TaskGroup], mapreduce.ReduceWaitMillis)
	var moved int64
	for _, place := range []string{mapreduce.ShuffleNodeBytes, mapreduce.ShuffleRackBytes, mapreduce.ShuffleRemoteBytes} {
		moved += out[mapreduce.TaskGroup][place]
		delete(out[mapreduce.TaskGroup], place)
	}
	out[mapreduce.TaskGroup]["shuffled from anywhere"] = moved
	return out
}

// tidy checks that nothing but the input and the outputs is in the block store, and waits until workers have let go of
// what they kept.
func (r *rig) tidy() {
	r.t.Helper()
	r.Wait("nothing is left in the block store", func() bool { return len(r.strays()) == 0 })
	var left []string
	defer func() {
		if len(left) > 0 { // Wait has given up
			r.t.Logf("left on workers: %q", left)
		}
	}()
	r.Wait("nothing is left on the workers", func() bool {
		left = nil
		for _, n := range r.Workers {
			for _, below := range []string{"*", "*/*"} {
				found, err := filepath.Glob(filepath.Join(n.Dir, "scratch", below))
				if n.Worker != nil && err == nil {
					left = append(left, found...)
				}
			}
		}
		return len(left) == 0
	})
}

func (r *rig) strays() (out []string) {
	list, err := r.cl.DFS().ListAll(context.Background(), "/")
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range list {
		name := strings.TrimPrefix(e.Path, "/")
		if _, err := strconv.Atoi(strings.TrimPrefix(name, "out")); name != "in" && err != nil {
			out = append(out, e.Path)
		}
	}
	return out
}

func readDir(cl *client.Client, dir string) (map[string][]byte, error) {
	list, err := cl.DFS().ListAll(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range list {
		f, err := cl.DFS().Open(context.Background(), e.Path)
		if err != nil {
			return nil, err
		}
		b, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close()); err != nil && !errors.Is(err, fs.ErrInvalid) {
			return nil, err
		}
		out[e.Path[strings.LastIndexByte(e.Path, '/')+1:]] = b
	}
	return out, nil
}

// events is all that happened to a job that has ended.
func (r *rig) events(id wire.JobID) (out []wire.PastEvent) {
	r.t.Helper()
	storyOf(r.t, r.Cluster, r.cl, id)
	if err := r.cl.Events(r.t.Context(), id, func(e *wire.PastEvent) { out = append(out, *e) }); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// winners is how many attempts of each task count in the end.
func (r *rig) winners(id wire.JobID) map[string]int {
	out := map[string]int{}
	for _, e := range r.events(id) {
		task := fmt.Sprint(e.Task, e.Index)
		switch e.Kind {
		case wire.PastDone:
			if e.Task != wire.DriverTask {
				out[task]++
			}
		case wire.PastOutputLost:
			out[task]--
		}
	}
	return out
}

// launched counts the attempts of a kind, by the number of their task.
func (r *rig) launched(id wire.JobID, kind wire.TaskKind) map[int32]int {
	out := map[int32]int{}
	for _, e := range r.events(id) {
		if e.Kind == wire.PastLaunched && e.Task == kind {
			out[e.Index]++
		}
	}
	return out
}

// mapsOn lists the maps whose output lies on a node.
func (r *rig) mapsOn(id wire.JobID, node wire.NodeName) map[int32]bool {
	out := map[int32]bool{}
	as := r.NewClient(secure.Node, string(node))
	defer as.Close()
	resp, err := api.StageOutputs.Call(r.t.Context(), as, r.Addr, wire.OutputsRequest{StageRef: wire.StageRef{Job: id}})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range resp.Changes {
		if o.Lost || o.Node != node {
			delete(out, o.Map)
		} else {
			out[o.Map] = true
		}
	}
	return out
}

// again lists the tasks that were started more than once.
func again(launched map[int32]int) map[int32]bool {
	out := map[int32]bool{}
	for i, n := range launched {
		if n > 1 {
			out[i] = true
		}
	}
	return out
}
