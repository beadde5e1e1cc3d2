package worker

import (
	"fmt"
	"os"
	"sync"
)

// A cappedLog keeps the beginning and the end of an attempt's output: a flood of it fills no disk.
type cappedLog struct {
	mu      sync.Mutex // guards the fields below
	f       *os.File
	written int64
	dropped int64
	end     []byte // the last bytes
}

const (
	logHead = 1 << 20
	logTail = 64 << 10
)

// Write never fails: an attempt must not die of its log.
func (l *cappedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	head := min(int64(len(p)), logHead-l.written)
	if head > 0 {
		_, _ = l.f.Write(p[:head]) // if the disk is full, continue without
		l.written += head
	}
	l.dropped += int64(len(p)) - head
	l.end = append(l.end, p...)
	if len(l.end) > 2*logTail {
		l.end = append([]byte(nil), l.end[len(l.end)-logTail:]...)
	}
	return len(p), nil
}

// tail returns the end of the output.
func (l *cappedLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.end[max(0, len(l.end)-4096):])
}

// Close writes the end after the beginning, if something in between was left out.
func (l *cappedLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	if l.dropped > 0 {
		end := l.end[int64(len(l.end))-min(l.dropped, logTail):]
		if left := l.dropped - int64(len(end)); left > 0 {
			fmt.Fprintf(l.f, "\n... %d bytes left out ...\n", left)
		}
		_, _ = l.f.Write(end) // likewise
	}
	err := l.f.Close()
	l.f = nil
	return err
}
