package jobs

import (
	"encoding/binary"
	"fmt"
	"iter"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/jobs/gensort"
	"github.com/millrace/millrace/mapreduce"
)

var teraGen = Builtin{
	Name:    "teragen",
	Summary: "make the 100-byte rows of the Sort Benchmark, as Hadoop's TeraGen does",
	Example: "teragen --rows 10000000 --output rows",
	NoInput: true,
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		var start, rows int64
		var ascii bool
		flags.Int64Var(&rows, "rows", 0, "number of rows")
		flags.Int64Var(&start, "start", 0, "number of the first row")
		flags.BoolVar(&ascii, "ascii", false, "rows of printable characters that end in CR LF, as gensort -a")
		return func(base mapreduce.Job) ([]mapreduce.Job, error) {
			if err := checkRange("rows", rows, 1, 1<<50); err != nil {
				return nil, err
			}
			if err := checkRange("start", start, 0, 1<<62); err != nil {
				return nil, err
			}
			form := gensort.Binary
			if ascii {
				form = gensort.ASCII
			}
			base.Input = []string{mapreduce.CountInput(rows)}
			base.Map = mapreduce.Map{
				Format: mapreduce.FixedSize(8),
				New: func(*mapreduce.Task) (mapreduce.Mapper, error) {
					return &rowMaker{start: uint64(start), form: form}, nil
				},
			}
			base.MapOnly, base.Format = true, mapreduce.RawOutput
			return []mapreduce.Job{base}, nil
		}
	},
}

// rowMaker turns row numbers into rows. Consecutive numbers need no skipping in the generator.
type rowMaker struct {
	start uint64
	form  gensort.Form
	gen   *gensort.Generator
	row   [gensort.RecordSize]byte
}

func (m *rowMaker) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	want := gensort.Uint128{Lo: m.start + binary.BigEndian.Uint64(r.Value)}
	if m.gen == nil || m.gen.Row() != want {
		m.gen = gensort.NewGenerator(want, m.form)
	}
	m.gen.Next(&m.row)
	out.Emit(m.row[:], nil)
	return nil
}

var teraSort = Builtin{
	Name:    "terasort",
	Summary: "sort 100-byte rows by their first 10 bytes",
	Example: "terasort --input rows --output sorted",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = mapreduce.Map{
			Format: mapreduce.FixedSize(gensort.RecordSize),
			New:    func(*mapreduce.Task) (mapreduce.Mapper, error) { return rowMapper{}, nil },
		}
		base.Partition = mapreduce.TotalOrder{}
		base.Format = mapreduce.RawOutput
		return base
	}),
}

// rowMapper splits rows into key and rest.
type rowMapper struct{}

var _ mapreduce.ChunkMapper = rowMapper{}

func (rowMapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	out.Emit(r.Value[:gensort.KeySize], r.Value[gensort.KeySize:])
	return nil
}

func (rowMapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	for ; len(chunk) >= gensort.RecordSize; chunk = chunk[gensort.RecordSize:] {
		out.Emit(chunk[:gensort.KeySize], chunk[gensort.KeySize:gensort.RecordSize])
	}
	return nil
}

var teraValidate = Builtin{
	Name:    "teravalidate",
	Summary: "check that rows are sorted over all files in the order of their names; print count and checksum",
	Example: "teravalidate --input sorted",
	Result:  true, texts: []string{"checksum"}, judges: true, reduces: "it has one reduce",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = mapreduce.Map{
			Format: mapreduce.FixedSize(gensort.RecordSize),
			Key:    mapreduce.Bytes, Value: mapreduce.CodecFor[gensort.Summary](),
			New: func(t *mapreduce.Task) (mapreduce.Mapper, error) { return &rowChecker{task: t}, nil },
		}
		base.Reducers = 1
		base.Reduce = mapreduce.Reduce{
			Key: mapreduce.String, Value: mapreduce.String,
			New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return &summaryReducer{}, nil },
		}
		return base
	}),
}

// rowChecker summarizes each range of rows. The summaries are sorted by file name and offset, which is the order
// that the rows should be in.
type rowChecker struct {
	task   *mapreduce.Task
	file   string
	offset int64
	sum    gensort.Summary
}

var _ mapreduce.ChunkMapper = (*rowChecker)(nil)

func (c *rowChecker) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	return c.MapChunk(r.Value, r.Offset, out)
}

func (c *rowChecker) MapChunk(chunk []byte, offset int64, out mapreduce.Emitter) error {
	if c.sum.Records == 0 || c.file != c.task.Input() {
		if err := c.Finish(out); err != nil {
			return err
		}
		c.file, c.offset = c.task.Input(), offset
	}
	return c.sum.Add(chunk)
}

func (c *rowChecker) Finish(out mapreduce.Emitter) error {
	if c.sum.Records > 0 {
		key := append([]byte(c.file), 0)
		out.Emit(binary.BigEndian.AppendUint64(key, uint64(c.offset)),
			mapreduce.CodecFor[gensort.Summary]().Append(nil, c.sum))
	}
	c.sum = gensort.Summary{}
	return nil
}

// summaryReducer joins the summaries and judges the result.
type summaryReducer struct{ total gensort.Summary }

func (s *summaryReducer) Reduce(_ []byte, values mapreduce.Values, _ mapreduce.Emitter) error {
	for values.Next() {
		next, err := mapreduce.CodecFor[gensort.Summary]().Decode(values.Value())
		if err != nil {
			return err
		}
		s.total.Merge(next)
	}
	return nil
}

func (s *summaryReducer) Finish(out mapreduce.Emitter) error {
	for name, value := range s.lines() {
		out.Emit([]byte(name), []byte(value))
	}
	if !s.total.Sorted() {
		return &unsortedError{s.total}
	}
	return nil
}

// unsortedError is the error for rows that are out of order.
type unsortedError struct{ sum gensort.Summary }

func (e *unsortedError) Error() string {
	return fmt.Sprintf("not sorted: %d of %d rows are smaller than the row before, the first is row %d (checksum %s)",
		e.sum.Unordered, e.sum.Records, e.sum.FirstUnordered, e.sum.Checksum)
}

// Final reports that another attempt would find the same.
func (*unsortedError) Final() bool { return true }

// Result returns the verdict as values for programs.
func (e *unsortedError) Result() map[string]any {
	return map[string]any{
		"valid": false, "rows": e.sum.Records, "checksum": e.sum.Checksum.String(), "duplicate_keys": e.sum.Duplicates,
		"unordered_rows": e.sum.Unordered, "first_unordered_row": e.sum.FirstUnordered,
	}
}

func (s *summaryReducer) lines() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		_ = yield("rows", fmt.Sprint(s.total.Records)) &&
			yield("checksum", s.total.Checksum.String()) &&
			yield("duplicate_keys", fmt.Sprint(s.total.Duplicates))
	}
}
