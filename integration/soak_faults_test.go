package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/scheduler/policies"
)

// A fault is one thing that should not matter. It is told how long to last, in part or several times, up to a second.
type fault struct {
	name string
	do   func(pause time.Duration)
}

// fault does one of the faults.
func (s *soak) fault() {
	f := s.faults[s.rng.IntN(len(s.faults))]
	s.count[f.name]++
	f.do(time.Duration(s.rng.IntN(1000)) * time.Millisecond)
}

func (s *soak) anyWorker() string { return fmt.Sprint("w", s.rng.IntN(6)+1) }

// allBack waits until the store has all workers.
func (s *soak) allBack() {
	s.t.Helper()
	s.wait("all workers are up", func() bool { return s.live() == 6 })
}

func (s *soak) killWorker(pause time.Duration) {
	name := s.anyWorker()
	s.kill(name)
	time.Sleep(pause)
	s.up(name, s.racks[name])
	s.allBack()
}

func (s *soak) killMaster(pause time.Duration) {
	s.kill("master")
	time.Sleep(pause / 2)
	s.startMaster()
	s.wait("the master is back", func() bool {
		mode, err := s.cl.DFS().SafeMode(context.Background(), "")
		return err == nil && !mode.On && s.live() == 6
	})
}

func (s *soak) stopWorker(pause time.Duration) {
	name := s.anyWorker()
	s.signal(name, syscall.SIGSTOP)
	time.Sleep(2 * pause)
	s.signal(name, syscall.SIGCONT)
}

// flip changes a byte of one replica of a block that has another and has not been touched before: a block whose replicas are all
// bad is lost, and rightly so.
func (s *soak) flip(pause time.Duration) {
	files, err := filepath.Glob(filepath.Join(s.dir, "w*", "blocks", "blocks", "*", "*.blk"))
	if err != nil || len(files) == 0 {
		return
	}
	name := files[s.rng.IntN(len(files))]
	same, err := filepath.Glob(filepath.Join(s.dir, "w*", "blocks", "blocks", "*", filepath.Base(name)))
	if err != nil || len(same) < 2 || s.flipped[filepath.Base(name)[:16]] {
		return
	}
	if err := flipInPlace(name, s.rng.Int64(), byte(1+s.rng.IntN(255))); err != nil {
		s.t.Error(err)
	}
	s.flipped[filepath.Base(name)[:16]] = true
	time.Sleep(pause / 4)
}

// flipInPlace changes one byte of a file that others use, if it is there and has any.
func flipInPlace(name string, at int64, by byte) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil // it was just deleted
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	b := []byte{0}
	if _, err := f.ReadAt(b, at%info.Size()); err != nil {
		return err
	}
	b[0] ^= by
	_, err = f.WriteAt(b, at%info.Size())
	return err
}

// cutOneWay keeps what a node sends from all, what all send from a node, or what one sends from another, for up to ten seconds.
func (s *jobSoak) cutOneWay(pause time.Duration) {
	a, b := s.anyWorker(), s.anyWorker()
	if s.rng.IntN(7) == 0 {
		a = "master"
	}
	ways := []string{fmt.Sprintf("iifname %q", a), fmt.Sprintf("oifname %q", a), fmt.Sprintf("iifname %q oifname %q", a, b)}
	s.lan.drop(ways[s.rng.IntN(len(ways))])
	time.Sleep(10 * pause)
	s.lan.heal()
	s.allBack()
}

// slowDisk makes every sync of a worker take 300 ms longer, for up to five seconds.
func (s *jobSoak) slowDisk(pause time.Duration) {
	pid := s.run[s.anyWorker()].Process.Pid
	tracer := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:delay_enter=300000", "-p", fmt.Sprint(pid))
	if err := tracer.Start(); err != nil {
		s.t.Error(err)
		return
	}
	time.Sleep(5 * pause)
	if err := tracer.Process.Signal(os.Interrupt); err != nil {
		s.t.Error(err)
	}
	// A tracer of threads that come and go may hang in its farewell; what it traces goes on when it is killed.
	late := time.AfterFunc(5*time.Second, func() { _ = tracer.Process.Kill() })
	defer late.Stop()
	_ = tracer.Wait() // it says that it was interrupted
}

// fillDisk leaves no room on the disk of one worker's blocks, for up to five seconds.
func (s *jobSoak) fillDisk(pause time.Duration) {
	name := filepath.Join(s.small, "filling")
	f, err := os.Create(name)
	if err != nil {
		return // there is not even room for the name
	}
	for err == nil {
		_, err = f.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		s.t.Error(err)
	}
	time.Sleep(5 * pause)
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		s.t.Error(err)
	}
}

// jumpClock moves the wall clock of a daemon to somewhere within half a day of the time.
func (s *jobSoak) jumpClock(pause time.Duration) {
	name := s.anyWorker()
	if s.rng.IntN(4) == 0 {
		name = "master"
	}
	if err := jumpClock(s.run[name].Process.Pid, int32(s.rng.IntN(86400)-43200)); err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	time.Sleep(pause)
}

// changePolicy lets another policy decide from here on.
func (s *jobSoak) changePolicy(pause time.Duration) {
	s.setPolicy(policies.Names(scheduler.Assignment), s.count["change the policy"])
	time.Sleep(pause)
}

// changeAdmission lets another policy say which drivers start.
func (s *jobSoak) changeAdmission(pause time.Duration) {
	s.setPolicy(policies.Names(scheduler.Admitting), s.count["change the admission"])
	time.Sleep(pause)
}

// setPolicy puts the next of a list in place.
func (s *jobSoak) setPolicy(all []string, turn int) {
	name := all[turn%len(all)]
	if err := s.cl.SetPolicy(context.Background(), wire.Choice{Name: name}); err != nil {
		s.t.Errorf("policy %s: %v", name, err)
	}
}

// nonsense submits what nobody should: the master refuses it, or the job fails, and that is all.
func (s *jobSoak) nonsense(time.Duration) {
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
