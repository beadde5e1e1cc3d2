package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/find"
	"github.com/millrace/millrace/mapreduce"
)

var grep = Builtin{
	Name:    "grep",
	Summary: "count the strings that match a pattern, most frequent first; or print the matching lines",
	Example: `grep --pattern 'dfs[a-z.]+' --input logs/ --output matches`,
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		var g grepOptions
		flags.StringVarP(&g.pattern, "pattern", "e", "", "regular expression (Go syntax), or string with --fixed")
		flags.BoolVarP(&g.fixed, "fixed", "F", false, "the pattern is a plain string")
		flags.BoolVar(&g.lines, "lines", false, "print matching lines in place of counting matches")
		flags.BoolVar(&g.ignoreCase, "ignore-case", false, "upper and lower case are the same")
		return g.jobs
	},
}

type grepOptions struct {
	pattern                  string
	fixed, lines, ignoreCase bool
}

func (g *grepOptions) jobs(base mapreduce.Job) ([]mapreduce.Job, error) {
	m, err := g.matcher()
	if err != nil {
		return nil, err
	}
	if g.lines {
		base.Map = mapreduce.Map{
			Key: mapreduce.Bytes, Value: mapreduce.CodecFor[mapreduce.None](),
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) { return &lineGrep{matcher: m}, nil },
		}
		base.MapOnly = true
		return []mapreduce.Job{base}, nil
	}
	base.Map = mapreduce.Map{
		Key: mapreduce.Bytes, Value: mapreduce.Int64,
		New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
			return mapreduce.MapperFunc(func(r mapreduce.Record, out mapreduce.Emitter) error {
				m.each(r.Value, func(match []byte) { out.EmitInt(match, 1) })
				return nil
			}), nil
		},
	}
	base.Fold = mapreduce.Sum
	return []mapreduce.Job{base, byCount(base, 0)}, nil
}

// matcher finds the pattern in lines.
type matcher struct {
	re *regexp.Regexp
	// plain is the string itself when the pattern is no more than that; re is
	// then nil.
	plain []byte
}

func (g *grepOptions) matcher() (matcher, error) {
	if g.pattern == "" {
		return matcher{}, errors.New("no pattern: give --pattern")
	}
	expr := g.pattern
	if g.fixed {
		expr = regexp.QuoteMeta(expr)
	}
	if g.ignoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return matcher{}, fmt.Errorf("--pattern: %w", err)
	}
	if s, whole := re.LiteralPrefix(); whole && s != "" && !bytes.Contains([]byte(s), []byte{'\n'}) {
		return matcher{plain: []byte(s)}, nil
	}
	return matcher{re: re}, nil
}

func (m matcher) matches(line []byte) bool {
	if m.re == nil {
		return bytes.Contains(line, m.plain)
	}
	return m.re.Match(line)
}

// each calls fn for the matches in a line that are not empty, from left to right,
// none inside another. The line stays whole, so that ^ and \b see what stands before.
func (m matcher) each(line []byte, fn func(match []byte)) {
	if m.re != nil {
		for _, at := range m.re.FindAllIndex(line, -1) {
			if at[0] < at[1] {
				fn(line[at[0]:at[1]])
			}
		}
		return
	}
	for i := bytes.Index(line, m.plain); i >= 0; i = bytes.Index(line, m.plain) {
		fn(line[i : i+len(m.plain)])
		line = line[i+len(m.plain):]
	}
}

// lineGrep emits matching lines.
type lineGrep struct {
	matcher
	finder *find.Finder // for a plain string, once text has been seen
}

var _ mapreduce.ChunkMapper = (*lineGrep)(nil)

func (g *lineGrep) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	if g.matches(r.Value) {
		out.Emit(r.Value, nil)
	}
	return nil
}

// MapChunk searches the whole chunk at once for a plain string, and only looks for
// the ends of those lines that have it.
func (g *lineGrep) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	if g.plain == nil {
		for line := range bytes.Lines(chunk) {
			if line = bytes.TrimSuffix(line, newline); g.matches(line) {
				out.Emit(line, nil)
			}
		}
		return nil
	}
	if g.finder == nil {
		g.finder = find.New(g.plain, chunk)
	}
	for {
		at := g.finder.Index(chunk)
		if at < 0 {
			return nil
		}
		from := bytes.LastIndexByte(chunk[:at], '\n') + 1
		to := bytes.IndexByte(chunk[at:], '\n')
		if to < 0 {
			out.Emit(chunk[from:], nil)
			return nil
		}
		out.Emit(chunk[from:at+to], nil)
		chunk = chunk[at+to+1:]
	}
}

var newline = []byte{'\n'}
