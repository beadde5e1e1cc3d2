package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/jobs"
	"github.com/millrace/millrace/local"
)

// TestJobSoak is the soak of jobs: three users run mixed jobs over one file, each with numbers of reduces and splits of its
// own, and a fourth programs that attack, on six workers that are processes, each with a network of its own. Meanwhile workers and the master are
// killed, workers are stopped, packets are lost one way, bytes are flipped, disks are slow and full, clocks jump, policies of both kinds change
// in turn and nonsense is submitted. Every job has the output of a run on one machine; in the end fsck is healthy
// and nothing is left.
func TestJobSoak(t *testing.T) {
	t.Parallel()
	require.Faults(t)
	require.Tool(t, "strace")
	length, seed := soakLength(t, time.Minute)
	t.Logf("seed %d, %s", seed, length)
	s := startJobSoak(t, seed)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i, user := range []string{"ann", "bob", "eve"} {
		r := newRunner(s, user, rand.New(rand.NewPCG(seed, uint64(10+i))))
		wg.Go(func() { r.work(stop, r.one) })
	}
	m := newRunner(s, "mal", rand.New(rand.NewPCG(seed, 20)))
	exe, cert := buildHostile(t), s.certificate(m.user)
	wg.Go(func() { m.work(stop, func() error { return m.attack(exe, cert) }) })
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		s.fault()
	}
	close(stop)
	wg.Wait()
	if t.Failed() {
		return
	}
	s.healthy()
	s.tidy()
	t.Logf("%d jobs, longest %s, %d attacks %v; faults: %v", s.ended.Load(), time.Duration(s.longest.Load()).Round(time.Millisecond), m.next, m.ends, s.count)
}

// startJobSoak starts a cluster with a key on a switch of its own, with the input and the faults of jobs.
func startJobSoak(t *testing.T, seed uint64) *jobSoak {
	t.Helper()
	s := &jobSoak{want: map[string][]string{}, kinds: []string{"wordcount", "distinct", "sort"}}
	s.ctx, s.fail = context.WithCancel(t.Context())
	_ = t.TempDir()         // from here on they are removed last
	t.Cleanup(s.nobodyLeft) // when all daemons have ended
	s.lan = startLAN(t, 0)
	for i := range 6 {
		s.lan.addPort(fmt.Sprint("w", i+1), i+2)
	}
	s.lan.flags = append(s.lan.flags, "--task-processes", "64", "--task-disk", "24MiB")
	s.soak = startSoak(s.lan.processes, seed)
	s.faults = append(s.faults,
		fault{"stop a worker", s.stopWorker}, fault{"cut one way", s.cutOneWay}, fault{"slow disk", s.slowDisk}, fault{"full disk", s.fillDisk},
		fault{"change the policy", s.changePolicy},
		fault{"change the admission", s.changeAdmission}, fault{"submit nonsense", s.nonsense})
	if canJump() {
		s.faults = append(s.faults, fault{"clock jump", s.jumpClock})
	}
	s.patience = 3 * time.Minute
	data := text(t, 300_000)
	s.put("/in", data)
	for _, kind := range s.kinds {
		s.want[kind] = onOneMachine(t, kind, data)
	}
	s.put("/poison", []byte("a b c\nPOISON d\n"))
	return s
}

// onOneMachine is the lines that a built-in job makes of a text without a cluster, in order.
func onOneMachine(t *testing.T, kind string, data []byte) []string {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	writeFile(t, in, data)
	stages, err := jobs.Parse(kind, []string{"--input", in, "--output", out, "--reducers", "1"})
	if err == nil {
		_, err = local.Run(t.Context(), local.Config{Scratch: dir}, stages...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return linesIn(t, out)
}

// linesIn are the lines of an output on this machine, in order.
func linesIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	for _, f := range files {
		if parts[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	return linesOf(parts)
}

// linesOf are the lines of all parts of an output, in order.
func linesOf(parts map[string][]byte) (out []string) {
	for name, b := range parts {
		if !strings.HasSuffix(name, "_SUCCESS") {
			for line := range bytes.Lines(b) {
				out = append(out, string(line))
			}
		}
	}
	slices.Sort(out)
	return out
}

// A jobSoak is a soak with jobs.
type jobSoak struct {
	*soak
	lan            *lan
	ctx            context.Context // ends when something has failed
	fail           context.CancelFunc
	kinds          []string
	want           map[string][]string // lines, by kind of job
	ended, longest atomic.Int64
	latest         atomic.Value // wire.JobID: a job of one of the three
}

// A runner runs jobs of one user, one after the other.
type runner struct {
	s    *jobSoak
	cl   *client.Client
	user string
	rng  *rand.Rand
	next int
	ends map[string]int // of attacks: how they ended
}

func newRunner(s *jobSoak, user string, rng *rand.Rand) *runner {
	cl := s.client(user, 3*time.Minute)
	s.t.Cleanup(func() { cl.Close() })
	return &runner{s: s, cl: cl, user: user, rng: rng, ends: map[string]int{}}
}

func (r *runner) work(stop <-chan struct{}, one func() error) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		begin := time.Now()
		if err := one(); err != nil {
			if r.s.ctx.Err() == nil {
				r.s.t.Errorf("%s: %v", r.user, err)
			}
			r.s.fail() // the others need not go on
			return
		}
		r.s.ended.Add(1)
		r.s.longest.Store(max(r.s.longest.Load(), int64(time.Since(begin))))
	}
}

// jobLimit is how long a job of a soak may take: a job that hangs is a failure, too.
const jobLimit = 6 * time.Minute

// one runs a job and compares what it leaves.
func (r *runner) one() error {
	r.next++
	kind, out := r.s.kinds[r.rng.IntN(len(r.s.kinds))], fmt.Sprintf("/user/%s/out%d", r.user, r.next)
	words := []string{
		"--input", "dfs:/in", "--output", "dfs:" + out, "--reducers", fmt.Sprint(1 + r.rng.IntN(4)),
		"--split-bytes", fmt.Sprint(20_000 + r.rng.IntN(200_000)), "--compress", []string{"s2", "zstd", "none"}[r.rng.IntN(3)],
	}
	stages, err := jobs.Parse(kind, words)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.s.ctx, jobLimit)
	defer cancel()
	id, err := r.cl.Submit(ctx, client.SpecOf(stages, wire.Program{Builtin: kind, Args: words}, false))
	if err != nil {
		return err
	}
	r.s.latest.Store(id)
	st, err := r.cl.WaitFor(ctx, id, 3*time.Minute, nil, nil)
	if err == nil && st.State != wire.Succeeded {
		err = fmt.Errorf("%s: %s", st.State, st.Error)
	}
	if err != nil {
		return fmt.Errorf("%s %v: %w", id, words, err)
	}
	parts, err := readDir(r.cl, out)
	if err != nil {
		return err
	}
	if got, want := linesOf(parts), r.s.want[kind]; !slices.Equal(got, want) || parts["_SUCCESS"] == nil {
		return fmt.Errorf("%s %s %v: %d lines, want %d; or others", id, kind, words, len(got), len(want))
	}
	return r.cl.DFS().Remove(ctx, out, true)
}

// reservations lists what the master and its policies still keep for jobs: places in queues, containers, racks of plans, figures.
func (s *jobSoak) reservations() (held []string, err error) {
	ctx := context.Background()
	queues, err1 := s.cl.Queues(ctx)
	for _, q := range queues {
		if q.Waiting+q.Running+q.Tasks+q.Pending > 0 {
			held = append(held, fmt.Sprintf("queue %+v", q))
		}
	}
	users, err2 := s.cl.Users(ctx)
	for _, u := range users {
		if u.Running+u.Waiting+u.Containers > 0 {
			held = append(held, fmt.Sprintf("user %+v", u))
		}
	}
	plans, err3 := s.cl.Plans(ctx, wire.PlanRequest{})
	for _, p := range plans.Plans {
		held = append(held, fmt.Sprintf("plan %+v", p))
	}
	st, err4 := s.cl.SchedulerStatus(ctx)
	for _, f := range st.Figures {
		if f.Job != "" {
			held = append(held, fmt.Sprintf("figure %+v", f))
		}
	}
	return held, errors.Join(err1, err2, err3, err4)
}

// tidy waits until nothing of any job is left: no attempt, no room that one holds, no file of one, nothing that is kept for one.
func (s *jobSoak) tidy() {
	s.t.Helper()
	var left []string
	defer func() {
		if s.t.Failed() {
			s.t.Logf("left: %q", left)
		}
	}()
	s.wait("nothing is left", func() bool {
		left = left[:0]
		nodes, err := s.cl.Nodes(context.Background())
		for _, n := range nodes {
			if n.Running > 0 || n.State != "up" {
				left = append(left, fmt.Sprintf("%s is %s with %d attempts", n.Node, n.State, n.Running))
			}
		}
		for _, dir := range []string{"/tmp/.millrace", "/user/ann", "/user/bob", "/user/eve", "/user/mal"} {
			list, err2 := s.cl.DFS().ListAll(context.Background(), dir)
			if err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
				err = err2
			}
			for _, e := range list {
				if e.Path != "/user/mal/.millrace" { // programs that were shipped stay a while
					left = append(left, e.Path)
				}
			}
		}
		files, _ := filepath.Glob(filepath.Join(s.dir, "w*", "scratch", "*", "*", "*"))
		held, err2 := s.reservations()
		left = slices.Concat(left, files, held)
		err = errors.Join(err, err2)
		return err == nil && len(left) == 0
	})
}
