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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/millrace/millrace/client"
	"github.com/millrace/millrace/dfs"
	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// TestStoreSoak is the soak of make stress: a store of three racks and six workers, all of them
// processes. For five minutes (a few seconds in CI) files are put, read, renamed and removed, while
// workers and the master are killed and started again, bytes are flipped on disks, and one disk is
// full. In the end fsck finds all files healthy and every byte is right.
func TestStoreSoak(t *testing.T) {
	t.Parallel()
	length, seed := soakLength(t, 5*time.Second)
	t.Logf("seed %d, %s", seed, length)
	s := startSoak(startProcesses(t, 0), seed)
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
	return length, drawnSeed(t)
}

// drawnSeed is another seed each time, or the one of MILLRACE_SEED.
func drawnSeed(t *testing.T) uint64 {
	t.Helper()
	given := os.Getenv("MILLRACE_SEED")
	if given == "" {
		return uint64(time.Now().UnixNano())
	}
	seed, err := strconv.ParseUint(given, 10, 64)
	if err != nil {
		t.Fatalf("MILLRACE_SEED is %q: %v", given, err)
	}
	return seed
}

// A soak is a store and what was done to it.
type soak struct {
	*processes
	rng     *rand.Rand
	racks   map[string]string
	small   string // the small disk of w6, if there is one
	flipped map[string]bool
	count   map[string]int
	ops     atomic.Int64
	faults  []fault
}

// startSoak starts a store on these processes, of which there is the master only.
func startSoak(p *processes, seed uint64) *soak {
	s := &soak{
		processes: p, rng: rand.New(rand.NewPCG(seed, 1)),
		racks: map[string]string{}, flipped: map[string]bool{}, count: map[string]int{},
	}
	s.faults = []fault{
		{"kill a worker", s.killWorker}, {"kill a worker", s.killWorker}, {"flip a byte", s.flip}, {"flip a byte", s.flip}, {"kill the master", s.killMaster},
	}
	if os.Geteuid() == 0 {
		s.small = require.Tmpfs(p.t, "size=16m")
		p.t.Cleanup(s.stopAll) // before the small disk is unmounted
	}
	for i := range 6 {
		s.up(fmt.Sprint("w", i+1), fmt.Sprint("r", i%3+1))
	}
	s.allBack()
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
		s.startWorker(name, rack, "--data", filepath.Join(s.small, "data"), "--reserve", "1MiB")
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
	cl := s.client("ann", time.Minute)
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
