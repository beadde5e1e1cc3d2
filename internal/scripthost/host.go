package scripthost

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/millrace/millrace/scheduler/script"
)

// Limits are what a script may use.
type Limits struct {
	// Load is how long loading and checking the script may take. Default 10 s.
	Load time.Duration
	// Answer is how long one answer may take. Default 1 s: workers report every second, and die after ten seconds
	// without an answer.
	Answer time.Duration
	// Share is the part of the caller's time that answers may take, and Burst how much at once. Defaults 0.25 and 2
	// s.
	Share float64
	Burst time.Duration
	// Situations is in how many random situations the script is checked first; 0 if that has been done.
	Situations int
}

func (l Limits) withDefaults() Limits {
	l.Load, l.Answer = cmp.Or(l.Load, 10*time.Second), cmp.Or(l.Answer, time.Second)
	l.Share, l.Burst = cmp.Or(l.Share, 0.25), cmp.Or(l.Burst, 2*time.Second)
	return l
}

const (
	maxAnswer = 64 << 10 // bytes in a line of the process
	maxSaid   = 4 << 10  // bytes of what it prints before it ends
)

// A Host is a script that runs in a process of its own.
type Host struct {
	name   string
	limits Limits
	policy *script.Policy

	cmd   *exec.Cmd
	in    *json.Encoder
	pipe  io.Closer // to the process
	out   *bufio.Reader
	said  tail
	late  atomic.Bool // it was killed because it took too long
	begun time.Time   // when left was counted
	left  time.Duration

	closing sync.Once
	closed  chan struct{}
}

var _ script.Asker = (*Host)(nil)

// Start starts the process, gives it the script and waits until it has been loaded and checked, or ctx ends. The
// command is not started yet.
func Start(ctx context.Context, cmd *exec.Cmd, name, text string, limits Limits) (*Host, error) {
	if len(text) > script.MaxText {
		return nil, fmt.Errorf("%s: a script has at most %d bytes, not %d", name, script.MaxText, len(text))
	}
	h := &Host{name: name, limits: limits.withDefaults(), cmd: cmd, closed: make(chan struct{})}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr, cmd.WaitDelay = &h.said, time.Second // its children may still hold its pipes
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the process of the script %s: %w", name, err)
	}
	h.in, h.pipe, h.out = json.NewEncoder(in), in, bufio.NewReaderSize(out, maxAnswer)
	h.left, h.begun = h.limits.Burst, time.Now()
	defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })() // it may have ended
	var is loaded
	if err := h.exchange(order{name, text, h.limits.Situations}, &is, h.limits.Load, "to read and try the script"); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if is.Err != "" {
		return nil, errors.Join(errors.New(is.Err), h.Close())
	}
	h.policy = script.Asking(name, is.Form, h)
	return h, nil
}

// Policy returns the script's policy.
func (h *Host) Policy() *script.Policy { return h.policy }

// Ask implements script.Asker. The policy calls it.
func (h *Host) Ask(q *script.Question) (script.Answer, error) {
	now := time.Now()
	h.left = min(h.limits.Burst, h.left+time.Duration(float64(now.Sub(h.begun))*h.limits.Share))
	h.begun = now
	if h.left <= 0 {
		return script.Answer{}, fmt.Errorf("%s: the script takes more than %v and then %.0f %% of the master's time", h.name, h.limits.Burst, 100*h.limits.Share)
	}
	q.Fill()
	var a answer
	err := h.exchange(q, &a, h.limits.Answer, "for an answer")
	h.left -= time.Since(now)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	return a.Answer, err
}

// exchange writes a line and reads one. It kills a process that takes too long.
func (h *Host) exchange(write, read any, limit time.Duration, what string) error {
	timer := time.AfterFunc(limit, func() {
		h.late.Store(true)
		_ = h.cmd.Process.Kill() // it may have ended
	})
	defer timer.Stop()
	err := h.in.Encode(write)
	var line []byte
	if err == nil {
		if line, err = h.out.ReadSlice('\n'); err == nil {
			err = json.Unmarshal(line, read)
		}
	}
	switch {
	case err == nil:
		return nil
	case h.late.Load():
		return fmt.Errorf("%s: the script took more than %v %s", h.name, limit, what)
	}
	if said := h.lastWords(); said != "" {
		return fmt.Errorf("%s: %s", h.name, said)
	}
	return fmt.Errorf("%s: the process of the script has ended: %w", h.name, err)
}

// lastWords ends the process and returns what it printed.
func (h *Host) lastWords() string {
	_ = h.Close() // the output says why it ended
	return strings.TrimPrefix(strings.TrimSpace(h.said.String()), "millrace: ")
}

// Close ends the process and waits for it. It may be called twice, and during Ask, which then fails.
func (h *Host) Close() error {
	h.closing.Do(func() {
		_ = h.pipe.Close()       // a good process ends by itself
		_ = h.cmd.Process.Kill() // another does not
		_ = h.cmd.Wait()         // it was killed
		close(h.closed)
	})
	<-h.closed
	return nil
}

// Closed returns a channel that is closed when the process has ended.
func (h *Host) Closed() <-chan struct{} { return h.closed }

// tail keeps the end of a process's output, where its error is.
type tail struct {
	mu  sync.Mutex // guards buf
	buf []byte
}

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-maxSaid):]...)
	t.buf = append(t.buf[:0], t.buf[max(0, len(t.buf)-maxSaid):]...)
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
