// Command answer counts pairs of neighbouring words.
package main

import (
	"bytes"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

func main() {
	millrace.Main(mapreduce.Job{
		Name: "pairs",
		Map: mapreduce.Lines(func(line []byte, emit func(pair []byte, n int64)) {
			var last []byte
			for word := range bytes.FieldsSeq(line) {
				if last != nil {
					emit(bytes.Join([][]byte{last, word}, []byte{' '}), 1)
				}
				last = word
			}
		}),
		Fold: mapreduce.Sum,
	})
}
