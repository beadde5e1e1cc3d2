package streaming

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"github.com/millrace/millrace/internal/procs"
	"github.com/millrace/millrace/mapreduce"
)

// process is a running command. One goroutine feeds and drains it; four others
// move its bytes and reap it, and wait ends them all.
type process struct {
	what    string // "mapper", for errors
	cmd     *exec.Cmd
	group   *procs.Group // the command and what it starts
	stdin   chan []byte  // chunks for the command; closed at the end of input
	stdout  chan batch   // what it printed; closed at the end of output
	spare   chan []byte  // buffers of input for reuse
	taken   chan batch   // buffers of output for reuse
	in      []byte       // input that waits until the chunk is full
	done    chan struct{}
	fed     chan struct{} // closed when the command takes no more input
	report  *reporter
	maxLine int
	wg      sync.WaitGroup

	readErr  error // set before stdout is closed
	writeErr error // set before wg is done, as is exitErr
	exitErr  error
	over     bool
	err      error // how the command ended, once over
}

// batch is some whole lines.
type batch []byte

const (
	batchBytes = 64 << 10
	// inputBytes is how much the command gets at a time. Larger records are written in pieces.
	inputBytes = 128 << 10
)

// start runs command through the shell.
func start(t *mapreduce.Task, what, command string) (*process, error) {
	p := &process{
		what: what, stdin: make(chan []byte), stdout: make(chan batch, 2),
		spare: make(chan []byte, 2), taken: make(chan batch, 1), done: make(chan struct{}), fed: make(chan struct{}),
		report: &reporter{task: t}, maxLine: maxLine(t),
		cmd: procs.Shell(command),
	}
	p.report.stop = p.kill
	p.cmd.Dir = workDir(t)
	p.cmd.Env = environment(t)
	pipes, err := p.connect()
	if err == nil {
		p.group, err = procs.Start(p.cmd)
	}
	pipes.closeTheirs()
	if err != nil {
		pipes.closeOurs()
		return nil, fmt.Errorf("start %s %q: %w", what, command, err)
	}
	stop := context.AfterFunc(t.Context(), p.kill)
	p.wg.Go(func() {
		defer close(p.fed)
		p.writeErr = p.feed(pipes.ours[0])
	})
	p.wg.Go(func() { p.drain(pipes.ours[1]) })
	p.wg.Go(func() { p.report.read(pipes.ours[2]) })
	p.wg.Go(func() {
		p.exitErr = p.cmd.Wait()
		p.kill() // the rest of its group holds the pipes open
		stop()
	})
	return p, nil
}

// maxLine bounds the memory that one line of a command can take.
func maxLine(t *mapreduce.Task) int {
	if t.MaxRecord > 0 {
		return t.MaxRecord
	}
	return 128 << 20
}

// pipes are both ends of standard input, output and error.
type pipes struct{ ours, theirs [3]*os.File }

// connect makes the pipes. Wait of package exec would close its own while they are being read.
func (p *process) connect() (ends pipes, err error) {
	for i := range ends.ours {
		r, w, err := os.Pipe()
		if err != nil {
			return ends, err
		}
		ends.ours[i], ends.theirs[i] = r, w
	}
	ends.ours[0], ends.theirs[0] = ends.theirs[0], ends.ours[0]
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = ends.theirs[0], ends.theirs[1], ends.theirs[2]
	return ends, nil
}

func (e *pipes) closeTheirs() { closeAll(e.theirs) }
func (e *pipes) closeOurs()   { closeAll(e.ours) }

func closeAll(files [3]*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

// workDir returns the directory of side files, or "".
func workDir(t *mapreduce.Task) string {
	if info, err := os.Stat(t.SideDir); err == nil && info.IsDir() {
		return t.SideDir
	}
	return ""
}

// write writes more input to the command, in pieces, so that a large record is never copied.
func (p *process) write(b []byte, take func(batch) error) error {
	for len(b) > 0 {
		if p.in == nil {
			p.in = p.buffer()
		}
		n := min(len(b), cap(p.in)-len(p.in))
		p.in = append(p.in, b[:n]...)
		b = b[n:]
		if len(p.in) < cap(p.in) {
			continue
		}
		if err := p.flush(take); err != nil {
			return err
		}
	}
	return nil
}

// writePair writes a line of key and value to the command.
func (p *process) writePair(key, value []byte, take func(batch) error) error {
	for _, b := range [...][]byte{key, tab, value, newline} {
		if err := p.write(b, take); err != nil {
			return err
		}
	}
	return nil
}

// flush sends what write has collected.
func (p *process) flush(take func(batch) error) error {
	chunk := p.in
	p.in = nil
	if len(chunk) == 0 {
		return nil
	}
	return p.send(chunk, take)
}

// buffer returns memory for a chunk of input.
func (p *process) buffer() []byte {
	select {
	case b := <-p.spare:
		return b[:0]
	default:
		return make([]byte, 0, inputBytes)
	}
}

func (p *process) recycle(b []byte) {
	select {
	case p.spare <- b:
	default:
	}
}

// send passes a chunk to the command and meanwhile takes what it prints, so that neither side waits for the other
// forever. A command that exits successfully, or closes its input, has seen enough, and the rest of its input is
// dropped. One that closes only its output gets all of its input.
func (p *process) send(chunk []byte, take func(batch) error) error {
	stdout := p.stdout
	for !p.over {
		select {
		case p.stdin <- chunk:
			return nil
		case <-p.ended(stdout):
			return p.wait()
		case lines, ok := <-stdout:
			if !ok {
				stdout = nil
				continue
			}
			if err := p.consume(lines, take); err != nil {
				return err
			}
		}
	}
	return p.err
}

// ended returns a channel that is closed when the command takes no more input. It returns nil while the command may
// still print.
func (p *process) ended(stdout chan batch) chan struct{} {
	if stdout != nil {
		return nil
	}
	return p.fed
}

// consume passes lines to take, and then reuses their memory.
func (p *process) consume(lines batch, take func(batch) error) error {
	p.report.task.Alive()
	err := take(lines)
	select {
	case p.taken <- lines:
	default:
	}
	return err
}

// finish ends the input, takes the rest of the output and waits for the exit.
func (p *process) finish(take func(batch) error) error {
	if err := p.flush(take); err != nil || p.over {
		return errors.Join(err, p.err)
	}
	close(p.stdin)
	var err error
	for lines := range p.stdout {
		if err != nil {
			continue
		}
		if err = p.consume(lines, take); err != nil {
			p.kill() // nobody reads the rest of its output
		}
	}
	if ended := p.wait(); err == nil {
		err = ended
	}
	return err
}

// wait waits for the command and its goroutines and returns what went wrong.
func (p *process) wait() error {
	close(p.done)
	p.wg.Wait()
	p.over = true
	if err := p.report.failure(); err != nil { // the other errors follow from it
		p.err = fmt.Errorf("%s: %w", p.what, err)
		return p.err
	}
	err := p.readErr
	if err == nil {
		err = p.exitErr
	}
	if err == nil {
		err = p.writeErr
	}
	if err != nil {
		p.err = fmt.Errorf("%s: %w%s", p.what, err, p.report.tail())
	}
	return p.err
}

// close kills the command and everything that it started, if it still runs.
func (p *process) close() {
	if p == nil || p.over {
		return
	}
	p.kill()
	_ = p.wait() // it was killed, so its error means nothing
}

// kill kills the whole process group. It may be called at any time, and twice.
func (p *process) kill() { p.group.Kill() }
