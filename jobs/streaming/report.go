package streaming

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/millrace/millrace/mapreduce"
)

// reporter reads a command's standard error.
type reporter struct {
	task *mapreduce.Task
	stop func() // ends the command after its attempt has failed

	mu      sync.Mutex // guards the fields below
	last    []byte     // the end of the log
	refused error      // the first invalid counter
}

const (
	maxReportLine = 8 << 10
	keepLog       = 4 << 10
)

// Prefixes of the lines by which a command reports.
const (
	statusWord  = "reporter:status:"
	counterWord = "reporter:counter:"
)

// read handles lines until the end. It handles a line that is too long in pieces, but refuses it if it is a counter.
func (r *reporter) read(in io.ReadCloser) {
	defer in.Close()
	br := bufio.NewReaderSize(in, maxReportLine)
	for {
		line, err := br.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if full && strings.HasPrefix(string(line), counterWord) {
			r.refuse(fmt.Errorf("the counter %.60q has a line of more than %d bytes", line[len(counterWord):], maxReportLine))
		}
		if len(line) > 0 {
			r.line(line)
		}
		if err != nil && !full {
			return
		}
	}
}

func (r *reporter) line(line []byte) {
	text := strings.TrimRight(string(line), "\r\n")
	if rest, ok := strings.CutPrefix(text, statusWord); ok {
		r.task.SetStatus(rest)
		return
	}
	if rest, ok := strings.CutPrefix(text, counterWord); ok && r.count(rest) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = append(r.last, line...)
	if n := len(r.last); n > 2*keepLog { // not for every line of a flood
		r.last = append(r.last[:0], r.last[n-keepLog:]...)
	}
}

// count parses "group,name,n". Any other line is log. A counter that is not allowed fails the attempt.
func (r *reporter) count(s string) bool {
	parts := strings.Split(s, ",")
	if len(parts) != 3 {
		return false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(parts[2]), 10, 64)
	if err != nil {
		return false
	}
	c, err := r.task.TryCounter(parts[0], parts[1])
	if err != nil {
		r.refuse(err)
		return false
	}
	c.Add(n)
	return true
}

// refuse ends a command that uses a forbidden counter. Otherwise its numbers would be missed too late.
func (r *reporter) refuse(why error) {
	r.mu.Lock()
	first := r.refused == nil
	if first {
		r.refused = why
	}
	r.mu.Unlock()
	if first {
		r.stop()
	}
}

// failure returns why the command was ended, if it was.
func (r *reporter) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// tail returns the end of the log, for the end of an error message.
func (r *reporter) tail() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) == 0 {
		return ""
	}
	last := r.last[max(0, len(r.last)-keepLog):]
	return "; its standard error ends:\n" + strings.TrimRight(string(last), "\n")
}
