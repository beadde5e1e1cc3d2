package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

// TestStoreSoak is the soak of make stress: a store of three racks and six workers, all of them
// processes. For five minutes (a few seconds in CI) files are put, read, renamed and removed, while
// workers and the master are killed and started again, bytes are flipped on disks, and one disk is
// full. In the end fsck finds all files healthy and every byte is right.
func TestStoreSoak(t *testing.T) {
	t.Parallel()
	length, seed := soakLength(t, 5*time.Second)
	t.Logf("seed %d, %s", seed, length)
	s := startSoak(t, seed)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	owners := make([]*owner, 3)
	for i := range owners {
		owners[i] = newOwner(s, i)
		wg.Go(func() { owners[i].work(stop) })
	}
	for end := time.Now().Add(length); time.Now().Before(end) && !t.Failed(); {
		s.fault()
	}
	close(stop)
	wg.Wait()
	s.healthy()
	files := 0
	for _, o := range owners {
		files += len(o.files)
		o.checkAll()
	}
	s.healthy() // what reading found is repaired too
	t.Logf("%d operations, %d files left; faults: %v", s.ops.Load(), files, s.count)
}

// soakLength is how long a soak takes, and its seed: MILLRACE_SOAK says how long (make soak), and then, or with stress, each
// time has another, or the one of MILLRACE_SEED.
func soakLength(t *testing.T, usual time.Duration) (time.Duration, uint64) {
	t.Helper()
	text := os.Getenv("MILLRACE_SOAK")
	if text == "" && require.Stressed() {
		text = "5m"
	}
	if text == "" {
		return usual, 1
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("MILLRACE_SOAK is %q: %v", text, err)
	}
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("MILLRACE_SEED"); given != "" {
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("MILLRACE_SEED is %q: %v", given, err)
		}
	}
	return length, seed
}

// A soak is a store and what was done to it.
type soak struct {
	*processes
	rng     *rand.Rand
	racks   map[string]string
	small   string // data directory of the worker whose disk is small, if there is one
	flipped map[string]bool
	count   map[string]int
	ops     atomic.Int64
	faults  []string
}

// startSoak starts a store on which these faults are done beside the usual ones.
func startSoak(t *testing.T, seed uint64, more ...string) *soak {
	s := &soak{
		processes: startProcesses(t, 0), rng: rand.New(rand.NewPCG(seed, 1)),
		racks: map[string]string{}, flipped: map[string]bool{}, count: map[string]int{},
		faults: append([]string{"kill a worker", "kill a worker", "flip a byte", "flip a byte", "kill the master"}, more...),
	}
	if os.Geteuid() == 0 {
		s.small = require.Tmpfs(t, "size=16m")
		t.Cleanup(s.stopAll) // before the small disk is unmounted
	}
	for i := range 6 {
		s.up(fmt.Sprint("w", i+1), fmt.Sprint("r", i%3+1))
	}
	s.wait("all workers are up", func() bool { return s.live() == 6 })
	return s
}

// stopAll ends all workers; what is left is the master, which the processes' own cleanup ends.
func (s *soak) stopAll() {
	for name := range s.racks {
		if s.run[name] != nil {
			s.kill(name)
		}
	}
}

func (s *soak) up(name, rack string) {
	s.racks[name] = rack
	if name == "w6" && s.small != "" {
		s.start(name, "worker", "--name", name, "--rack", rack, "--master", s.addr, "--dir", filepath.Join(s.dir, name), "--data", s.small, "--reserve", "1MiB")
		return
	}
	s.startWorker(name, rack)
}

func (s *soak) live() (n int) {
	list, err := s.cl.DFS().Nodes(context.Background())
	if err != nil {
		return 0
	}
	for _, node := range list {
		if node.State == "live" {
			n++
		}
	}
	return n
}

// fault does one thing that should not matter, and waits a little.
func (s *soak) fault() {
	what := s.faults[s.rng.IntN(len(s.faults))]
	s.count[what]++
	pause := time.Duration(s.rng.IntN(1000)) * time.Millisecond
	switch what {
	case "kill a worker":
		name := fmt.Sprint("w", s.rng.IntN(6)+1)
		s.kill(name)
		time.Sleep(pause)
		s.up(name, s.racks[name])
		s.wait("all workers are back", func() bool { return s.live() == 6 })
	case "kill the master":
		s.kill("master")
		time.Sleep(pause / 2)
		s.startMaster()
		s.wait("the master is back", func() bool {
			mode, err := s.cl.DFS().SafeMode(context.Background(), "")
			return err == nil && !mode.On && s.live() == 6
		})
	case "flip a byte":
		s.flip()
		time.Sleep(pause / 4)
	case "stop a worker":
		name := fmt.Sprint("w", s.rng.IntN(6)+1)
		s.signal(name, syscall.SIGSTOP)
		time.Sleep(2 * pause)
		s.signal(name, syscall.SIGCONT)
	case "change the policy":
		all := policies.Names(scheduler.Assignment)
		s.changePolicy(all[s.count[what]%len(all)])
		time.Sleep(pause)
	case "submit nonsense":
		s.nonsense()
	}
}

// changePolicy lets another policy decide from here on.
func (s *soak) changePolicy(name string) {
	s.t.Helper()
	if err := s.cl.SetPolicy(context.Background(), wire.Choice{Name: name}); err != nil {
		s.t.Errorf("policy %s: %v", name, err)
	}
}

// nonsense submits what nobody should: the master refuses it, or the job fails, and that is all.
func (s *soak) nonsense() {
	bad := []wire.JobSpec{
		{Stages: 1},
		{Stages: 1, Program: wire.Program{Builtin: "no such job"}},
		{Stages: 100, Program: wire.Program{Builtin: "sort", Args: []string{"--input=dfs:/in"}}},
		{Stages: 1, Program: wire.Program{Builtin: "grep", Args: []string{"--input=/etc/passwd", "--output=dfs:/x", "root"}}, Output: "dfs:/x"},
		{Stages: 1, Program: wire.Program{Exe: "/none", Hash: "00"}},
		{Name: strings.Repeat("n", 1<<16), Stages: 1, Program: wire.Program{Builtin: "sleep"}},
	}
	spec := bad[s.rng.IntN(len(bad))]
	if id, err := s.cl.Submit(context.Background(), spec); err == nil {
		_ = s.cl.Kill(context.Background(), id, "nonsense") // it may have failed by itself
	}
}

// flip changes a byte of one replica of a block that has not been touched before: a block with
// three bad replicas is lost, and rightly so.
func (s *soak) flip() {
	files, err := filepath.Glob(filepath.Join(s.dir, "w*", "blocks", "blocks", "*", "*.blk"))
	if err != nil || len(files) == 0 {
		return
	}
	name := files[s.rng.IntN(len(files))]
	if s.flipped[filepath.Base(name)[:16]] {
		return
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return // it was just deleted
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return
	}
	at, b := s.rng.Int64N(info.Size()), []byte{0}
	if _, err := f.ReadAt(b, at); err != nil {
		return
	}
	b[0] ^= byte(1 + s.rng.IntN(255))
	if _, err := f.WriteAt(b, at); err != nil {
		s.t.Error(err)
	}
	s.flipped[filepath.Base(name)[:16]] = true
}

// healthy waits until fsck finds nothing wrong.
func (s *soak) healthy() {
	s.t.Helper()
	var last wire.FsckResponse
	for begin := time.Now(); time.Since(begin) < 2*time.Minute; time.Sleep(50 * time.Millisecond) {
		r, err := s.cl.DFS().Fsck(context.Background(), wire.FsckRequest{Path: "/"})
		if last = r; err == nil && len(r.Files) == 0 && !r.More {
			return
		}
	}
	s.t.Fatalf("not healthy after two minutes: %+v", last)
}

// An owner has a directory for itself and knows what should be in it.
type owner struct {
	s     *soak
	cl    *client.Client
	dir   string
	rng   *rand.Rand
	files map[string]uint32 // checksums
	next  int
}

func newOwner(s *soak, i int) *owner {
	cl, err := client.New(client.Config{Master: s.addr, User: "ann", Patience: time.Minute})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { cl.Close() })
	return &owner{s: s, cl: cl, dir: fmt.Sprint("/owner", i), rng: rand.New(rand.NewPCG(s.rng.Uint64(), 2)), files: map[string]uint32{}}
}

func (o *owner) work(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if err := o.one(); err != nil {
			o.s.t.Errorf("%s: %v", o.dir, err)
			return
		}
		o.s.ops.Add(1)
	}
}

// any picks a file, "" if there is none.
func (o *owner) any() string {
	k := o.rng.IntN(len(o.files) + 1)
	for name := range o.files {
		if k--; k < 0 {
			return name
		}
	}
	return ""
}

func (o *owner) one() error {
	name := o.any()
	fresh := fmt.Sprintf("%s/%d", o.dir, o.next)
	o.next++
	switch k := o.rng.IntN(10); {
	case name == "" || k < 3 && len(o.files) < 60:
		return o.put(fresh)
	case k < 4:
		return o.put(name)
	case k < 6:
		if err := o.cl.DFS().Rename(context.Background(), name, fresh, false); err != nil {
			return err
		}
		o.files[fresh] = o.files[name]
		delete(o.files, name)
		return nil
	case k < 7:
		delete(o.files, name)
		return o.cl.DFS().Remove(context.Background(), name, false)
	}
	return o.check(name)
}

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func (o *owner) put(name string) error {
	data := make([]byte, o.rng.IntN(700_000))
	for i := 0; i+8 <= len(data); i += 8 {
		data[i] = byte(o.rng.Uint32())
	}
	w, err := o.cl.DFS().Create(context.Background(), name, dfs.CreateOptions{BlockSize: 256 << 10, Overwrite: true})
	if err != nil {
		return err
	}
	_, err = io.Copy(w, bytes.NewReader(data))
	if err := errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	o.files[name] = crc32.Checksum(data, crcTable)
	return nil
}

func (o *owner) check(name string) error {
	f, err := o.cl.DFS().Open(context.Background(), name)
	if err != nil {
		return err
	}
	defer f.Close()
	sum := crc32.New(crcTable)
	if _, err := io.Copy(sum, f); err != nil {
		return err
	}
	if sum.Sum32() != o.files[name] {
		return fmt.Errorf("%s holds other bytes than were written", name)
	}
	return nil
}

// checkAll compares everything there is with what should be.
func (o *owner) checkAll() {
	for name := range o.files {
		if err := o.check(name); err != nil {
			o.s.t.Error(err)
		}
	}
	list, err := o.cl.DFS().ListAll(context.Background(), o.dir)
	if err != nil && len(o.files) > 0 || len(list) != len(o.files) {
		o.s.t.Errorf("%s has %d files, should have %d, %v", o.dir, len(list), len(o.files), err)
	}
}
