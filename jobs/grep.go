package jobs

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

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
			New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
				return &lineGrep{plain: m.plain, searcher: searcher{lineSearch: m.search}}, nil
			},
		}
		base.MapOnly = true
		return []mapreduce.Job{base}, nil
	}
	base.Map = mapreduce.Map{
		Key: mapreduce.Bytes, Value: mapreduce.Int64,
		New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
			return &countGrep{m.plain, searcher{lineSearch: m.search}}, nil
		},
	}
	base.Fold, base.Reduce = mapreduce.Sum, counts
	return []mapreduce.Job{base, byCount(base, 0)}, nil
}

// matcher finds the pattern in lines: a plain string, or an expression.
type matcher struct {
	plain  []byte
	search *lineSearch // nil for a plain string
}

func (g *grepOptions) matcher() (matcher, error) {
	if g.pattern == "" {
		return matcher{}, errors.New("no pattern: give --pattern")
	}
	if g.fixed && !g.ignoreCase && !bytes.Contains([]byte(g.pattern), newline) {
		return matcher{plain: []byte(g.pattern)}, nil // bytes that are not UTF-8 are allowed
	}
	if g.fixed && !utf8.ValidString(g.pattern) {
		return matcher{search: newFoldedSearch(g.pattern)}, nil
	}
	expr := g.pattern
	if g.fixed {
		expr = regexp.QuoteMeta(expr)
	}
	if g.ignoreCase {
		expr = "(?i)" + expr
	}
	search, err := newLineSearch(expr)
	if err != nil {
		return matcher{}, fmt.Errorf("--pattern: %w", err)
	}
	if search.plain != "" && !strings.Contains(search.plain, "\n") {
		return matcher{plain: []byte(search.plain)}, nil
	}
	return matcher{search: search}, nil
}

// countGrep counts the nonempty matches, from left to right, without overlaps.
type countGrep struct {
	plain []byte
	searcher
}

var _ mapreduce.ChunkMapper = (*countGrep)(nil)

func (g *countGrep) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	return g.MapChunk(r.Value, r.Offset, out)
}

func (g *countGrep) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	if g.plain != nil {
		for i := bytes.Index(chunk, g.plain); i >= 0; i = bytes.Index(chunk, g.plain) {
			out.EmitInt(g.plain, 1)
			chunk = chunk[i+len(g.plain):]
		}
		return nil
	}
	g.eachMatch(chunk, func(text []byte, from, to int) {
		if from < to {
			out.EmitInt(text[from:to], 1)
		}
	})
	return nil
}

// lineGrep emits matching lines.
type lineGrep struct {
	plain  []byte
	finder *find.Finder // for a plain string, once text has been seen
	searcher
}

var _ mapreduce.ChunkMapper = (*lineGrep)(nil)

func (g *lineGrep) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	if g.plain != nil && bytes.Contains(r.Value, g.plain) || g.plain == nil && g.std.Match(r.Value) {
		out.Emit(r.Value, nil)
	}
	return nil
}

// MapChunk searches the whole chunk at once, and only looks for the ends of matching lines.
func (g *lineGrep) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	if g.plain != nil {
		g.plainLines(chunk, out)
		return nil
	}
	g.eachLine(chunk, func(line []byte) { out.Emit(line, nil) })
	return nil
}

func (g *lineGrep) plainLines(chunk []byte, out mapreduce.Emitter) {
	if g.finder == nil {
		g.finder = find.New(g.plain, chunk)
	}
	for at := g.finder.Index(chunk); at >= 0; at = g.finder.Index(chunk) {
		from, end := bytes.LastIndexByte(chunk[:at], '\n')+1, lineEnd(chunk, at)
		out.Emit(bytes.TrimSuffix(chunk[from:end], newline), nil)
		chunk = chunk[end:]
	}
}

var newline = []byte{'\n'}
