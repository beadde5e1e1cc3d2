// Package audit keeps who did what at a daemon, from where, and whether that was allowed: lines of JSON in a file that is only
// ever appended to, and replaced when it is full. A [Log] is what [rpc.ServerConfig] calls with what callers ask for; whoever
// opens it names the calls that are written also where they are allowed.
package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/millrace/millrace/internal/rpc"
	"github.com/millrace/millrace/internal/wire"
)

// How much is kept of what callers did: so many files of so many bytes.
const (
	maxBytes = 16 << 20
	maxFiles = 5
)

// maxRefused is how many refusals of one caller are written in a second; the rest are counted, or whoever is refused often enough
// could push out what they did before.
const maxRefused = 10

// An Entry is a line of the audit log: who did what, from where, and whether that was allowed.
type Entry struct {
	At      time.Time `json:"at"`
	User    string    `json:"user,omitempty"`
	Admin   bool      `json:"admin,omitempty"`
	Node    string    `json:"node,omitempty"`
	Job     string    `json:"job,omitempty"` // whose task it is
	From    string    `json:"from,omitempty"`
	Call    string    `json:"call"`
	What    string    `json:"what,omitempty"`
	Allowed bool      `json:"allowed"`
	Error   string    `json:"error,omitempty"`
	// Refused is how many refusals of this caller were not written since the last line.
	Refused int `json:"refused,omitempty"`
}

// A Log is lines of JSON that are only ever appended, in path and, older, path.1 and so on.
type Log struct {
	path  string
	named []string // calls that are written also where they are allowed
	bytes int64    // of a file
	log   *slog.Logger

	mu      sync.Mutex // guards the fields below
	f       *os.File
	size    int64
	second  int64          // whose refusals are counted
	refused map[string]int // by caller, in this second
	missing map[string]int // that were not written
}

// Open opens a log, or goes on with the one that is there. Of the calls that are not named those that were refused are written.
func Open(path string, named []string, log *slog.Logger) (*Log, error) {
	a := &Log{path: path, named: named, bytes: maxBytes, log: log, refused: map[string]int{}, missing: map[string]int{}}
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

// Audited reports whether a call is written also where it is allowed.
func (a *Log) Audited(method string) bool { return slices.Contains(a.named, method) }

// Called takes in a call. What cannot be written is in the daemon's own log: the cluster goes on.
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

// target is what a call was about.
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
	if a.f == nil {
		return fs.ErrClosed
	}
	if !a.due(e) {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
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

// due is false for a refusal too many.
func (a *Log) due(e *Entry) bool {
	if now := e.At.Unix(); now != a.second || len(a.refused) > 1000 {
		a.second = now
		clear(a.refused)
		if len(a.missing) > 1000 {
			clear(a.missing)
		}
	}
	who := e.User + "\x00" + e.Node + "\x00" + e.Job
	if !e.Allowed {
		if a.refused[who]++; a.refused[who] > maxRefused {
			a.missing[who]++
			return false
		}
	}
	e.Refused = a.missing[who]
	delete(a.missing, who)
	return true
}

// rotate begins a new file and drops the oldest.
func (a *Log) rotate() error {
	if err := a.f.Close(); err != nil {
		return err
	}
	a.f = nil
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

// Close ends the log. It may be called twice, and of no log.
func (a *Log) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.f == nil {
		return nil
	}
	f := a.f
	a.f = nil
	return f.Close()
}
