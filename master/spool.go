package master

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"sort"
	"sync"

	"github.com/klauspost/compress/s2"

	"github.com/millrace/millrace/internal/wire"
	"github.com/millrace/millrace/master/tracker"
)

// maxQueued is how many pages may wait for a slow disk. Each is an eighth of what the tracker remembers.
const maxQueued = 8

// A spool keeps on disk what the tracker's memory of the decision log has no space for: a log replays only from its
// first line. It takes pages from the loop without blocking it and writes in another goroutine. If it cannot keep a
// page, it forgets that page and all before it.
type spool struct {
	file *os.File
	most int64 // the largest size of the file
	log  *slog.Logger
	poke chan struct{} // there is something in queue

	mu     sync.Mutex // guards what follows
	queue  []tracker.Page
	blocks []block // by their first line, without a gap; the queue goes on where they end
	size   int64   // of the file
	first  uint64  // the oldest line that is kept
}

// A block is a compressed run of lines in the file.
type block struct {
	first, next uint64
	at          int64
	bytes       int
}

// openSpool begins a new file: each start of a master has its own log.
func openSpool(name string, most int64, log *slog.Logger) (*spool, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &spool{file: f, most: most, log: log, poke: make(chan struct{}, 1)}, nil
}

// take queues lines that the tracker forgets, in order.
func (s *spool) take(p tracker.Page) {
	s.mu.Lock()
	if len(s.queue) == maxQueued {
		s.forget(p.First)
	}
	s.queue = append(s.queue, p)
	s.mu.Unlock()
	select {
	case s.poke <- struct{}{}:
	default: // run has been told
	}
}

// forget drops the lines before next and starts the file afresh. The caller holds mu.
func (s *spool) forget(next uint64) {
	s.blocks, s.size, s.first = nil, 0, next
	for len(s.queue) > 0 && s.queue[0].First < next {
		s.queue = s.queue[1:]
	}
}

// run writes queued pages until stop is closed.
func (s *spool) run(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-s.poke:
		}
		for s.next(stop) {
		}
	}
}

// next writes the first page of the queue. It returns false if there is none.
func (s *spool) next(stop <-chan struct{}) bool {
	s.mu.Lock()
	if len(s.queue) == 0 {
		s.mu.Unlock()
		return false
	}
	p := s.queue[0]
	s.mu.Unlock()
	end := p.First + uint64(len(p.Lines))
	for p.First < end {
		select {
		case <-stop:
			return false
		default:
		}
		lines, err := p.Encode()
		if err == nil {
			err = s.write(p.First, &lines)
		}
		if err != nil {
			s.log.Warn("the decision log cannot be kept on disk; what it had is forgotten", "error", err)
			s.mu.Lock()
			s.forget(max(s.first, end))
			s.mu.Unlock()
			return true
		}
		p.Lines, p.First = p.Lines[lines.Next-p.First:], lines.Next
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 && s.queue[0].First < end { // not forgotten meanwhile
		s.queue = s.queue[1:]
	}
	return true
}

// write appends lines to the file. A full file starts afresh.
func (s *spool) write(first uint64, lines *wire.DecisionLines) error {
	data := s2.Encode(nil, joinLines(lines.Lines))
	s.mu.Lock()
	if s.size+int64(len(data)) > s.most && first >= s.first {
		s.blocks, s.size, s.first = nil, 0, first
		s.log.Warn("the decision log has no more place on disk; what it had is forgotten", "bytes", s.most)
	}
	at := s.size
	s.mu.Unlock()
	if _, err := s.file.WriteAt(data, at); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first >= s.first { // not forgotten meanwhile
		s.blocks = append(s.blocks, block{first, lines.Next, at, len(data)})
		s.size += int64(len(data))
	}
	return nil
}

func joinLines(lines []json.RawMessage) (out []byte) {
	for _, l := range lines {
		out = append(append(out, l...), '\n')
	}
	return out
}

// read returns lines from the number from on, or from the oldest that is kept, and the number of the first. It returns
// false if there are none before end.
func (s *spool) read(from, end uint64) (lines wire.DecisionLines, first uint64, ok bool, err error) {
	b, p := s.find(from)
	first = max(b.first, p.First, from)
	switch {
	case first >= end:
		return lines, 0, false, nil
	case len(p.Lines) > 0:
		p.Lines = p.Lines[first-p.First:]
		p.First = first
		lines, err = p.Encode()
	default:
		lines, err = s.load(b, first)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first < s.first { // another block may be in its place
		err = wire.Errorf(wire.Unavailable, "the master forgot lines of the decision log while they were read: try again")
	}
	lines.More = true
	return lines, first, true, err
}

// find returns the block or the page that has a line, or the first one after it.
func (s *spool) find(from uint64) (block, tracker.Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := sort.Search(len(s.blocks), func(i int) bool { return from < s.blocks[i].next }); i < len(s.blocks) {
		return s.blocks[i], tracker.Page{}
	}
	for _, p := range s.queue {
		if from < p.First+uint64(len(p.Lines)) {
			return block{}, p
		}
	}
	return block{first: math.MaxUint64}, tracker.Page{}
}

// load reads the lines of a block, starting at line from.
func (s *spool) load(b block, from uint64) (out wire.DecisionLines, err error) {
	data := make([]byte, b.bytes)
	if _, err := s.file.ReadAt(data, b.at); err != nil {
		return out, err
	}
	text, err := s2.Decode(nil, data)
	if err != nil {
		return out, fmt.Errorf("%s: %w", s.file.Name(), err)
	}
	n := b.first
	for l := range bytes.Lines(text) {
		if n++; n > from {
			out.Lines = append(out.Lines, bytes.TrimSuffix(l, []byte{'\n'}))
		}
	}
	out.Next = b.next
	return out, nil
}

// Close removes the file: the next start has a log of its own. run must have ended.
func (s *spool) Close() error {
	if s == nil {
		return nil
	}
	err := s.file.Close()
	if gone := os.Remove(s.file.Name()); !errors.Is(gone, fs.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
