// Package audit records who did what at a daemon, from where, and whether that was allowed. The records are lines of
// JSON in a file that is only appended to, and replaced when it is full. [rpc.ServerConfig] calls a [Log] with the
// requests of callers. Whoever opens it names the calls that are recorded even if they are allowed.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// How much is kept: that many files of that many bytes.
const (
	maxBytes = 16 << 20
	maxFiles = 5
)

// No caller may push out the record of earlier actions by repeating others. So at most maxFailed of one caller's
// calls that changed nothing are written in a second, and all lines of one caller take at most maxOwn bytes in an
// hour. Exempt are submitting and killing jobs, whose number has a limit of its own, and administrators. Unwritten
// calls are counted.
const (
	maxFailed = 10
	maxOwn    = 4 << 20
)

// An Entry is a line of the audit log: who did what, from where, and whether that was allowed.
type Entry struct {
	At      time.Time `json:"at"`
	User    string    `json:"user,omitempty"`
	Admin   bool      `json:"admin,omitempty"`
	Node    string    `json:"node,omitempty"`
	Job     string    `json:"job,omitempty"` // the job of a calling task
	From    string    `json:"from,omitempty"`
	Call    string    `json:"call"`
	What    string    `json:"what,omitempty"`
	Allowed bool      `json:"allowed"`
	Error   string    `json:"error,omitempty"`
	// Unwritten is how many calls of this caller were not written since the last line.
	Unwritten int `json:"unwritten,omitempty"`
}

// A Log is lines of JSON that are only appended, in path and, older, path.1 and so on.
type Log struct {
	path  string
	named []string // calls that are written even if they are allowed
	bytes int64    // of a file
	own   float64  // bytes per hour for one caller
	log   *slog.Logger

	mu      sync.Mutex // guards the fields below
	closed  bool
	f       *os.File // nil: it could not be opened
	size    int64
	second  int64          // in which failures are counted
	failed  map[string]int // by caller, in this second
	spent   map[string]spent
	missing map[string]int // calls that were not written
}

// spent is how many bytes a caller's lines have used, less what has been credited since.
type spent struct {
	bytes float64
	at    time.Time
}

// Open opens a log, or continues an existing one. Calls that are not in named are written only if they were refused.
func Open(path string, named []string, log *slog.Logger) (*Log, error) {
	a := &Log{path: path, named: named, bytes: maxBytes, own: maxOwn, log: log, failed: map[string]int{}, spent: map[string]spent{}, missing: map[string]int{}}
	return a, a.open()
}

func (a *Log) open() error {
	f, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(err, f.Close())
	}
	a.f, a.size = f, info.Size()
	return nil
}

// Audited reports whether a call is written even if it is allowed.
func (a *Log) Audited(method string) bool { return slices.Contains(a.named, method) }

// Called records a call. One that cannot be written goes to the daemon's own log: the cluster must continue.
func (a *Log) Called(c rpc.Caller, method string, req any, err error) {
	refused := err != nil && (wire.KindOf(err) == wire.Denied || wire.KindOf(err) == wire.Quota)
	if !refused && !a.Audited(method) {
		return
	}
	e := Entry{
		At: time.Now().UTC(), User: c.User, Admin: c.Admin, Node: c.Node, Job: c.Job, From: c.Addr, Call: method,
		What: wire.Clip(target(req), wire.MaxReason), Allowed: !refused,
	}
	if err != nil {
		e.Error = wire.Clip(err.Error(), wire.MaxReason)
	}
	if werr := a.write(&e); werr != nil {
		a.log.Error("the audit log cannot be written", "error", werr, "user", e.User, "call", e.Call, "what", e.What, "allowed", e.Allowed)
	}
}

// target returns what a call was about.
func target(req any) string {
	switch r := req.(type) {
	case wire.JobSpec:
		return fmt.Sprintf("%s: %s, output %s", r.Name, r.Program.Builtin+r.Program.Exe, r.Output)
	case wire.JobRequest:
		return string(r.Job)
	case wire.LogRequest:
		return r.ID.String()
	case wire.DrainRequest:
		return fmt.Sprintf("%s, undo %v", r.Node, r.Undo)
	case wire.Choice:
		return r.Name
	case nil:
		return ""
	}
	b, err := json.Marshal(req)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (a *Log) write(e *Entry) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return fs.ErrClosed
	}
	if a.f == nil { // for example, the process had too many files open
		if err := a.open(); err != nil {
			return err
		}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if !a.due(e, len(line)) {
		return nil
	}
	if e.Unwritten > 0 {
		if line, err = json.Marshal(e); err != nil {
			return err
		}
	}
	if a.size > 0 && a.size+int64(len(line)) >= a.bytes {
		if err := a.rotate(); err != nil {
			return err
		}
	}
	n, err := a.f.Write(append(line, '\n'))
	a.size += int64(n)
	return err
}

// due reports whether a line may be written. It adds to the line how many were not.
func (a *Log) due(e *Entry, bytes int) bool {
	if now := e.At.Unix(); now != a.second || len(a.failed) > 1000 {
		a.second = now
		clear(a.failed)
	}
	for _, m := range []int{len(a.missing), len(a.spent)} {
		if m > 1000 {
			clear(a.missing)
			clear(a.spent)
		}
	}
	who := e.User
	if who == "" {
		who = "\x00" + e.Node + "\x00" + e.Job
	}
	if !a.affords(who, e, bytes) {
		a.missing[who]++
		return false
	}
	e.Unwritten = a.missing[who]
	delete(a.missing, who)
	return true
}

// affords reports whether a caller may write one more line.
func (a *Log) affords(who string, e *Entry, bytes int) bool {
	if e.Error != "" {
		if a.failed[who]++; a.failed[who] > maxFailed {
			return false
		}
	}
	if e.Admin || e.Error == "" && strings.HasPrefix(e.Call, "job.") {
		return true
	}
	s := a.spent[who]
	s.bytes = max(0, s.bytes-a.own*e.At.Sub(s.at).Hours()) + float64(bytes)
	s.at = e.At
	if s.bytes > a.own {
		return false
	}
	a.spent[who] = s
	return true
}

// rotate begins a new file and drops the oldest.
func (a *Log) rotate() error {
	f := a.f
	a.f = nil
	if err := f.Close(); err != nil {
		return err
	}
	for i := maxFiles - 1; i > 0; i-- {
		from := a.path
		if i > 1 {
			from = fmt.Sprintf("%s.%d", a.path, i-1)
		}
		if err := os.Rename(from, fmt.Sprintf("%s.%d", a.path, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, a.open())
		}
	}
	return a.open()
}

// Close closes the log. It may be called twice, and on nil.
func (a *Log) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	if a.f == nil {
		return nil
	}
	f := a.f
	a.f = nil
	return f.Close()
}
