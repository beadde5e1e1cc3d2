package streaming

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// feed writes chunks to the command. A command may end without reading all of its
// input (head does): that is no error.
func (p *process) feed(in io.WriteCloser) error {
	for {
		select {
		case chunk, ok := <-p.stdin:
			if !ok {
				return ignorePipe(in.Close())
			}
			_, err := in.Write(chunk)
			p.recycle(chunk)
			if err != nil {
				return ignorePipe(errors.Join(err, in.Close()))
			}
		case <-p.done:
			return ignorePipe(in.Close())
		}
	}
}

func ignorePipe(err error) error {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// drain reads what the command prints, in batches of whole lines.
func (p *process) drain(out io.ReadCloser) {
	defer close(p.stdout)
	defer out.Close()
	r := bufio.NewReaderSize(out, batchBytes)
	var lines batch
	for {
		line, err := r.ReadSlice('\n')
		lines = append(lines, line...)
		if err == bufio.ErrBufferFull && len(lines) <= p.maxLine {
			continue
		}
		if len(lines) > 0 && err != bufio.ErrBufferFull && (err != nil || len(lines) >= batchBytes || r.Buffered() == 0) {
			select {
			case p.stdout <- lines:
			case <-p.done:
				return
			}
			lines = make(batch, 0, batchBytes)
		}
		if err != nil {
			p.readErr = p.readError(err)
			return
		}
	}
}

// readError is what the end of the output means. After an error nobody reads on,
// so that the command has to end.
func (p *process) readError(err error) error {
	if err == io.EOF {
		return nil
	}
	p.kill()
	if err == bufio.ErrBufferFull {
		return fmt.Errorf("it printed a line of more than %d bytes, the largest record that the job takes (raise --max-record-bytes or --memory)", p.maxLine)
	}
	return err
}
