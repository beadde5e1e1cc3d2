package mapreduce_test

import (
	"bytes"
	"context"
	"iter"
	"testing"

	"github.com/millrace/millrace/mapreduce"
)

// nowhere takes pairs and forgets them.
type nowhere struct{}

func (nowhere) Emit(_, _ []byte)          {}
func (nowhere) EmitInt(_ []byte, _ int64) {}

// ones is a group of n values.
type ones struct{ n int }

func (o *ones) Next() bool    { o.n--; return o.n >= 0 }
func (o *ones) Key() []byte   { return []byte("word") }
func (o *ones) Value() []byte { return one }

var one = mapreduce.Int64.Append(nil, 1)

// BenchmarkTyped is what typed code costs beside the bytes core: a line of ten words, and a group of ten values.
func BenchmarkTyped(b *testing.B) {
	task := mapreduce.NewTask(context.Background(), mapreduce.TaskInfo{}, &mapreduce.CounterSet{})
	b.Run("map", func(b *testing.B) {
		m, err := mapreduce.Lines(func(line []byte, emit func([]byte, int64)) {
			for w := range bytes.FieldsSeq(line) {
				emit(w, 1)
			}
		}).New(task)
		if err != nil {
			b.Fatal(err)
		}
		r := mapreduce.Record{Value: []byte("a line of ten words to be counted one by")}
		b.ReportAllocs()
		for b.Loop() {
			_ = m.Map(r, nowhere{})
		}
	})
	b.Run("reduce", func(b *testing.B) {
		r, err := mapreduce.Groups(func(w []byte, ns iter.Seq[int64], emit func([]byte, int64)) {
			var sum int64
			for n := range ns {
				sum += n
			}
			emit(w, sum)
		}).New(task)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			_ = r.Reduce([]byte("word"), &ones{10}, nowhere{})
		}
	})
}
