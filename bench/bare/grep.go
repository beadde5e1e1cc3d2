package bare

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/millrace/millrace/internal/find"
)

// Grep writes the lines of the file in that contain pattern, a fixed string, in
// the order of the input, each ended by a newline. An empty pattern is in every
// line; a pattern with a newline is refused.
func Grep(in, out, pattern string, procs int) error {
	if bytes.IndexByte([]byte(pattern), '\n') >= 0 {
		return errors.New("grep: pattern holds a newline")
	}
	f, size, err := openInput(in)
	if err != nil {
		return err
	}
	defer f.Close()
	c := &chunker{file: f, size: size, isBreak: func(b byte) bool { return b == '\n' }}
	sample, err := c.fill(nil, 0, min(size, find.SampleBytes))
	if err != nil {
		return fmt.Errorf("grep: %w", err)
	}
	finder := find.New([]byte(pattern), sample)
	return writeOutput(out, func(f *os.File) error { return grepChunks(c, f, finder, max(1, procs)) })
}

// grepChunks deals the chunks out to the goroutines in turn and takes the
// matches back in the same turn, so that they are written in order and no
// goroutine runs far ahead.
func grepChunks(c *chunker, out *os.File, finder *find.Finder, procs int) error {
	results := make([]chan []byte, procs)
	done := make(chan struct{}) // closed when nobody will take any more
	var group errgroup.Group
	for i := range results {
		results[i] = make(chan []byte, 4)
		group.Go(func() error {
			defer close(results[i])
			return grepEvery(c, finder, int64(i), int64(procs), results[i], done)
		})
	}
	err := writeInTurn(out, results, c.chunks())
	close(done)
	return errors.Join(err, group.Wait())
}

// grepEvery sends the matches of chunks first, first+step, first+2*step ...
func grepEvery(c *chunker, finder *find.Finder, first, step int64, results chan<- []byte, done <-chan struct{}) error {
	var memory, text []byte
	var err error
	for i := first; i < c.chunks(); i += step {
		if text, memory, err = c.read(i, memory); err != nil {
			return err
		}
		select {
		case results <- lines(nil, text, finder):
		case <-done:
			return nil
		}
	}
	return nil
}

// writeInTurn ends early, without an error, if a goroutine has ended early: that
// one has the error.
func writeInTurn(out *os.File, results []chan []byte, chunks int64) error {
	for i := range chunks {
		lines, ok := <-results[i%int64(len(results))]
		if !ok {
			return nil
		}
		if len(lines) == 0 {
			continue
		}
		if _, err := out.Write(lines); err != nil {
			return fmt.Errorf("grep: %w", err)
		}
	}
	return nil
}
