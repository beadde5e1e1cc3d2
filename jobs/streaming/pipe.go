package streaming

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/millrace/millrace/internal/pages"
	"github.com/millrace/millrace/internal/procs"
)

// feed writes chunks to the command. It is no error if the command ends without reading all of its input, as head
// does.
func (p *process) feed(in io.WriteCloser) error {
	for {
		select {
		case chunk, ok := <-p.stdin:
			if !ok {
				return ignorePipe(in.Close())
			}
			_, err := in.Write(chunk)
			p.recycle(chunk)
			p.report.task.Alive()
			if err != nil {
				return ignorePipe(errors.Join(err, in.Close()))
			}
		case <-p.done:
			return ignorePipe(in.Close())
		}
	}
}

func ignorePipe(err error) error {
	if procs.Broken(err) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// drain reads what the command prints, in batches of whole lines.
func (p *process) drain(out io.ReadCloser) {
	defer close(p.stdout)
	defer out.Close()
	r := bufio.NewReaderSize(out, batchBytes)
	lines := make(batch, 0, batchBytes)
	for {
		line, err := r.ReadSlice('\n')
		lines = append(lines.room(len(line)), line...)
		full := err == bufio.ErrBufferFull //nolint:errorlint // once for every line, and ReadSlice returns it bare
		if full && len(lines) <= p.maxLine {
			continue
		}
		if len(lines) > 0 && !full && (err != nil || len(lines) >= batchBytes || r.Buffered() == 0) {
			if lines = p.hand(lines); lines == nil {
				return
			}
		}
		if err != nil {
			p.readErr = p.readError(err)
			return
		}
	}
}

// room makes sure that n more bytes fit. It frees the pages of a moved giant at once: until the garbage collector
// runs, the copies of one line would take twice its size.
func (b batch) room(n int) batch {
	if cap(b)-len(b) >= n {
		return b
	}
	more := make(batch, len(b), max(2*cap(b), len(b)+n))
	copy(more, b)
	pages.Drop(b)
	return more
}

// hand passes lines to the consumer and returns an empty batch, or nil if nobody wants more lines. After a giant it
// waits until that has been consumed, so that a process has only one at a time.
func (p *process) hand(lines batch) batch {
	select {
	case p.stdout <- lines:
	case <-p.done:
		return nil
	}
	if cap(lines) < pages.Large {
		select {
		case b := <-p.taken:
			return b[:0]
		default:
			return make(batch, 0, batchBytes)
		}
	}
	for {
		select {
		case b := <-p.taken:
			if cap(b) >= pages.Large {
				return b[:0]
			}
		case <-p.done:
			return nil
		}
	}
}

// readError returns what an error at the end of the output means. After a failure nobody reads on, so it ends the
// command.
func (p *process) readError(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	p.kill()
	if errors.Is(err, bufio.ErrBufferFull) {
		return fmt.Errorf("it printed a line of more than %d bytes, the largest record that the job takes (raise --max-record-bytes or --memory)", p.maxLine)
	}
	return err
}
