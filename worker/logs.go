package worker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/wire"
)

// A logStore keeps what attempts print. A directory for each job has a file for each attempt with a process of
// its own, and one file for all attempts in this process, which log only when they began and how they ended.
type logStore struct {
	root *os.Root

	mu     sync.Mutex // guards the fields below
	inside map[wire.JobID]*insideLog
}

// An insideLog has a line for each message, which begins with the attempt's number.
type insideLog struct {
	f    *os.File
	size int64
}

const (
	insideName = "inside.log"
	maxInside  = 16 << 20 // bytes; later messages of a job's attempts are dropped
	maxOpen    = 256      // files; there are rarely as many jobs at a time
)

func openLogs(dir string) (*logStore, error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &logStore{root: root, inside: map[wire.JobID]*insideLog{}}, nil
}

var jobName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^job-[0-9]{1,18}$`) })

// checkID keeps names from outside from being used as paths.
func checkID(id wire.AttemptID) error {
	kind := id.Kind == wire.MapTask || id.Kind == wire.ReduceTask || id.Kind == wire.DriverTask
	if !jobName().MatchString(string(id.Job)) || !kind || id.Index < 0 {
		return wire.Errorf(wire.Invalid, "%q is no attempt", id)
	}
	return nil
}

func logName(id wire.AttemptID) string {
	return filepath.Join(string(id.Job), fmt.Sprintf("%s-%05d-%d.log", id.Kind, id.Index, id.Try))
}

// create begins the log of an attempt with a process of its own.
func (s *logStore) create(id wire.AttemptID) (*cappedLog, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := s.root.MkdirAll(string(id.Job), 0o700); err != nil {
		return nil, err
	}
	f, err := s.root.OpenFile(logName(id), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &cappedLog{f: f}, nil
}

// began and ended log what the worker knows about an attempt. No attempt fails because of its log.
func (s *logStore) began(l *wire.Launch) {
	if l.Spec.Program.Exe == "" {
		s.say(l.ID, fmt.Sprintf("%s %s %d began, try %d", stamp(), l.ID.Kind, l.ID.Index, l.Number+1))
	}
}

func (s *logStore) ended(l *wire.Launch, e *wire.Ended) {
	text := fmt.Sprintf("%s %s %d is done after %d ms: %d bytes in, %d out", stamp(), e.ID.Kind, e.ID.Index, e.Millis, e.InBytes, e.OutBytes)
	if !e.OK {
		how := "failed"
		if e.Lost {
			how = "was lost or stopped"
		}
		text = fmt.Sprintf("%s %s %d %s after %d ms: %s", stamp(), e.ID.Kind, e.ID.Index, how, e.Millis, e.Error)
	}
	if l.Spec.Program.Exe == "" {
		s.say(e.ID, text)
		return
	}
	if checkID(e.ID) != nil {
		return
	}
	f, err := s.root.OpenFile(logName(e.ID), os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // it never had a log
	}
	defer f.Close()
	_, _ = f.WriteString(text + "\n")
}

func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

// say appends to the file of a job's attempts in this process.
func (s *logStore) say(id wire.AttemptID, text string) {
	if checkID(id) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.insideOf(id.Job)
	if l == nil || l.size > maxInside {
		return
	}
	prefix := strconv.FormatUint(id.Try, 10) + " "
	var b []byte
	for line := range bytes.SplitSeq([]byte(text), []byte("\n")) {
		b = append(append(append(b, prefix...), line...), '\n')
	}
	n, _ := l.f.Write(b) // a full disk costs only the log
	l.size += int64(n)
}

// insideOf opens the file of a job, or returns nil if that fails.
func (s *logStore) insideOf(job wire.JobID) *insideLog {
	if l := s.inside[job]; l != nil {
		return l
	}
	if len(s.inside) >= maxOpen {
		s.closeAll()
	}
	if s.root.MkdirAll(string(job), 0o700) != nil {
		return nil
	}
	f, err := s.root.OpenFile(filepath.Join(string(job), insideName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil
	}
	l := &insideLog{f: f}
	if info, err := f.Stat(); err == nil {
		l.size = info.Size()
	}
	s.inside[job] = l
	return l
}

func (s *logStore) closeAll() {
	for job, l := range s.inside {
		l.f.Close()
		delete(s.inside, job)
	}
}

// rest closes a job's open log: little more will follow.
func (s *logStore) rest(job wire.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.inside[job]; l != nil {
		l.f.Close()
		delete(s.inside, job)
	}
}

func (s *logStore) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeAll()
	return s.root.Close()
}

// maxPiece is the most of a log in one answer.
const maxPiece = 1 << 20

// read returns a piece of an attempt's log.
func (s *logStore) read(r wire.LogRequest) (out wire.Log, err error) {
	if err := checkID(r.ID); err != nil {
		return out, err
	}
	f, err := s.root.Open(logName(r.ID))
	if errors.Is(err, fs.ErrNotExist) {
		return s.readInside(r)
	}
	if err != nil {
		return out, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return out, err
	}
	return piece(f, info.Size(), r)
}

// readInside returns the lines of one attempt.
func (s *logStore) readInside(r wire.LogRequest) (out wire.Log, err error) {
	f, err := s.root.Open(filepath.Join(string(r.ID.Job), insideName))
	var text []byte
	if err == nil {
		defer f.Close()
		var all []byte
		if all, err = io.ReadAll(io.LimitReader(f, 2*maxInside)); err != nil {
			return out, err
		}
		prefix := []byte(strconv.FormatUint(r.ID.Try, 10) + " ")
		for line := range bytes.Lines(all) {
			if mine, ok := bytes.CutPrefix(line, prefix); ok {
				text = append(text, mine...)
			}
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}
	if len(text) == 0 {
		return out, wire.Errorf(wire.NotFound, "there is no log of %s %d of %s here: it is too old, or the attempt never began", r.ID.Kind, r.ID.Index, r.ID.Job)
	}
	return piece(bytes.NewReader(text), int64(len(text)), r)
}

// piece returns the requested part of a log.
func piece(f io.ReaderAt, size int64, r wire.LogRequest) (out wire.Log, err error) {
	from := min(max(r.From, 0), size)
	if r.Tail > 0 && r.From <= 0 {
		from = max(0, size-r.Tail)
	}
	out.Text = make([]byte, min(size-from, maxPiece))
	n, err := f.ReadAt(out.Text, from)
	if err != nil && err != io.EOF {
		return wire.Log{}, err
	}
	out.Text = out.Text[:n]
	out.Next = from + int64(n)
	out.More = out.Next < size
	return out, nil
}
