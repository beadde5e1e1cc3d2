package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/api"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/testcluster"
	"github.com/millrace/millrace/internal/wire"
)

var anythingSeed = flag.Uint64("anything-seed", 0, "seed of TestAnythingMayBeSaid; 0 takes the time")

// TestAnythingMayBeSaid is FAULTS row 90: for a few seconds (a minute under stress) every method of the master and of a
// worker is called with random requests, as a node, a user and a task would; jobs run meanwhile. Nothing that is said
// ends either, a job submitted afterwards runs, and a master that starts again has all its jobs. On a cluster with a key, those who speak have
// certificates of a user, an administrator, a task and nodes.
func TestAnythingMayBeSaid(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]*secure.Key{"without a key": nil, "with a key": newKey(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			babble(t, key)
		})
	}
}

func babble(t *testing.T, key *secure.Key) {
	length := 3 * time.Second
	if require.Stressed() {
		length = time.Minute
	}
	seed := *anythingSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-anything-seed %d", seed)
	c := testcluster.Start(t, testcluster.Config{Workers: 2, Key: key})
	dfsPut(t, c, "/in", bytes.Repeat([]byte("a few words\n"), 1000))
	voices, jobs := voicesOf(t, c)
	var calls, answered int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 4 {
		b := &babbler{t: t, c: c, voices: voices, jobs: slices.Clone(jobs), rng: rand.New(rand.NewPCG(seed, uint64(i))), until: time.Now().Add(length)}
		wg.Go(func() {
			n, ok := b.run()
			mu.Lock()
			defer mu.Unlock()
			calls, answered = calls+n, answered+ok
		})
	}
	wg.Wait()
	t.Logf("%d calls, %d of them accepted", calls, answered)
	if calls < 200 || answered < 20 {
		t.Errorf("only %d calls, %d accepted", calls, answered)
	}
	stillWell(t, c, "after")
	if err := c.Master.Close(); err != nil {
		t.Fatal(err)
	}
	c.StartMaster()
	stillWell(t, c, "restarted")
}

// stillWell runs a job, whatever policies, drained nodes and other jobs the babble has left behind.
func stillWell(t *testing.T, c *testcluster.Cluster, name string) {
	t.Helper()
	select {
	case err := <-c.Master.Failed():
		t.Fatalf("the master has failed: %v", err)
	default:
	}
	ctx, boss := t.Context(), boss(t, c)
	until(t, "the master answers", func() bool { // on a connection from before its restart it does not
		_, err := api.NodeList.Call(ctx, c.Client, c.Addr, struct{}{})
		return err == nil
	})
	for _, r := range []wire.Choice{{Name: "fifo"}, {Name: "unlimited"}} {
		if _, err := api.SchedulerSet.Call(ctx, boss, c.Addr, r); err != nil {
			t.Fatal(err)
		}
	}
	list, err := api.JobList.Call(ctx, c.Client, c.Addr, wire.JobsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range list {
		if j.State == "QUEUED" || j.State == "RUNNING" {
			// It may be about to end, and then it is too late.
			_, _ = api.JobKill.Call(ctx, boss, c.Addr, wire.JobRequest{Job: j.Job})
		}
	}
	for _, n := range c.Workers {
		// It may not be drained at all.
		for _, method := range []string{"node.drain", "dfs.drain"} {
			_, _ = rpc.Call[wire.DrainRequest, struct{}](ctx, boss, c.Addr, method, wire.DrainRequest{Node: n.Name, Undo: true})
		}
	}
	id := c.Submit(wire.JobSpec{}, "sleep", "--maps=3", "--reduces=1", "--map-time=1ms", "--reduce-time=1ms", "--output=dfs:/well-"+name)
	if s := c.Finish(id); s.State != "SUCCEEDED" {
		t.Errorf("%s: %s: %s", name, s.State, s.Error)
	}
}

// A babbler calls whatever there is.
type babbler struct {
	t     *testing.T
	c     *testcluster.Cluster
	rng   *rand.Rand
	until time.Time
	jobs  []string

	voices []voice
}

// A voice is a caller; node is the one whose certificate it has, if it is a node's.
type voice struct {
	*http.Client
	node string
}

// voicesOf are those who may speak on a cluster: with a key, one with each kind of certificate; without, anybody, who says whom they are.
// One is a task of a job that runs.
func voicesOf(t *testing.T, c *testcluster.Cluster) (out []voice, jobs []string) {
	t.Helper()
	if c.Key() == nil {
		return []voice{{Client: http.DefaultClient}}, nil
	}
	job := c.Submit(wire.JobSpec{}, "sleep", "--maps=1", "--map-time=10m", "--output=dfs:/sleeps")
	for _, id := range [][3]string{{string(secure.User), "ann"}, {string(secure.Admin), "root"}, {string(secure.Task), string(job), "ann"}, {string(secure.Node), "w3"}, {string(secure.Node), "w4"}, {string(secure.Node), "w5"}} {
		cfg, err := c.Key().Client(secure.Role(id[0]), id[1], id[2])
		if err != nil {
			t.Fatal(err)
		}
		cl := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg.TLS}}
		t.Cleanup(cl.CloseIdleConnections)
		v := voice{Client: cl}
		if id[0] == string(secure.Node) {
			v.node = id[1]
		}
		out = append(out, v)
	}
	return out, []string{string(job)}
}

// speaker is who says something: often the one who may.
func (b *babbler) speaker(request any) voice {
	if r, ok := request.(*wire.Report); ok && b.rng.IntN(2) == 0 {
		if i := slices.IndexFunc(b.voices, func(v voice) bool { return v.node == string(r.Node) }); i >= 0 {
			return b.voices[i]
		}
	}
	return b.voices[b.rng.IntN(len(b.voices))]
}

// boss is a client who may do everything.
func boss(t *testing.T, c *testcluster.Cluster) *rpc.Client {
	t.Helper()
	if c.Key() == nil {
		return c.Client
	}
	cl := c.NewClient(secure.Admin, "root")
	t.Cleanup(func() { _ = cl.Close() }) // all answers are there
	return cl
}

func (b *babbler) run() (calls, answered int) {
	type place struct {
		addr string
		rpc.Route
	}
	var all []place
	for _, r := range b.c.Master.Routes() {
		all = append(all, place{b.c.Addr, r})
	}
	for _, r := range b.c.Workers[0].Worker.Routes() {
		all = append(all, place{b.c.Workers[0].Worker.Addr(), r})
	}
	all = slices.DeleteFunc(all, func(p place) bool {
		return p.Req == nil || !strings.HasPrefix(p.Path, rpc.Prefix) || spared[strings.TrimPrefix(p.Path, rpc.Prefix)]
	})
	for calls < 60 || time.Now().Before(b.until) { // on a busy machine it takes longer
		p := all[b.rng.IntN(len(all))]
		if b.rng.IntN(3) == 0 { // those that change most
			name := rpc.Prefix + favourites[b.rng.IntN(len(favourites))]
			p = all[slices.IndexFunc(all, func(p place) bool { return p.Path == name })]
		}
		calls++
		if b.call(p.addr, p.Path, p.Req) {
			answered++
		}
	}
	return calls, answered
}

// favourites keep state; spared ones forbid work on purpose.
var (
	favourites = []string{"worker.report", "job.submit", "driver.plan", "driver.commit", "driver.step", "dfs.create", "dfs.beat"}
	spared     = map[string]bool{"dfs.safemode": true, "dfs.set-quota": true}
)

func (b *babbler) call(addr, path string, req reflect.Type) bool {
	v := reflect.New(req)
	b.fill(v.Elem(), 0)
	body, err := json.Marshal(v.Interface())
	if err != nil { // a number or a name that JSON cannot have
		return false
	}
	if b.rng.IntN(20) == 0 && len(body) > 0 {
		body[b.rng.IntN(len(body))] = byte(b.rng.IntN(256))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	scheme := "http://"
	if b.c.Key() != nil {
		scheme = "https://"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+addr+path, bytes.NewReader(body))
	if err != nil {
		b.t.Error(err)
		return false
	}
	r.Header.Set("Millrace-User", "ann")
	if b.rng.IntN(2) == 0 {
		r.Header.Set("Millrace-Node", "w"+fmt.Sprint(3+b.rng.IntN(3)))
	}
	resp, err := b.speaker(v.Interface()).Do(r)
	if err != nil {
		return false // it may wait for news
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil || resp.StatusCode != http.StatusOK {
		return false
	}
	var s wire.Submitted
	if strings.HasSuffix(path, "job.submit") && json.Unmarshal(answer, &s) == nil && s.Job != "" {
		b.jobs = append(b.jobs, string(s.Job))
	}
	return true
}

// fill makes up a value: mostly what could be, often what could not.
func (b *babbler) fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		if b.rng.IntN(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			b.fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() && b.rng.IntN(6) > 0 {
				b.fill(field, depth+1)
			}
		}
		b.correct(v)
	case reflect.Slice:
		n := b.rng.IntN(4)
		if b.rng.IntN(50) == 0 && depth < 3 {
			n = 300
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			b.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range b.rng.IntN(4) {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			b.fill(k, depth+1)
			b.fill(e, depth+1)
			v.SetMapIndex(k, e)
		}
	case reflect.String:
		v.SetString(b.text())
	case reflect.Bool:
		v.SetBool(b.rng.IntN(2) == 0)
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{0, 0.5, 1, -1, 1e308, -1e308, math.SmallestNonzeroFloat64}[b.rng.IntN(7)])
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n := b.number()
		v.SetInt(n)
		if v.OverflowInt(n) {
			v.SetInt(n & 0x7f)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(b.number()) & (1<<(8*v.Type().Size()-1) - 1))
	}
}

func (b *babbler) number() int64 {
	switch b.rng.IntN(8) {
	case 0:
		return []int64{-1, math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32, 1 << 40}[b.rng.IntN(6)]
	case 1:
		return b.rng.Int64N(1 << 20)
	}
	return b.rng.Int64N(4)
}

func (b *babbler) text() string {
	known := append([]string{
		"", "ann", "w1", "w2", "w3", "w4", "r1", "default", "map", "reduce", "driver", "/in", "dfs:/in", "dfs:/o", "/", "../..", "sleep", "grep", "sort", "job-1", "job-2",
		"fair", "fifo", "nas", "marp", "cbt", "127.0.0.1:1", "linux/amd64", "--maps=2", "--reduces=1", "--map-time=1ms", "--input=dfs:/in", "--output=dfs:/o", "--pattern=a",
	}, b.jobs...)
	switch b.rng.IntN(20) {
	case 0:
		return strings.Repeat("x", 1<<b.rng.IntN(18))
	case 1:
		return strings.Repeat("\x01\u202e\n", 1<<b.rng.IntN(12))
	case 2:
		return string([]byte{0xff, 0xfe, byte(b.rng.IntN(256))})
	}
	return known[b.rng.IntN(len(known))]
}

// correct makes some requests come through: a submission of a real program, a report whose sender may exist.
func (b *babbler) correct(v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *wire.JobSpec:
		if b.rng.IntN(2) == 0 {
			out := fmt.Sprint("dfs:/o", b.rng.IntN(50))
			p.Program = wire.Program{Builtin: "sleep", Args: []string{"--maps=2", "--reduces=1", "--map-time=5ms", "--output=" + out}}
			p.Stages, p.Output, p.Inputs, p.Request = 1, out, nil, ""
		}
	case *wire.Report:
		p.Node = wire.NodeName(fmt.Sprint("w", 3+b.rng.IntN(3))) // the real ones have sessions of their own
		p.Seq = uint64(b.rng.IntN(1000))
	case *wire.AttemptID:
		p.Index, p.Stage = int32(b.rng.IntN(3))-int32(b.rng.IntN(2)), 0
		if b.rng.IntN(2) == 0 && len(b.jobs) > 0 { // one that is there
			p.Job, p.Kind = wire.JobID(b.jobs[b.rng.IntN(len(b.jobs))]), wire.MapTask
		}
	case *wire.RegisterRequest:
		p.Node = wire.NodeName(fmt.Sprint("w", 3+b.rng.IntN(3)))
	}
}
