package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/worker/attempt"
)

// runChild runs an attempt of a shipped program in a process of its own: its own group, so that
// all it starts ends with it, an environment with nothing of ours, and limits.
func (w *Worker) runChild(ctx context.Context, l *wire.Launch, dir, sideDir string) (wire.Ended, *shuffle.Output) {
	lost := func(err error) (wire.Ended, *shuffle.Output) {
		return wire.Ended{ID: l.ID, Lost: true, Error: err.Error()}, nil
	}
	exe, err := w.shipped.get(ctx, w.dfs.As(l.Spec.User), l.Spec.Program.Exe, l.Spec.Program.Hash)
	if err != nil {
		return wire.Ended{ID: l.ID, Final: errors.Is(err, wire.Invalid) || errors.Is(err, wire.NotFound), Error: err.Error()}, nil
	}
	logs, err := w.openLog(l.ID)
	if err != nil {
		return lost(err)
	}
	defer logs.Close()
	c := &childRun{w: w, l: l, logs: logs}
	end, path, err := c.run(ctx, exe, dir, sideDir)
	if err != nil {
		return end, nil
	}
	if path == "" {
		return end, nil
	}
	out, err := shuffle.OpenOutput(filepath.Join(dir, filepath.Base(path)))
	if err != nil {
		return lost(err)
	}
	return end, out
}

// A childRun is one process.
type childRun struct {
	w    *Worker
	l    *wire.Launch
	logs *cappedLog

	mu     sync.Mutex // guards the fields below
	last   time.Time  // of a sign of life
	reason string     // why we killed it
}

// memoryOf is what one attempt may use for sorting; limitOf what its process may hold in all.
func (w *Worker) memoryOf(l *wire.Launch) int64 {
	if l.MemoryMB > 0 {
		return l.MemoryMB << 20 / 2
	}
	return max(16<<20, w.cfg.Memory/int64(max(1, w.cfg.Capacity.Containers)))
}

func (w *Worker) limitOf(l *wire.Launch) int64 {
	if l.MemoryMB > 0 {
		return l.MemoryMB << 20
	}
	return 4*w.memoryOf(l) + 256<<20
}

func (c *childRun) run(ctx context.Context, exe, dir, sideDir string) (wire.Ended, string, error) {
	cred, err := c.credential()
	if err != nil {
		return wire.Ended{ID: c.l.ID, Lost: true, Error: err.Error()}, "", err
	}
	order, err := json.Marshal(attempt.Order{
		Launch: *c.l, Master: c.w.cfg.Master, Node: c.w.cfg.Node, Credential: cred, Scratch: dir, SideDir: sideDir, Memory: c.w.memoryOf(c.l),
	})
	if err != nil {
		return wire.Ended{ID: c.l.ID, Error: err.Error()}, "", err
	}
	words, theirs, err := os.Pipe()
	if err != nil {
		return wire.Ended{ID: c.l.ID, Lost: true, Error: err.Error()}, "", err
	}
	defer words.Close()
	cmd := exec.Command(exe, c.l.Spec.Program.Args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(string(order)), c.logs, c.logs
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = []string{
		attempt.ChildEnv + "=1", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir,
		"GOMEMLIMIT=" + strconv.FormatInt(c.w.limitOf(c.l)*3/4, 10),
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Start()
	_ = theirs.Close() // the child has its own
	if err != nil {
		return wire.Ended{ID: c.l.ID, Final: true, Error: fmt.Sprintf("the program cannot be started: %v", err)}, "", err
	}
	c.last = time.Now()
	done := make(chan struct{})
	var guards sync.WaitGroup
	guards.Go(func() { c.guard(ctx, cmd.Process.Pid, done) })
	end, path, ok := c.listen(words)
	// Whoever has said how it ended has nothing more to do.
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	var werr error
	select {
	case werr = <-waited:
	case <-time.After(10 * time.Second):
		killGroup(cmd.Process.Pid)
		werr = <-waited
	}
	close(done)
	guards.Wait()
	killGroup(cmd.Process.Pid) // what it left behind
	if ok {
		return end, path, nil
	}
	return c.postMortem(werr), "", errors.New("it ended without a word")
}

// credential is who the child is to others: a task of this job, on behalf of its user.
func (c *childRun) credential() (string, error) {
	if c.w.cfg.Key == nil {
		return "", nil
	}
	pem, err := c.w.cfg.Key.PEM(secure.Task, string(c.l.ID.Job), c.l.Spec.User)
	return string(pem), err
}

// listen takes in what the child says until it has nothing more to say.
func (c *childRun) listen(r io.Reader) (end wire.Ended, path string, ok bool) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), 16<<20)
	for sc.Scan() {
		var word attempt.Word
		if json.Unmarshal(sc.Bytes(), &word) != nil {
			continue // user code may have found the descriptor
		}
		c.mu.Lock()
		c.last = time.Now()
		c.mu.Unlock()
		switch {
		case word.Progress != nil:
			c.w.progress(c.l.ID, *word.Progress)
		case word.BadFetch != nil && word.BadFetch.By == c.l.ID:
			c.w.badFetch(*word.BadFetch)
		case word.Ended != nil && word.Ended.ID == c.l.ID:
			return *word.Ended, word.Output, true // children of its own may keep the pipe open
		}
	}
	return end, path, false
}

func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) } // it may be gone already

// guard ends the process when the attempt is no longer wanted, when it takes too much memory, and
// when it has given no sign of life for too long.
func (c *childRun) guard(ctx context.Context, pid int, done <-chan struct{}) {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	limit := c.w.limitOf(c.l)
	stopping := ctx.Done()
	var hard <-chan time.Time
	for {
		select {
		case <-done:
			return
		case <-stopping:
			_ = syscall.Kill(pid, syscall.SIGTERM) // a driver cleans up
			stopping, hard = nil, time.After(2*time.Second)
		case <-hard:
			killGroup(pid)
			hard = nil
		case <-t.C:
			c.mu.Lock()
			silent := time.Since(c.last)
			c.mu.Unlock()
			switch rss := groupMemory(pid); {
			case rss > limit:
				c.kill(pid, fmt.Sprintf("memory limit: %d MB used, %d MB allowed", rss>>20, limit>>20))
			case c.w.cfg.TaskTimeout > 0 && silent > c.w.cfg.TaskTimeout && c.l.ID.Kind != wire.DriverTask:
				c.kill(pid, fmt.Sprintf("timeout: no sign of life for %s", silent.Round(time.Second)))
			}
		}
	}
}

func (c *childRun) kill(pid int, why string) {
	c.mu.Lock()
	c.reason = why
	c.mu.Unlock()
	killGroup(pid)
}

// postMortem says why a process ended without saying so itself.
func (c *childRun) postMortem(err error) wire.Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := c.reason
	if why == "" {
		why = fmt.Sprintf("the program ended without a result: %v", err)
		if err == nil {
			why = "the program ended without a result: does it call millrace.Main?"
		}
		if tail := c.logs.tail(); tail != "" {
			why += "\n" + tail
		}
	}
	return wire.Ended{ID: c.l.ID, Error: why}
}

// groupMemory is what a process and its children hold, in bytes.
func groupMemory(pid int) (total int64) {
	for _, p := range append(children(pid), pid) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p))
		if err != nil {
			continue
		}
		if f := strings.Fields(string(b)); len(f) > 1 {
			pages, err := strconv.ParseInt(f[1], 10, 64)
			if err == nil {
				total += pages * int64(os.Getpagesize())
			}
		}
	}
	return total
}

func children(pid int) (out []int) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil
	}
	for f := range strings.FieldsSeq(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			out = append(append(out, n), children(n)...)
		}
	}
	return out
}
