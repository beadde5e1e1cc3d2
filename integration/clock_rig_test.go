package integration

import (
	"bytes"
	object "debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/millrace/millrace/internal/require"
	"github.com/millrace/millrace/internal/wire"
)

// wallClock is what a program's clock becomes: machine code for amd64 that asks the kernel and adds seconds to what the wall clock says
// (the number of the clock is in edi, the place of the answer in rsi).
var wallClock = []byte{
	0xb8, 228, 0, 0, 0, // mov eax, SYS_clock_gettime
	0x0f, 0x05, // syscall
	0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
	0x75, 7, // jnz past the next
	0x48, 0x81, 0x06, 0, 0, 0, 0, // add qword [rsi], the seconds
	0xc3, // ret
}

// canJump reports whether clocks of programs can be changed here.
func canJump() bool { return runtime.GOARCH == "amd64" && os.Geteuid() == 0 }

// jumpClock makes the wall clock of one running program differ from the machine's by so many seconds. Programs read it by a function that the kernel maps into each; the
// program is stopped, while none of its threads is in there, and gets another.
func jumpClock(pid int, seconds int32) error {
	begin, end, err := vdso(pid)
	if err != nil {
		return err
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
	image := make([]byte, end-begin)
	if _, err := mem.ReadAt(image, begin); err != nil {
		return err
	}
	at, err := symbol(image, "__vdso_clock_gettime")
	if err != nil {
		return err
	}
	code := bytes.Clone(wallClock)
	binary.LittleEndian.PutUint32(code[len(code)-5:], uint32(seconds))
	for range 100 {
		if done, err := whileStopped(pid, begin, end, func() error { _, err := mem.WriteAt(code, begin+at); return err }); done || err != nil {
			return err
		}
	}
	return fmt.Errorf("process %d is always asking for the time", pid)
}

// vdso is where the kernel's functions are in a process.
func vdso(pid int) (begin, end int64, err error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(maps)) {
		if strings.Contains(line, "[vdso]") {
			_, err = fmt.Sscanf(line, "%x-%x", &begin, &end)
			return begin, end, err
		}
	}
	return 0, 0, errors.New("no vdso")
}

// symbol is where a function begins in an image.
func symbol(image []byte, name string) (int64, error) {
	f, err := object.NewFile(bytes.NewReader(image))
	if err != nil {
		return 0, err
	}
	all, err := f.DynamicSymbols()
	for _, s := range all {
		if s.Name == name && s.Size >= uint64(len(wallClock)) {
			return int64(s.Value), nil
		}
	}
	return 0, errors.Join(fmt.Errorf("no function %s", name), err)
}

// whileStopped stops a process, does something if no thread is between two addresses, and lets it go on.
func whileStopped(pid int, begin, end int64, do func() error) (done bool, err error) {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, syscall.Kill(pid, syscall.SIGCONT)) }()
	for !stopped(pid) {
		time.Sleep(time.Millisecond)
	}
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	if err != nil {
		return false, err
	}
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err != nil {
			return false, err
		}
		words := strings.Fields(string(b))
		var at int64
		if _, err := fmt.Sscanf(words[len(words)-1], "0x%x", &at); err != nil || at >= begin && at < end {
			return false, nil // it runs still, or it asks for the time
		}
	}
	return true, do()
}

// stopped reports whether all threads of a process have stopped, or it has ended.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err == nil && !strings.Contains(string(b), ") T ") {
			return false
		}
	}
	return err == nil
}

// TestJumpClock: the clocks of the master and of a worker jump by half a day, this way and that, while a job runs: what is made then bears
// the wrong time, and nothing else happens. No attempt is lost, and no node.
func TestJumpClock(t *testing.T) {
	require.Faults(t)
	t.Parallel()
	require.Root(t)
	if !canJump() {
		return // there is no such code for this processor
	}
	p := startProcesses(t, 2)
	p.put("/in", text(t, 200_000))
	id, err := p.cl.Submit(t.Context(), wire.JobSpec{Name: "slow", Stages: 1, Program: wire.Program{Builtin: "streaming", Args: []string{
		"--mapper", "sleep 0.5; cat", "--reducer", "cat", "--input", "dfs:/in", "--output", "dfs:/out", "--split-bytes", "20000",
	}}})
	if err != nil {
		t.Fatal(err)
	}
	for i, by := range []int32{43200, -43200, 0} {
		for name, by := range map[string]int32{"master": by, "w1": -by} {
			if err := jumpClock(p.run[name].Process.Pid, by); err != nil {
				t.Fatal(name, err)
			}
		}
		p.bears(fmt.Sprint("/jump", i), time.Duration(by)*time.Second)
	}
	s, err := p.cl.Wait(t.Context(), id, func(wire.JobStatus) {})
	if err != nil || s.State != wire.Succeeded || s.LastError != "" {
		t.Errorf("%+v, %v", s, err)
	}
	log, err := os.ReadFile(filepath.Join(p.dir, "master.log"))
	if err != nil || strings.Contains(string(log), "is gone") {
		t.Errorf("%v: a node was given up:\n%s", err, log)
	}
}

// bears makes a directory and checks that it bears the time of now and so much more.
func (p *processes) bears(dir string, more time.Duration) {
	p.t.Helper()
	if err := p.cl.DFS().Mkdir(p.t.Context(), dir, false); err != nil {
		p.t.Fatal(err)
	}
	info, err := p.cl.DFS().Stat(p.t.Context(), dir)
	if err != nil {
		p.t.Fatal(err)
	}
	if wrong := time.Until(time.UnixMilli(info.ModTime).Add(-more)); wrong.Abs() > time.Hour {
		p.t.Errorf("%s is from %s: the clock did not jump by %s", dir, time.UnixMilli(info.ModTime), more)
	}
}
