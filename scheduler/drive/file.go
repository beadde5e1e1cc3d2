package drive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/millrace/millrace/scheduler"
	"github.com/millrace/millrace/topology"
)

// FileVersion is the version of the decision log that is written; docs/formats/decisions.md describes it.
const FileVersion = 3

// A Header is the first line of a decision log: by which rules it was decided.
type Header struct {
	Version int              `json:"millrace_decisions"`
	State   scheduler.Config `json:"state"`
	Refill  bool             `json:"refill,omitempty"`
	Spread  bool             `json:"spread,omitempty"`
	// The rule of second attempts, under its name; neither: there are none.
	Late *LATE `json:"late,omitempty"`
	Lag  *Lag  `json:"lag,omitempty"`
	// Lost is how many lines before the first were forgotten: such a log cannot be replayed.
	Lost uint64 `json:"lost,omitempty"`
}

// HeaderOf returns the header of a log of rounds under cfg.
func HeaderOf(state scheduler.Config, cfg Config) Header {
	h := Header{Version: FileVersion, State: state, Refill: cfg.Refill, Spread: cfg.Spread}
	if cfg.Seconds != nil {
		cfg.Seconds.name(&h)
	}
	return h
}

// Config returns the rules of those rounds.
func (h *Header) Config() Config {
	c := Config{Refill: h.Refill, Spread: h.Spread}
	switch {
	case h.Late != nil:
		c.Seconds = *h.Late
	case h.Lag != nil:
		c.Seconds = *h.Lag
	}
	return c
}

// ErrFormat marks a file that is no decision log, or a damaged one.
var ErrFormat = errors.New("malformed decision log")

const (
	maxLine   = 64 << 20
	maxLines  = 20_000_000
	maxTasks  = 10_000_000 // of a kind, of a job
	maxPlaces = 1 << 20    // of a machine

	maxExpected = 100_000 // jobs of a plan
)

// step is a Step without its reason, which points into the state.
type step struct {
	Do       Do
	Locality scheduler.Locality `json:",omitempty"`
	Second   bool               `json:"Speculative,omitempty"` // as files have it
	Task     scheduler.TaskID
	Node     topology.NodeID
}

// written is a Line in the form of files, without steps that rest.
type written struct {
	Line
	Steps []step `json:",omitempty"`
}

// Encode returns a line as a file has it.
func Encode(l *Line) ([]byte, error) {
	w := written{Line: *l}
	for _, s := range l.Steps {
		if s.Do != Rest {
			w.Steps = append(w.Steps, step{s.Do, s.Locality, s.Second, s.Task, s.Node})
		}
	}
	return json.Marshal(w)
}

func decode(b []byte) (Line, error) {
	var w written
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return Line{}, err
	}
	l := w.Line
	for _, s := range w.Steps {
		l.Steps = append(l.Steps, Step{Do: s.Do, Locality: s.Locality, Second: s.Second, Task: s.Task, Node: s.Node})
	}
	return l, l.validate()
}

// validate refuses what no Loop writes.
func (l *Line) validate() error {
	e := &l.Event
	switch {
	case l.Kind > LineGate:
		return fmt.Errorf("a line of kind %d", l.Kind)
	case l.At < 0:
		return fmt.Errorf("a time of %d ns", int64(l.At))
	case l.Kind == LineEvent && e.String() == fmt.Sprintf("event(%d)", e.Kind):
		return fmt.Errorf("an event of kind %d", e.Kind)
	case e.Task.Kind >= scheduler.NumKinds || e.Locality > scheduler.Anywhere || e.Task.Index < 0:
		return fmt.Errorf("an event about task %+v", e.Task)
	case (e.Kind == scheduler.EvJobSubmitted) != (e.Spec != nil) && e.Kind != scheduler.EvJobReady:
		return fmt.Errorf("%v with a description, or without", e.Kind)
	case e.Spec != nil && max(e.Spec.Maps, e.Spec.Reduces) > maxTasks:
		return fmt.Errorf("%d maps and %d reduces: at most %d", e.Spec.Maps, e.Spec.Reduces, maxTasks)
	case max(e.Capacity.Containers, e.Capacity.MapSlots, e.Capacity.ReduceSlots, e.Capacity.VCores) > maxPlaces:
		return fmt.Errorf("a machine of %+v: at most %d places", e.Capacity, maxPlaces)
	case (e.Kind == scheduler.EvTaught) != (e.Lesson != nil):
		return fmt.Errorf("%v with a lesson, or without", e.Kind)
	case !(l.NIC >= 0) || !(l.Uplink >= 0):
		return fmt.Errorf("a machine with links of %v and %v", l.NIC, l.Uplink)
	case len(l.Expected) > maxExpected || slices.Contains(l.Expected, nil):
		return fmt.Errorf("%d jobs are expected: at most %d, and each with a description", len(l.Expected), maxExpected)
	}
	for _, s := range l.Expected {
		if s.Maps < 0 || s.Reduces < 0 || max(s.Maps, s.Reduces) > maxTasks {
			return fmt.Errorf("%d maps and %d reduces are expected: 0 to %d", s.Maps, s.Reduces, maxTasks)
		}
	}
	return nil
}

// ReadLog reads the header of a log and calls each with its lines in order; n is the line number, from 2. name is used
// in errors.
func ReadLog(r io.Reader, name string, each func(h *Header, n int, l *Line) error) (h Header, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	bad := func(n int, err error) error { return fmt.Errorf("%s:%d: %w: %w", name, n, ErrFormat, err) }
	n := 0
	for lines.Scan() {
		if n++; n == 1 {
			if h, err = readHeader(lines.Bytes()); err != nil {
				return h, bad(n, err)
			}
			continue
		}
		l, err := decode(lines.Bytes())
		if err == nil && n > maxLines {
			err = fmt.Errorf("more than %d lines", maxLines)
		}
		if err != nil {
			return h, bad(n, err)
		}
		if err := each(&h, n, &l); err != nil {
			return h, err
		}
	}
	if err := lines.Err(); err != nil {
		return h, bad(n+1, err)
	}
	if n == 0 {
		return h, bad(1, errors.New("the file is empty"))
	}
	return h, nil
}

func readHeader(b []byte) (h Header, err error) {
	if err := json.Unmarshal(b, &h); err != nil || h.Version == 0 {
		return h, errors.Join(errors.New(`the first line has no "millrace_decisions"`), err)
	}
	if h.Version < 1 || h.Version > FileVersion { // a later version only has more to say
		return h, fmt.Errorf("version %d, this program reads versions 1 to %d", h.Version, FileVersion)
	}
	if h.Late != nil && h.Lag != nil {
		return h, errors.New("late and lag: second attempts go by one rule")
	}
	if rule := h.Config().Seconds; rule != nil {
		return h, rule.Validate()
	}
	return h, nil
}
