package jobs

import (
	"bytes"

	"github.com/spf13/pflag"

	"github.com/millrace/millrace/internal/human"
	"github.com/millrace/millrace/mapreduce"
)

var topK = Builtin{
	Name:    "topk",
	Summary: "the k most frequent words (or lines, with --by line), most frequent first",
	Example: "topk --k 20 --input books/ --output top",
	define: func(flags *pflag.FlagSet) func(mapreduce.Job) ([]mapreduce.Job, error) {
		k := flags.Int("k", 10, "how many")
		by := flags.String("by", "word", "what is counted: word or line")
		return func(base mapreduce.Job) ([]mapreduce.Job, error) {
			if err := checkRange("k", int64(*k), 1, 1_000_000); err != nil {
				return nil, err
			}
			switch *by {
			case "word":
				base.Map = wordMap
			case "line":
				base.Map = countedLines
			default:
				return nil, errOneOf("by", *by, "word", "line")
			}
			base.Fold = mapreduce.Sum
			base.Reduce = mapreduce.Reduce{Key: mapreduce.Bytes, Value: mapreduce.Bytes, New: newLeaders(*k)}
			return []mapreduce.Job{base, byCount(base, *k)}, nil
		}
	},
}

var invertedIndex = Builtin{
	Name:    "inverted-index",
	Summary: "for each word the files it occurs in",
	Example: "inverted-index --input books/ --output index",
	define: none(func(base mapreduce.Job) mapreduce.Job {
		base.Map = mapreduce.Map{
			Key: mapreduce.Bytes, Value: mapreduce.Int64,
			New: func(t *mapreduce.Task) (mapreduce.Mapper, error) {
				return &indexMapper{task: t, seen: newSeenWords(t.MaxRecord)}, nil
			},
		}
		base.Fold = mapreduce.Sum // each word and file once
		base.Partition = mapreduce.PartitionFunc(func(key, _ []byte, n int) int {
			word, _, _ := bytes.Cut(key, tab)
			return mapreduce.HashPartition{}.Partition(word, nil, n)
		})
		base.Group = mapreduce.Compare(func(a, b []byte) int {
			wordA, _, _ := bytes.Cut(a, tab)
			wordB, _, _ := bytes.Cut(b, tab)
			return bytes.Compare(wordA, wordB)
		})
		base.Reduce = mapreduce.Reduce{
			Key: mapreduce.Bytes, Value: mapreduce.Bytes,
			New: func(*mapreduce.Task) (mapreduce.Reducer, error) { return &fileList{}, nil },
		}
		return base
	}),
}

var tab = []byte{'\t'}

// indexMapper emits "word TAB file". Words contain no tab, so sorting puts all keys of a word together, and its
// files in order. Like wordMapper, it takes whole chunks of lines.
type indexMapper struct {
	task      *mapreduce.Task
	key       []byte
	input     string // as the task names it
	printable string // the same as part of a line
	seen      seenWords
	waiting   waitingWords
	to        mapreduce.Emitter // for the current chunk
}

var _ mapreduce.ChunkMapper = (*indexMapper)(nil)

func (m *indexMapper) Map(r mapreduce.Record, out mapreduce.Emitter) error {
	return m.MapChunk(r.Value, r.Offset, out)
}

func (m *indexMapper) MapChunk(chunk []byte, _ int64, out mapreduce.Emitter) error {
	if in := m.task.Input(); in != m.input {
		m.input, m.printable = in, human.Printable(in)
		m.seen.clear()
	}
	m.to = out
	e := fileEmitter{m}
	emitWords(chunk, e)
	m.waiting.fresh(&m.seen, e.emit)
	return nil
}

// fileEmitter adds the file to the words that it receives, and drops most of those that it received before.
type fileEmitter struct{ m *indexMapper }

func (e fileEmitter) Emit(key, _ []byte) { e.EmitInt(key, 1) }

func (e fileEmitter) EmitInt(word []byte, _ int64) {
	switch {
	case len(word) > longestSeen:
		e.emit(word)
	case e.m.waiting.add(&e.m.seen, word):
		e.m.waiting.fresh(&e.m.seen, e.emit)
	}
}

func (e fileEmitter) emit(word []byte) {
	e.m.key = append(append(append(e.m.key[:0], word...), '\t'), e.m.printable...)
	e.m.to.EmitInt(e.m.key, 1)
	if cap(e.m.key) > longestKept {
		e.m.key = nil
	}
}

// longestKept is the longest key whose memory is reused. A longer one is a good part of a small budget.
const longestKept = 1 << 20

// fileList writes the files of a word, separated by spaces.
type fileList struct{ files []byte }

func (l *fileList) Reduce(key []byte, values mapreduce.Values, out mapreduce.Emitter) error {
	word, _, _ := bytes.Cut(key, tab)
	l.files = l.files[:0]
	for values.Next() {
		_, file, _ := bytes.Cut(values.Key(), tab)
		if len(l.files) > 0 {
			l.files = append(l.files, ' ')
		}
		l.files = append(l.files, file...)
	}
	out.Emit(word, l.files)
	return nil
}
