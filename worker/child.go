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
	"sync"
	"syscall"
	"time"

	"github.com/millrace/millrace/internal/procs"
	"github.com/millrace/millrace/internal/secure"
	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/shuffle"
	"github.com/millrace/millrace/worker/attempt"
)

// runChild runs an attempt of users' code in a process of its own and in a sandbox.
func (w *Worker) runChild(ctx context.Context, l *wire.Launch, dir, sideDir string) (wire.Ended, *shuffle.Output) {
	lost := func(err error) (wire.Ended, *shuffle.Output) {
		return wire.Ended{ID: l.ID, Lost: true, Error: err.Error()}, nil
	}
	exe, args, err := w.program(ctx, l)
	if err != nil {
		return notReady(l.ID, err), nil
	}
	defer exe.Close()
	logs, err := w.logs.create(l.ID)
	if err != nil {
		return lost(err)
	}
	defer logs.Close()
	sandbox, err := w.jail.enter(dir, fmt.Sprintf("sandbox-%s-%d-%d", l.ID.Kind, l.ID.Index, l.ID.Try), limits{w.limitOf(l), w.processorsOf(l)})
	if err != nil {
		return lost(err)
	}
	if err := sandbox.link(sideDir); err != nil {
		return lost(errors.Join(err, sandbox.leave()))
	}
	c := &childRun{w: w, l: l, logs: logs, sandbox: sandbox}
	end, path, err := c.run(ctx, exe, args)
	var out *shuffle.Output
	if err == nil && path != "" {
		if path, err = sandbox.take(path, dir); err == nil {
			out, err = shuffle.OpenOutput(path)
		}
		if err != nil {
			end = wire.Ended{ID: l.ID, Lost: true, Error: err.Error()}
		}
	}
	if err := sandbox.leave(); err != nil {
		w.cfg.Log.Warn("a program's room cannot be cleared", "attempt", l.ID, "error", err)
	}
	return end, out
}

// program opens the executable of an attempt: the one that was shipped, or this one for a built-in job that
// runs users' commands.
func (w *Worker) program(ctx context.Context, l *wire.Launch) (*os.File, []string, error) {
	p := &l.Spec.Program
	if p.Exe == "" {
		exe, err := openSelf()
		return exe, w.cfg.Child(p), err
	}
	if w.cfg.TaskNetwork == NetworkNone {
		return nil, nil, fmt.Errorf("worker %s runs no programs, only commands: they need the cluster's network, and it has --task-network %s", w.cfg.Node, NetworkNone)
	}
	path, err := w.shipped.get(ctx, w.dfs.As(l.Spec.User, ""), l.Spec.User, l.ID.Job, wire.Side{Path: p.Exe, Hash: p.Hash})
	if err != nil {
		return nil, nil, err
	}
	if err := os.Chmod(path, 0o755); err != nil { // regardless of the worker's umask
		return nil, nil, err
	}
	exe, err := os.Open(path)
	return exe, p.Args, err
}

// A childRun is the process of one attempt.
type childRun struct {
	w       *Worker
	l       *wire.Launch
	logs    *cappedLog
	sandbox *sandbox

	own      *secure.Issuer // of the child's certificate; nil without a key
	told     string         // the certificate in its order
	computes bool           // as the child says

	mu     sync.Mutex // guards the fields below
	last   time.Time  // of the last sign of life
	reason string     // why the worker killed it
}

// budgetOf returns what the engine may use in the process of one attempt, beside the user's code. limitOf
// returns what the process may use in all.
func (w *Worker) budgetOf(l *wire.Launch) shuffle.Budget {
	if l.MemoryMB > 0 {
		return shuffle.ShareOf(l.MemoryMB<<20, 2)
	}
	return shuffle.ShareOf(w.cfg.budget.Total(), int(w.cfg.Capacity.Containers))
}

func (w *Worker) limitOf(l *wire.Launch) int64 {
	if l.MemoryMB > 0 {
		return l.MemoryMB << 20
	}
	return 4*w.budgetOf(l).Total() + 256<<20
}

// processorsOf returns how many processors an attempt may use. On an emulated machine its pace is set for these. On
// a real one it is 0, for no limit.
func (w *Worker) processorsOf(l *wire.Launch) float64 {
	if w.cfg.Speed == 0 {
		return 0
	}
	return float64(max(1, l.VCores))
}

func (c *childRun) run(ctx context.Context, exe *os.File, args []string) (wire.Ended, string, error) {
	order, err := c.order()
	if err != nil {
		return wire.Ended{ID: c.l.ID, Lost: true, Error: err.Error()}, "", err
	}
	words, theirs, err := os.Pipe()
	if err != nil {
		return wire.Ended{ID: c.l.ID, Lost: true, Error: err.Error()}, "", err
	}
	defer words.Close()
	in, orders, err := os.Pipe()
	if err != nil {
		return wire.Ended{ID: c.l.ID, Lost: true, Error: err.Error()}, "", errors.Join(err, theirs.Close())
	}
	cmd := c.command(exe, args, in)
	err = c.sandbox.start(cmd, exe, theirs)
	_, _ = theirs.Close(), in.Close() // the child has its own
	if err != nil {
		return notStarted(c.l.ID, err), "", errors.Join(err, orders.Close())
	}
	c.last = time.Now()
	done := make(chan struct{})
	var guards sync.WaitGroup
	guards.Go(func() { c.guard(ctx, done) })
	guards.Go(func() { c.tell(orders, order, done) })
	end, path, ok := c.listen(words)
	c.computing(false)
	c.w.childGone(c.l.ID)
	werr := c.reap(cmd)
	close(done)
	_ = orders.Close() // ends what nobody reads
	guards.Wait()
	if err := c.sandbox.sweep(); err != nil { // before anything looks at the output
		return wire.Ended{ID: c.l.ID, Lost: true, Error: err.Error()}, "", err
	}
	if ok && (end.OK || !c.killed()) {
		return end, path, nil
	}
	return c.postMortem(werr), "", errors.New("it ended without a word")
}

// command describes the child, whose orders come on stdin.
func (c *childRun) command(exe *os.File, args []string, stdin *os.File) *exec.Cmd {
	cmd := exec.Command(exe.Name(), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, c.logs, c.logs
	cmd.Env = append(c.sandbox.environment(), attempt.ChildEnv+"=1", "GOMEMLIMIT="+strconv.FormatInt(c.w.limitOf(c.l)*3/4, 10))
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// notStarted returns the end of an attempt whose process could not be started, because of the program or else
// the machine.
func notStarted(id wire.AttemptID, err error) wire.Ended {
	bad := errors.Is(err, syscall.ENOEXEC) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.E2BIG)
	return wire.Ended{ID: id, Final: bad, Lost: !bad, Error: fmt.Sprintf("the program cannot be started: %v", err)}
}

// reap waits for the process. A process that has reported its end and does not exit is killed.
func (c *childRun) reap(cmd *exec.Cmd) error {
	waited := make(chan error, 1)
	go func() { waited <- cmd.Wait() }()
	select {
	case err := <-waited:
		return err
	case <-time.After(10 * time.Second):
		c.sandbox.kill()
		return <-waited
	}
}

// order returns the order for the child.
func (c *childRun) order() ([]byte, error) {
	cred, err := c.credential()
	if err != nil {
		return nil, err
	}
	c.told = cred
	links, err := c.sandbox.lend(c.w.cfg.Emulate)
	if err != nil {
		return nil, err
	}
	gate, err := c.sandbox.openGate()
	if err != nil {
		return nil, err
	}
	return json.Marshal(attempt.Order{
		Launch: *c.l, Master: c.w.cfg.Master, Node: c.w.cfg.Node, Credential: cred, Memory: c.w.budgetOf(c.l).Total(),
		Scratch: c.sandbox.path(), SideDir: filepath.Join(c.sandbox.path(), "side"), Sandboxed: c.sandbox.uid != 0 || c.sandbox.caged(),
		OneMachine: c.w.oneMachine(), Emulate: links, Rack: c.w.cfg.Rack, FetchStall: c.w.cfg.FetchStall, Speed: c.w.cfg.Speed, Gate: gate,
	})
}

// credential returns the child's certificate: a task of this job, on behalf of its user.
func (c *childRun) credential() (string, error) {
	if c.w.cfg.Key == nil {
		return "", nil
	}
	if c.own == nil {
		c.own = c.w.cfg.Key.Issuer(secure.Task, string(c.l.ID.Job), c.l.Spec.User)
	}
	text, err := c.own.Text()
	return string(text), err
}

// credentialEvery is how often a child's certificate is looked at.
const credentialEvery = 2 * time.Second

// tell gives the child its order, and each certificate that replaces its own: half of the old one's life may be over, the
// cluster's key may have changed, or the clock been set.
func (c *childRun) tell(to io.Writer, order []byte, done <-chan struct{}) {
	_, err := to.Write(order) // if it fails, the child does not want to know
	if c.own == nil {
		return
	}
	t := time.NewTicker(credentialEvery)
	defer t.Stop()
	for last := c.told; err == nil; {
		changed := c.w.cfg.Key.Changed()
		select {
		case <-done:
			return
		case <-changed:
		case <-t.C:
		}
		var text string
		if text, err = c.credential(); err == nil && text != last {
			last = text
			err = json.NewEncoder(to).Encode(attempt.Credential{Text: text})
		}
	}
}

// maxWord bounds the length of one word. All counters with the longest names, errors and bad records fit.
const maxWord = 2 << 20

// listen handles what the child says until it has nothing more to say.
func (c *childRun) listen(r io.Reader) (end wire.Ended, path string, ok bool) {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 4<<10), maxWord)
	for sc.Scan() {
		var word attempt.Word
		if json.Unmarshal(sc.Bytes(), &word) != nil {
			continue // user code may have found the file descriptor
		}
		c.mu.Lock()
		c.last = time.Now()
		c.mu.Unlock()
		if len(word.Net) > 0 {
			c.w.childSent(c.l.ID, word.Net)
		}
		if word.Computes != nil {
			c.computing(*word.Computes)
		}
		switch {
		case word.Progress != nil:
			c.w.progress(c.l.ID, wire.Bounded(*word.Progress))
		case word.BadFetch != nil && word.BadFetch.Of(c.l.ID):
			word.BadFetch.Bounded()
			c.w.badFetch(*word.BadFetch)
		case word.Ended != nil && word.Ended.ID == c.l.ID:
			word.Ended.Bounded()
			return *word.Ended, word.Output, true // its own children may keep the pipe open
		}
	}
	if errors.Is(sc.Err(), bufio.ErrTooLong) {
		c.kill(fmt.Sprintf("the program said more than %d MiB on one line: are names of counters or errors that long?", maxWord>>20))
	}
	return end, path, false
}

// computing notes whether the child computes on the emulated machine.
func (c *childRun) computing(now bool) {
	if c.w.machine == nil || c.computes == now {
		return
	}
	c.computes = now
	c.w.machine.pace.Note(map[bool]int{true: 1, false: -1}[now])
}

// guard ends the process when the attempt is no longer wanted, when it takes too much memory or disk, or when
// it gives no sign of life for too long.
func (c *childRun) guard(ctx context.Context, done <-chan struct{}) {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	stopping := ctx.Done()
	var hard <-chan time.Time
	for {
		select {
		case <-done:
			return
		case <-stopping:
			procs.Stop(c.sandbox.pid) // a driver cleans up first
			stopping, hard = nil, time.After(2*time.Second)
		case <-hard:
			c.sandbox.kill()
			hard = nil
		case <-t.C:
			if why := c.excess(); why != "" {
				c.kill(why)
			}
		}
	}
}

// excess returns which limit the process exceeds, or "".
func (c *childRun) excess() string {
	c.mu.Lock()
	silent := time.Since(c.last)
	c.mu.Unlock()
	limit := c.w.limitOf(c.l)
	if rss := c.sandbox.memory(); rss > limit {
		return fmt.Sprintf("memory limit: %d MB used, %d MB allowed", rss>>20, limit>>20)
	}
	if used := c.sandbox.written(); c.sandbox.disk > 0 && used > c.sandbox.disk {
		return fmt.Sprintf("disk limit: %d MB written, %d MB allowed", used>>20, c.sandbox.disk>>20)
	}
	if c.w.cfg.TaskTimeout > 0 && silent > c.w.cfg.TaskTimeout && c.l.ID.Kind != wire.DriverTask {
		return fmt.Sprintf("timeout: no sign of life for %s", silent.Round(time.Second))
	}
	return ""
}

func (c *childRun) kill(why string) {
	c.mu.Lock()
	c.reason = why
	c.mu.Unlock()
	c.sandbox.kill()
}

// killed reports whether the worker has ended the process. Its reason then counts, not what the process reported
// before, such as the death of its own commands.
func (c *childRun) killed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reason != ""
}

// postMortem says why a process ended without a report.
func (c *childRun) postMortem(err error) wire.Ended {
	c.mu.Lock()
	defer c.mu.Unlock()
	why := c.reason
	if why == "" && c.sandbox.overran() {
		why = fmt.Sprintf("memory limit: more than the %d MB allowed", c.w.limitOf(c.l)>>20)
	}
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
