package mapreduce

import (
	"bufio"
	"bytes"
	"io"
	"path"
)

// An OutputFormat turns pairs into the bytes of a part of the output. It must be
// usable by several goroutines at once.
type OutputFormat interface {
	Name() string
	// Open returns a writer of pairs of the given types to w. The writer does not
	// close w.
	Open(w io.Writer, key, value Type) (RecordWriter, error)
}

// A RecordWriter writes pairs. Close writes what is left. Without it the output is incomplete.
type RecordWriter interface {
	Write(key, value []byte) error
	Close() error
}

// TextOutput writes key, tab, value, newline, each in the readable form of its
// type. Pairs without a value type ([None]) have no tab.
var TextOutput OutputFormat = textOutput{}

// RawOutput writes the encoded bytes of key and value with nothing between or after them, so that fixed-size records
// come out as they went in.
var RawOutput OutputFormat = rawOutput{}

const outputBuffer = 256 << 10

type textOutput struct{}

func (textOutput) Name() string { return "text" }

func (textOutput) Open(w io.Writer, key, value Type) (RecordWriter, error) {
	_, keyOnly := value.(noneCodec)
	return &textWriter{
		w: bufio.NewWriterSize(w, outputBuffer), key: key, value: value,
		plainKey: isPlain(key), plainValue: isPlain(value), keyOnly: keyOnly,
	}, nil
}

// isPlain reports whether the encoded bytes are the text.
func isPlain(t Type) bool {
	switch t.(type) {
	case bytesCodec, stringCodec:
		return true
	}
	return false
}

// textWriter relies on bufio to keep the first error.
type textWriter struct {
	w                    *bufio.Writer
	key, value           Type
	plainKey, plainValue bool
	keyOnly              bool
	line                 []byte
}

func (t *textWriter) Write(key, value []byte) error {
	if t.plainKey && (t.plainValue || t.keyOnly) && len(key)+len(value)+2 <= t.w.Available() {
		line := append(t.w.AvailableBuffer(), key...)
		if !t.keyOnly {
			line = append(append(line, '\t'), value...)
		}
		_, err := t.w.Write(append(line, '\n'))
		return err
	}
	t.put(t.key, t.plainKey, key)
	if !t.keyOnly {
		_ = t.w.WriteByte('\t')
		t.put(t.value, t.plainValue, value)
	}
	return t.w.WriteByte('\n')
}

// WriteParts writes a value that is given in parts. It joins them only if the text of a value is not its bytes.
func (t *textWriter) WriteParts(key []byte, parts ...[]byte) error {
	if !t.plainValue {
		return t.Write(key, bytes.Join(parts, nil))
	}
	n := len(key) + 2
	for _, p := range parts {
		n += len(p)
	}
	if t.plainKey && n <= t.w.Available() {
		line := append(append(t.w.AvailableBuffer(), key...), '\t')
		for _, p := range parts {
			line = append(line, p...)
		}
		_, err := t.w.Write(append(line, '\n'))
		return err
	}
	t.put(t.key, t.plainKey, key)
	_ = t.w.WriteByte('\t')
	for _, p := range parts {
		_, _ = t.w.Write(p)
	}
	return t.w.WriteByte('\n')
}

func (t *textWriter) put(typ Type, plain bool, b []byte) {
	if plain {
		_, _ = t.w.Write(b)
		return
	}
	t.line = typ.AppendText(t.line[:0], b)
	_, _ = t.w.Write(t.line)
}

func (t *textWriter) Close() error { return t.w.Flush() }

type rawOutput struct{}

func (rawOutput) Name() string { return "raw" }

func (rawOutput) Open(w io.Writer, _, _ Type) (RecordWriter, error) {
	return &rawWriter{bufio.NewWriterSize(w, outputBuffer)}, nil
}

type rawWriter struct{ w *bufio.Writer }

func (r *rawWriter) Write(key, value []byte) error {
	if len(key)+len(value) <= r.w.Available() {
		_, err := r.w.Write(append(append(r.w.AvailableBuffer(), key...), value...))
		return err
	}
	_, _ = r.w.Write(key)
	_, err := r.w.Write(value)
	return err
}

func (r *rawWriter) Close() error { return r.w.Flush() }

// WorkDir returns the hidden directory beside an output in which attempts write until the output takes its name. It
// is for engines, which must agree on it to remove what a dead job left.
func WorkDir(output, id string) string {
	output = path.Clean(output)
	name := path.Base(output)
	return path.Join(path.Dir(output), "."+name[:min(len(name), maxHidden)]+".millrace-"+id)
}

// maxHidden leaves room for additions to a name: file systems allow 255 bytes.
const maxHidden = 200
