// Command invertedindex finds, for each word of some files, the files that it stands in.
//
//	go run ./examples/invertedindex -input docs -output index
package main

import (
	"bytes"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/millrace/millrace"
	"github.com/millrace/millrace/mapreduce"
)

func main() {
	millrace.Main(mapreduce.Job{
		Name: "inverted index",
		// The file of a line is known to the task that reads it.
		Map: mapreduce.LinesWith(func(t *mapreduce.Task) (func([]byte, func([]byte, string)), error) {
			return func(line []byte, emit func(word []byte, file string)) {
				file := path.Base(t.Input())
				for word := range bytes.FieldsSeq(line) {
					emit(word, file)
				}
			}, nil
		}),
		// The combiner is the reduce: a word that stands ten times in a file travels once.
		Combine: mapreduce.Groups(func(word []byte, files iter.Seq[string], emit func([]byte, string)) {
			for _, f := range each(files) {
				emit(word, f)
			}
		}),
		Reduce: mapreduce.Groups(func(word []byte, files iter.Seq[string], emit func([]byte, string)) {
			emit(word, strings.Join(each(files), " "))
		}),
	})
}

// each is every value once, sorted.
func each(values iter.Seq[string]) []string {
	return slices.Compact(slices.Sorted(values))
}
