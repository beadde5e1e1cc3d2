package formats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/millrace/millrace/trace"
)

// maxPiece bounds a line, and an object of JSON.
const maxPiece = 64 << 20

// reader reads a file piece by piece and knows the line for errors.
type reader struct {
	in    *bufio.Reader
	name  string
	file  int // its number, from 0
	line  int
	build *trace.Builder
}

// lines calls each for every line that is not empty, without its end.
func (r *reader) lines(each func(line []byte) error) error {
	s := bufio.NewScanner(r.in)
	s.Buffer(make([]byte, 64<<10), maxPiece)
	for s.Scan() {
		r.line++
		text := bytes.TrimSpace(bytes.TrimPrefix(s.Bytes(), []byte("\ufeff")))
		if len(text) == 0 {
			continue
		}
		if err := each(text); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) {
		r.line++
		return fmt.Errorf("the line is longer than %d bytes", maxPiece)
	}
	return s.Err()
}

// objects calls each for every JSON object; white space and commas may stand between them, and brackets around them.
func (r *reader) objects(each func(object []byte) error) error {
	in := &piecewise{in: r.in, newlines: &r.line}
	r.line = 1
	for {
		object, err := in.object()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := each(object); err != nil {
			return err
		}
	}
}

// piecewise splits a stream into JSON objects without decoding it as a whole.
type piecewise struct {
	in       *bufio.Reader
	newlines *int
	buf      []byte
}

// object returns the bytes from one opening brace to the one that closes it.
func (p *piecewise) object() ([]byte, error) {
	p.buf = p.buf[:0]
	var in braces
	for {
		c, err := p.in.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) && in.depth > 0 {
				return nil, errors.New("the file ends inside an object")
			}
			return nil, err
		}
		if c == '\n' {
			*p.newlines++
		}
		if in.depth == 0 {
			switch c {
			case '{':
			case ' ', '\t', '\r', '\n', ',', '[', ']':
				continue
			default:
				return nil, fmt.Errorf("%q where an object should begin", c)
			}
		}
		if p.buf = append(p.buf, c); len(p.buf) > maxPiece {
			return nil, fmt.Errorf("an object is longer than %d bytes", maxPiece)
		}
		if in.step(c); in.depth == 0 {
			return p.buf, nil
		}
	}
}

// braces counts open braces outside of strings.
type braces struct {
	depth           int
	quoted, escaped bool
}

func (b *braces) step(c byte) {
	switch {
	case b.escaped:
		b.escaped = false
	case b.quoted && c == '\\':
		b.escaped = true
	case c == '"':
		b.quoted = !b.quoted
	case b.quoted:
	case c == '{':
		b.depth++
	case c == '}':
		b.depth--
	}
}

// decode reads an object whose other fields do not matter.
func decode[T any](object []byte) (T, error) {
	var v T
	err := json.Unmarshal(object, &v)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return v, fmt.Errorf("no JSON: %w", err)
	}
	return v, err
}

// has reports whether the beginning of a file is JSON with one of these keys.
func has(head []byte, keys ...string) bool {
	if !bytes.HasPrefix(head, []byte("{")) && !bytes.HasPrefix(head, []byte("[")) {
		return false
	}
	for _, k := range keys {
		if bytes.Contains(head, []byte(strconv.Quote(k))) {
			return true
		}
	}
	return false
}

// stamp returns n units as a time.
func stamp(what string, n int64, unit time.Duration) (time.Duration, error) {
	if n < 0 || n > int64(trace.MaxStamp/unit) {
		return 0, fmt.Errorf("%s %d is no time", what, n)
	}
	return time.Duration(n) * unit, nil
}

// number parses a field of a table.
func number(what string, field []byte) (int64, error) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(field)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s %.40q is not a number", what, field)
	}
	return n, nil
}

// first returns the first line of a head.
func first(head []byte) []byte {
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	return bytes.TrimSpace(line)
}

func isHistory(head []byte) bool { return has(first(head), "millrace_history") }

func isSWIM(head []byte) bool { return bytes.Count(first(head), []byte{'\t'}) >= 5 }

// span returns an attempt with its times, given in milliseconds since 1970.
func span(what string, start, end int64) (trace.PastAttempt, error) {
	s, err := stamp(what+": start", start, time.Millisecond)
	e, err2 := stamp(what+": end", end, time.Millisecond)
	return trace.PastAttempt{Start: s, End: e}, errors.Join(err, err2)
}
