package jobs

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/mapreduce"
)

var join = Builtin{
	Name:    "join",
	Summary: "inner join of two tables of key TAB rest lines: key TAB left TAB right for every pair",
	Hint:    joinHint,
	Example: "join --left users.tsv --right visits.tsv --output joined",
	NoInput: true,
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		left := flags.StringArray("left", nil, "files of the left table; may be given several times")
		right := flags.StringArray("right", nil, "files of the right table; may be given several times")
		separator := flags.String("separator", "\t", "one character that ends the key of a row, such as , for CSV without quotes; the output has tabs")
		return func(base mapreduce.Job) ([]mapreduce.Job, error) {
			if len(*separator) != 1 {
				return nil, fmt.Errorf("--separator is %q, must be one character", *separator)
			}
			if len(*left) == 0 || len(*right) == 0 {
				return nil, errors.New("a join needs two tables: give --left and --right")
			}
			base.Inputs = []mapreduce.Input{
				{Name: "left", Paths: *left, Map: tagMap(leftTag, (*separator)[0])},
				{Name: "right", Paths: *right, Map: tagMap(rightTag, (*separator)[0])},
			}
			base.Group = mapreduce.Compare(compareUntagged)
			base.Partition = mapreduce.PartitionFunc(func(key, _ []byte, n int) int {
				return mapreduce.HashPartition{}.Partition(untag(key), nil, n)
			})
			base.Reduce = mapreduce.Reduce{
				Key: mapreduce.Bytes, Value: mapreduce.Bytes,
				New: func(t *mapreduce.Task) (mapreduce.Reducer, error) {
					return &crossProduct{left: replay{most: min(replayMemory, t.MaxRecord/replayShare)}}, nil
				},
			}
			return []mapreduce.Job{base}, nil
		}
	},
}

// A map output key is the row's key, with 00 in it written as 00 ff, then 00 and the table of the row. So the bytes
// sort as the rows' keys do, and no comparison has to know about the tables. Left sorts before right, so the reducer
// holds only the left rows of one key.
const (
	leftTag  = 0
	rightTag = 1
)

// Counters of the join: rows without a separator, and how many of these have a comma.
const (
	joinGroup = "join"
	wholeRows = "rows without a separator"
	commaRows = "of these with a comma"
)

// joinHint explains a join without results: tables in another format share no key, or only whole rows.
func joinHint(c mapreduce.Counts) string {
	whole, rows := c.Get(joinGroup, wholeRows), c.Get(mapreduce.TaskGroup, mapreduce.MapInputRecords)
	switch commas := c.Get(joinGroup, commaRows); {
	case whole == 0 || c.Get(mapreduce.TaskGroup, mapreduce.OutputRecords) > 0:
		return ""
	case commas > 0:
		return fmt.Sprintf("%s of %s without a tab, but with a comma: --separator , reads comma-separated tables", human.Count(commas), human.Many(rows, "row"))
	}
	return fmt.Sprintf("%s of %s without a tab behind the key: --separator says what is there instead", human.Count(whole), human.Many(rows, "row"))
}

func tagMap(tag, separator byte) mapreduce.Map {
	return mapreduce.Map{New: func(t *mapreduce.Task) (mapreduce.Mapper, error) {
		return &joinMapper{task: t, tag: tag, separator: separator}, nil
	}}
}

// joinMapper splits rows at the separator. A row without one is all key.
type joinMapper struct {
	task           *mapreduce.Task
	tag, separator byte
	key            []byte
}

var _ mapreduce.ChunkMapper = (*joinMapper)(nil)

func (m *joinMapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	m.emit(r.Value, out)
	return nil
}

func (m *joinMapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	for row := range eachLine(chunk) {
		m.emit(row, out)
	}
	return nil
}

func (m *joinMapper) emit(row []byte, out mapreduce.Emitter) {
	at := bytes.IndexByte(row, m.separator)
	rest := row[at+1:]
	if at < 0 {
		m.task.Counter(joinGroup, wholeRows).Add(1)
		if bytes.IndexByte(row, ',') >= 0 {
			m.task.Counter(joinGroup, commaRows).Add(1)
		}
		at, rest = len(row), nil
	}
	m.key = appendTagged(m.key[:0], row[:at], m.tag)
	out.Emit(m.key, rest)
}

func appendTagged(dst, key []byte, tag byte) []byte {
	for {
		at := bytes.IndexByte(key, 0)
		if at < 0 {
			return append(append(dst, key...), 0, tag)
		}
		dst = append(append(dst, key[:at]...), 0, 0xff)
		key = key[at+1:]
	}
}

// untag returns the common part of all map output keys that belong to one key.
func untag(key []byte) []byte { return key[:len(key)-2] }

// rowKey returns the key of the rows.
func rowKey(key []byte) []byte {
	key = untag(key)
	if bytes.IndexByte(key, 0) < 0 {
		return key
	}
	return bytes.ReplaceAll(key, []byte{0, 0xff}, []byte{0})
}

func compareUntagged(a, b []byte) int { return bytes.Compare(untag(a), untag(b)) }

// crossProduct pairs each right row of a key with every left one.
type crossProduct struct {
	left  replay
	parts [3][]byte // of the emitted pair: left row, tab, right row
}

// partsEmitter takes a pair whose value is given in parts. Rows may be large, and the output need not join them.
type partsEmitter interface {
	EmitParts(key []byte, parts ...[]byte)
}

func (c *crossProduct) Reduce(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	key = rowKey(key)
	defer c.left.reset()
	emit := func(row []byte) error {
		c.parts[0] = row
		if p, ok := out.(partsEmitter); ok {
			p.EmitParts(key, c.parts[:]...)
		} else {
			out.Emit(key, bytes.Join(c.parts[:], nil))
		}
		return nil
	}
	for values.Next() {
		k, v := values.Key(), values.Value()
		if k[len(k)-1] == leftTag {
			if err := c.left.add(v); err != nil {
				return err
			}
			continue
		}
		if c.left.rows == 0 {
			return nil // nothing to join with: leave the rest unread
		}
		c.parts[1], c.parts[2] = tab, v
		err := c.left.each(emit)
		clear(c.parts[:]) // releases a giant row before the next one comes
		if err != nil {
			return err
		}
	}
	return nil
}
