package streaming

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/millrace/millrace/mapreduce"
)

// reporter reads a command's standard error.
type reporter struct {
	task *mapreduce.Task

	mu   sync.Mutex
	last []byte // the end of the log
}

const (
	maxReportLine = 8 << 10
	keepLog       = 4 << 10
)

// read handles lines until the end. Lines that are too long are handled in pieces.
func (r *reporter) read(in io.ReadCloser) {
	defer in.Close()
	br := bufio.NewReaderSize(in, maxReportLine)
	for {
		line, err := br.ReadSlice('\n')
		if len(line) > 0 {
			r.line(line)
		}
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
	}
}

func (r *reporter) line(line []byte) {
	text := strings.TrimRight(string(line), "\r\n")
	if rest, ok := strings.CutPrefix(text, "reporter:status:"); ok {
		r.task.SetStatus(rest)
		return
	}
	if rest, ok := strings.CutPrefix(text, "reporter:counter:"); ok && r.count(rest) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = append(r.last, line...)
	if n := len(r.last); n > 2*keepLog { // not at every line of a flood
		r.last = append(r.last[:0], r.last[n-keepLog:]...)
	}
}

// count parses "group,name,n". A line that is none of these, or whose counter is one
// too many, is log.
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
		return false
	}
	c.Add(n)
	return true
}

// tail returns the end of the log as the end of an error message.
func (r *reporter) tail() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.last) == 0 {
		return ""
	}
	last := r.last[max(0, len(r.last)-keepLog):]
	return "; its standard error ends:\n" + strings.TrimRight(string(last), "\n")
}
