// Command wordcount counts the words of text.
//
//	go run ./examples/wordcount -input README.md -output counts
package main

import (
	"bytes"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

func main() {
	millrace.Main(mapreduce.Job{
		Name: "wordcount",
		Map: mapreduce.Lines(func(line []byte, emit func(word []byte, n int64)) {
			for word := range bytes.FieldsSeq(line) {
				emit(word, 1)
			}
		}),
		Fold: mapreduce.Sum,
	})
}
