package formats

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/millrace/millrace/trace"
)

// A Format is one way to write down jobs.
type Format struct {
	Name, Title string
	looks       func(head []byte) bool
	read        func(*reader) error
	write       func(io.Writer, *trace.History) error // nil: only read
}

// SWIM and History are the formats that millrace writes itself.
const (
	SWIM    = "swim"
	History = "history"
)

// All are the formats, in the order in which they are tried.
var All = []Format{
	{Name: History, Title: "history of millrace", looks: isHistory, write: trace.WriteHistory},
	{Name: "spark", Title: "Spark event log", looks: isSpark, read: readSpark},
	{Name: "sls", Title: "YARN SLS input", looks: isSLS, read: readSLS, write: writeSLS},
	{Name: "rumen", Title: "Rumen trace of Hadoop jobs", looks: isRumen, read: readRumen},
	{Name: "jhist", Title: "Hadoop job history", looks: isJhist, read: readJhist},
	{Name: "swf", Title: "Standard Workload Format", looks: isSWF, read: readSWF, write: writeSWF},
	{Name: "google", Title: "Google 2011 task events", looks: isGoogle, read: readGoogle},
	{Name: "alibaba", Title: "Alibaba 2018 batch tasks or instances", looks: isAlibaba, read: readAlibaba},
	{Name: SWIM, Title: "SWIM trace", looks: isSWIM, write: func(w io.Writer, h *trace.History) error { return trace.WriteSWIM(w, h.Trace()) }},
}

// Names returns the names of the formats: all, or those that can be written.
func Names(written bool) []string {
	var out []string
	for _, f := range All {
		if !written || f.write != nil {
			out = append(out, f.Name)
		}
	}
	return out
}

func byName(name string) *Format {
	for i := range All {
		if All[i].Name == name {
			return &All[i]
		}
	}
	return nil
}

// A Source is a file to read.
type Source struct {
	Name string // for errors
	io.Reader
}

// A Trace is what Read returns.
type Trace struct {
	Format  string
	History *trace.History // nil for a SWIM trace
	Jobs    []trace.Job
	Left    map[string]int // what was left out, by the reason
}

// Past returns the jobs as a history, also those of a SWIM trace.
func (t *Trace) Past() *trace.History {
	if t.History != nil {
		return t.History
	}
	return trace.HistoryOf(t.Jobs)
}

// headBytes is how much of a file is read to recognise its format.
const headBytes = 64 << 10

// Read reads files of one format, all as one trace. If format is "", the first file determines it.
func Read(format string, files ...Source) (*Trace, error) {
	return read(&trace.Builder{}, format, files...)
}

func read(b *trace.Builder, format string, files ...Source) (*Trace, error) {
	for i, f := range files {
		in := bufio.NewReaderSize(f, headBytes)
		head, err := in.Peek(headBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: read: %w", f.Name, err)
		}
		if format == "" {
			if format, err = recognise(head); err != nil {
				return nil, fmt.Errorf("%s: %w", f.Name, err)
			}
		}
		one := byName(format)
		switch {
		case one == nil:
			return nil, fmt.Errorf("unknown format %q (known: %s)", format, strings.Join(Names(false), ", "))
		case one.read == nil && len(files) > 1:
			return nil, fmt.Errorf("%s: several files of the format %s cannot be read as one", files[1].Name, format)
		case one.read == nil:
			return readOwn(format, in, f.Name)
		}
		r := &reader{in: in, name: f.Name, build: b, file: i}
		if err := one.read(r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w: %w", f.Name, r.line, trace.ErrFormat, err)
		}
	}
	h, err := b.History(format)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", files[0].Name, trace.ErrFormat, err)
	}
	return &Trace{Format: format, History: h, Jobs: h.Trace(), Left: b.Left}, nil
}

func readOwn(format string, in io.Reader, name string) (*Trace, error) {
	if format == SWIM {
		jobs, err := trace.ReadSWIM(in, name)
		return &Trace{Format: format, Jobs: jobs}, err
	}
	h, err := trace.ReadHistory(in, name)
	if err != nil {
		return nil, err
	}
	return &Trace{Format: format, History: h, Jobs: h.Trace()}, nil
}

// Write writes a history in a format.
func Write(w io.Writer, format string, h *trace.History) error {
	f := byName(format)
	if f == nil || f.write == nil {
		return fmt.Errorf("format %q cannot be written (known: %s)", format, strings.Join(Names(true), ", "))
	}
	return f.write(w, h)
}

func recognise(head []byte) (string, error) {
	if refused := elsewhere(head); refused != "" {
		return "", fmt.Errorf("%w: %s", trace.ErrFormat, refused)
	}
	head = bytes.TrimLeft(head, "\ufeff \t\r\n")
	for _, f := range All {
		if f.looks(head) {
			return f.Name, nil
		}
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	return "", fmt.Errorf("%w: the first line %.60q is of no known format (%s); millrace trace convert --from FORMAT reads one that you name", trace.ErrFormat, line, strings.Join(Names(false), ", "))
}

// elsewhere says what to do with files that only look like something else.
func elsewhere(head []byte) string {
	for magic, what := range map[string]string{
		"\x1f\x8b":           "the file is compressed; give the output of gzip -dc on standard input (-)",
		"(\xb5\x2f\xfd":      "the file is compressed; give the output of zstd -dc on standard input (-)",
		"BZh":                "the file is compressed; give the output of bzip2 -dc on standard input (-)",
		"Avro-Binary":        "the job history is binary; let Hadoop write JSON (mapreduce.jobhistory.jhist.format=json)",
		"Obj\x01":            "the file is Avro; let Hadoop write JSON (mapreduce.jobhistory.jhist.format=json)",
		"millrace_decisions": "this is a log of decisions; millrace play shows it",
	} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return what
		}
	}
	return ""
}
