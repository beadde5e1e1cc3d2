package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxAttempts bounds what a history may hold.
const maxAttempts = 500_000_000

// historyLine is a line of the file; exactly one of its parts is there.
type historyLine struct {
	Version *int         `json:"millrace_history,omitempty"`
	Origin  *Origin      `json:"origin,omitempty"`
	Job     *PastJob     `json:"job,omitempty"`
	Attempt *PastAttempt `json:"attempt,omitempty"`
}

// WriteHistory writes a history: a line with the version, then a line for each job in
// order of submission, then one for each attempt in order of its end.
func WriteHistory(w io.Writer, h *History) error {
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	version := HistoryVersion
	if err := e.Encode(historyLine{Version: &version, Origin: &h.Origin}); err != nil {
		return err
	}
	h.sort()
	for i := range h.Jobs {
		if err := h.Jobs[i].validate(); err != nil {
			return fmt.Errorf("write history: %w", err)
		}
		if err := e.Encode(historyLine{Job: &h.Jobs[i]}); err != nil {
			return err
		}
	}
	for i := range h.Attempts {
		if err := e.Encode(historyLine{Attempt: &h.Attempts[i]}); err != nil {
			return err
		}
	}
	return b.Flush()
}

// ReadHistory reads a whole history. name is used in errors. Lines may come in any order
// after the first.
func ReadHistory(r io.Reader, name string) (*History, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	h := &reading{History: &History{}, ids: map[string]*PastJob{}}
	n := 0
	for lines.Scan() {
		n++
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := h.line(lines.Bytes()); err != nil {
			return nil, fmt.Errorf("%s:%d: %w: %w", name, n, ErrFormat, err)
		}
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("%s:%d: %w: the line is longer than %d bytes", name, n+1, ErrFormat, maxLine)
		}
		return nil, fmt.Errorf("%s: read: %w", name, err)
	}
	if err := h.complete(); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", name, ErrFormat, err)
	}
	h.sort()
	return h.History, nil
}

// reading is a history that is being read.
type reading struct {
	*History
	begun bool
	ids   map[string]*PastJob
}

func (h *reading) line(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var l historyLine
	if err := d.Decode(&l); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	if !h.begun {
		return h.first(l)
	}
	switch {
	case l.Version != nil || l.Origin != nil:
		return errors.New("the header line stands twice")
	case l.Job != nil && l.Attempt == nil:
		return h.job(*l.Job)
	case l.Attempt != nil && l.Job == nil:
		return h.attempt(*l.Attempt)
	}
	return errors.New(`the line holds neither one "job" nor one "attempt"`)
}

func (h *reading) first(l historyLine) error {
	switch {
	case l.Version == nil:
		return errors.New(`the first line has no "millrace_history": this is no history`)
	case *l.Version < 1 || *l.Version > HistoryVersion:
		return fmt.Errorf("version %d, this program reads versions 1 to %d", *l.Version, HistoryVersion)
	case l.Job != nil || l.Attempt != nil:
		return errors.New("the first line holds a job or an attempt")
	}
	h.begun = true
	if l.Origin != nil {
		h.Origin = *l.Origin
		return h.Origin.validate()
	}
	return nil
}

func (h *reading) job(j PastJob) error {
	if err := j.validate(); err != nil {
		return err
	}
	if h.ids[j.ID] != nil {
		return fmt.Errorf("a second job %q", j.ID)
	}
	if len(h.Jobs) >= maxJobs {
		return fmt.Errorf("more than %d jobs", maxJobs)
	}
	h.Jobs = append(h.Jobs, j)
	h.ids[j.ID] = &j
	return nil
}

func (h *reading) attempt(a PastAttempt) error {
	if err := a.validate(); err != nil {
		return err
	}
	if len(h.Attempts) >= maxAttempts {
		return fmt.Errorf("more than %d attempts", maxAttempts)
	}
	h.Attempts = append(h.Attempts, a)
	return nil
}

// complete checks what only the whole history shows.
func (h *reading) complete() error {
	if len(h.Jobs) == 0 {
		return errors.New("the history has no jobs")
	}
	for i := range h.Attempts {
		a := &h.Attempts[i]
		j := h.ids[a.Job]
		if j == nil {
			return fmt.Errorf("an attempt belongs to job %q, which is not in it", a.Job)
		}
		if a.Kind == "map" && a.Index >= j.Maps || a.Kind == "reduce" && a.Index >= j.Reduces {
			return fmt.Errorf("job %q has %d maps and %d reduces, but an attempt of %s %d", j.ID, j.Maps, j.Reduces, a.Kind, a.Index)
		}
	}
	return nil
}

// ReadOrigin reads where a history comes from, without reading the rest. It returns false for anything that is not a
// history.
func ReadOrigin(r io.Reader) (Origin, bool) {
	line, err := bufio.NewReader(io.LimitReader(r, maxLine)).ReadBytes('\n')
	var head historyLine
	if err != nil || json.Unmarshal(line, &head) != nil || head.Version == nil || head.Origin == nil {
		return Origin{}, false
	}
	return *head.Origin, true
}
